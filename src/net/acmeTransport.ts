import { getCACertificates } from 'node:tls'
import { authoritiesProblem, readAuthorities } from '../base/authorities.ts'
import { systemClock } from '../base/clock.ts'
import { startDeadline } from './deadline.ts'
import { boundedExchange } from './nodeFetch.ts'

/** What the library asks for, as far as it does. */
interface Wanted {
  readonly url?: string | undefined
  readonly method?: string | undefined
  readonly headers: { toJSON(): unknown }
  readonly data?: unknown
}

/** The authority is busy, or refuses for a while: status 429, or 500 and above. */
export interface AuthorityBusy extends Error {
  readonly status: number
  /** How long it asks to wait (`Retry-After`); 0: it does not say. */
  readonly askedMs: number
}

const ANSWER_MS = 15_000
/** A chain has a few kilobytes. */
const ANSWER_MAX_BYTES = 512 * 1024

/**
 * Sends the requests of the ACME library in its place, with bounds: its own retries wait for as long as the other side
 * says. A busy authority is an error (`AuthorityBusy`). Redirects are not followed. The operator has chosen the authority,
 * so that it may be in a private network.
 * @param caFile empty: the usual authorities are enough
 */
export function acmeTransport(caFile: string, signal: AbortSignal) {
  const problem = authoritiesProblem('tls.acme.caFile', caFile)
  if (problem !== null) throw new Error(problem)
  const trust = caFile === '' ? {} : { ca: [...getCACertificates('default'), readAuthorities(caFile)] }
  return async (wanted: Wanted) => {
    const { url = '', method = 'GET', headers, data } = wanted
    const request = {
      method: method.toUpperCase(),
      headers: headers.toJSON() as Record<string, string>,
      body: typeof data === 'string' ? data : '',
      maxBytes: ANSWER_MAX_BYTES,
      // Seconds pass between two requests, in which the authority may close a connection.
      agent: false,
      ...trust,
    } as const
    const deadline = startDeadline(systemClock, ANSWER_MS, signal)
    // RFC 8555 section 6.1. Names of an authority may come to lead inside, where nothing has its certificate.
    const asking = url.startsWith('https:') ? boundedExchange(url, request, deadline.signal) : Promise.resolve(null)
    const answer = await asking.finally(() => deadline.cancel())
    if (answer === null) throw Object.assign(new Error(''), { code: 'HPE_INVALID' })
    const text = answer.body.toString()
    const { status, headers: answered } = answer
    if (status === 429 || status >= 500) throw busy(status, text, answered['retry-after'])
    return { status, statusText: '', headers: answered, data: text, config: wanted }
  }
}

function busy(status: number, body: string, retryAfter: string | undefined): AuthorityBusy {
  return Object.assign(new Error(detailOf(body)), { status, askedMs: pauseOf(retryAfter ?? '') })
}

/** What a problem document says (RFC 9457); empty: this is none. */
function detailOf(body: string): string {
  try {
    const { detail } = JSON.parse(body) as { readonly detail?: unknown }
    return typeof detail === 'string' ? detail : ''
  } catch {
    return ''
  }
}

/** Seconds or a date (RFC 9110 section 10.2.3). */
function pauseOf(retryAfter: string): number {
  const ms = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now()
  return Math.max(0, ms) || 0
}
