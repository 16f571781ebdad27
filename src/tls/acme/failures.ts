import type { AuthorityBusy } from '../../net/acmeTransport.ts'

const MAX_TEXT = 300

/** How long the authority asks to wait, milliseconds; 0: it does not. */
export const askedPauseMs = (error: unknown): number => (isBusy(error) ? error.askedMs : 0)

/** Why an order failed and what to do, as one sentence. What others have sent is cut. */
export function explainFailure(error: unknown, directoryUrl: string): string {
  const text = (error as Error).message.replaceAll(/\s+/g, ' ').slice(0, MAX_TEXT)
  return `No certificate: ${reasonOf(error as NodeJS.ErrnoException, text, new URL(directoryUrl).host)}`
}

const AGAIN = 'Sluice tries again by itself'
/** The library's words for an order that stayed as it was. */
const PENDING = /pending or processing/

function reasonOf(error: NodeJS.ErrnoException, text: string, host: string): string {
  const { code = '' } = error
  const said = text === '' ? '' : `: ${text}`
  if (/rate ?limit|too many/i.test(text) || (isBusy(error) && error.status === 429))
    return `${host} has a rate limit${said}. ${AGAIN}`
  if (isBusy(error)) return `${host} answers with status ${error.status}${said}. ${AGAIN}`
  if (error.name === 'TimeoutError' || PENDING.test(text)) return `${host} has not decided in time. ${AGAIN}`
  if (text.startsWith('tls.acme.caFile: ')) return text
  if (/^(ECONN|ENOTFOUND|EAI_|EHOST|ENET|ETIMEDOUT|ABORT_ERR|UND_ERR_)/.test(code))
    return `${host} cannot be reached (${code}). Check tls.acme.directoryUrl and that this machine may connect to it`
  if (/CERT|SELF_SIGNED|ISSUER|SIGNATURE/.test(code))
    return `${host} has a certificate that is not trusted (${code}). Set tls.acme.caFile to its authority`
  return `${text === '' ? 'the order failed' : text}. The domains must lead to this server, and port 80 to tls.redirectPort`
}

const isBusy = (error: unknown): error is AuthorityBusy => error instanceof Error && 'askedMs' in error
