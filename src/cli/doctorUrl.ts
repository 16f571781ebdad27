import type { Config } from '../config/schema.ts'
import { type HealthReport, readHealthReport } from '../core/health.ts'
import { type Finding, found } from '../core/examination.ts'
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
    const why = 'not asked, because no server runs on this machine'
    return { findings: [found('ok', CHECK, why)], report: null }
  }
  const url = `${publicUrl.replace(/\/+$/, '')}/healthz`
  const answer = await ask(url)
  const { origin } = new URL(url)
  const report = answer.kind === 'answered' && answer.status === 200 ? readHealthReport(answer.answer) : null
  const finding = report ? found('ok', CHECK, `this installation answers at ${origin}`) : judge(answer, origin)
  return { findings: [finding], report }
}

function judge(answer: HealthAnswer, origin: string): Finding {
  if (answer.kind === 'failed') {
    if (!NOT_REACHED.has(answer.code))
      return found('FAIL', CHECK, `${origin}: ${answer.message}; correct DNS, the certificate or server.publicUrl`)
    const remedy =
      'ask from another network. If it works there, your router does not lead this machine back to itself; ' +
      'otherwise open the port, or correct DNS or server.publicUrl'
    return found('warn', CHECK, `${origin}: ${answer.message}; ${remedy}`)
  }
  const { status, isSigned } = answer
  if (status === 200 && answer.answer.trim() === 'ok') {
    if (!isSigned)
      return found('ok', CHECK, `Sluice answers at ${origin}; without its sealing key nobody can say which`)
    const whose = 'a Sluice with another sealing key, or of an older version, answers there'
    return found('FAIL', CHECK, `${origin}: ${whose}: correct DNS, the proxy or server.publicUrl`)
  }
  if (status >= 300 && status < 400)
    return found('warn', CHECK, `${origin} redirects its clients: set server.publicUrl to where it leads`)
  const whose = [502, 503, 504].includes(status)
    ? 'the proxy there does not reach Sluice: correct the address that it passes requests to'
    : 'something other than Sluice answers there: correct the proxy or server.publicUrl'
  return found('FAIL', CHECK, `${origin} answers with status ${status}: ${whose}`)
}
