import type { Config } from '../config/schema.ts'
import { type HealthReport, readHealthReport } from '../core/health.ts'
import { type Finding, found } from '../core/examination.ts'
import { noticeText } from '../core/notices.ts'
import type { HealthAnswer } from './host.ts'

const CHECK = 'public URL'

/** A request that left this machine, and did not come back to it. */
const NOT_REACHED: ReadonlySet<string> = new Set(['connection_refused', 'unreachable', 'timeout'])

/**
 * Asks this server for its health through `server.publicUrl`, by the name, the proxy and the certificate of its clients.
 * @param isServing a server of Sluice answers on this machine
 * @returns also what the server told about the request; null: it was not asked, or did not tell
 */
export async function checkPublicUrl(
  { server: { publicUrl } }: Config,
  isServing: boolean,
  ask: (url: string) => Promise<HealthAnswer>,
): Promise<{ findings: Finding[]; report: HealthReport | null }> {
  if (publicUrl === '') return { findings: [], report: null }
  if (!isServing) {
    return { findings: [found('ok', CHECK, 'url_not_asked')], report: null }
  }
  // With the path, below which a proxy may lead elsewhere.
  const origin = publicUrl.replace(/(?<!\/)\/+$/, '')
  const answer = await ask(`${origin}/healthz`)
  const report = answer.kind === 'answered' && answer.status === 200 ? readHealthReport(answer.answer) : null
  const finding = report ? found('ok', CHECK, 'url', { origin }) : judge(answer, origin)
  return { findings: [finding], report }
}

function judge(answer: HealthAnswer, origin: string): Finding {
  if (answer.kind === 'failed') {
    const { code, sentence } = answer
    const failed = { origin, problem: noticeText([sentence]) }
    const finding = NOT_REACHED.has(code)
      ? found('warn', CHECK, 'url_not_reached', failed)
      : found('FAIL', CHECK, 'url_failed', failed)
    return { ...finding, sentences: [sentence] }
  }
  const { status, isSigned } = answer
  if (status === 200 && answer.answer.trim() === 'ok') {
    return isSigned
      ? found('FAIL', CHECK, 'url_other_sluice', { origin })
      : found('ok', CHECK, 'url_unsigned', { origin })
  }
  if (status >= 300 && status < 400) return found('warn', CHECK, 'url_redirects', { origin })
  return found('FAIL', CHECK, [502, 503, 504].includes(status) ? 'url_bad_gateway' : 'url_stranger', { origin, status })
}
