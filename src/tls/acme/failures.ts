import { coded, type CodedSentence, type Said, say } from '../../core/notices.ts'
import type { AuthorityBusy } from '../../net/acmeTransport.ts'

const MAX_TEXT = 300

/** How long the authority asks to wait, milliseconds; 0: it does not. */
export const askedPauseMs = (error: unknown): number => (isBusy(error) ? error.askedMs : 0)

/** Why an order failed and what to do. What others have sent is cut. */
export function explainFailure(error: unknown, directoryUrl: string): Said {
  const text = (error as Error).message.replaceAll(/\s+/g, ' ').slice(0, MAX_TEXT)
  const reason = reasonOf(error as NodeJS.ErrnoException, text, new URL(directoryUrl).host)
  return say(coded('certificate_not_issued'), ...reason)
}

/** The library's words for an order that stayed as it was. */
const PENDING = /pending or processing/

function reasonOf(error: NodeJS.ErrnoException, text: string, host: string): CodedSentence[] {
  const { code = '' } = error
  const waiting = [...(text === '' ? [] : [coded('its_words', { text })]), coded('authority_again')]
  if (/^(ECONN|ENOTFOUND|EAI_|EHOST|ENET|ETIMEDOUT|ABORT_ERR|HPE_)/.test(code))
    return [coded('authority_unreachable', { host, code }), coded('authority_unreachable_remedy')]
  if (/rate ?limit|too many/i.test(text) || (isBusy(error) && error.status === 429))
    return [coded('authority_limit', { host }), ...waiting]
  if (isBusy(error)) return [coded('authority_status', { host, status: error.status }), ...waiting]
  if (error.name === 'TimeoutError' || PENDING.test(text))
    return [coded('authority_undecided', { host }), coded('authority_again')]
  if (text.startsWith('tls.acme.caFile: ')) return [coded('text', { text })]
  if (/CERT|SELF_SIGNED|ISSUER|SIGNATURE/.test(code)) return [coded('authority_untrusted', { host, code })]
  return [text === '' ? coded('authority_order_failed') : coded('text', { text }), coded('authority_domains')]
}

const isBusy = (error: unknown): error is AuthorityBusy => error instanceof Error && 'askedMs' in error
