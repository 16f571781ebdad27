import { getCACertificates } from 'node:tls'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'undici'

/** What the library asks for, as far as it does. */
interface Wanted {
  readonly url?: string | undefined
  readonly method?: string | undefined
  readonly headers: { toJSON(): unknown }
  readonly data?: unknown
}

const CONNECT_MS = 5000
const ANSWER_MS = 15_000
/** A chain has a few kilobytes. */
const ANSWER_MAX_BYTES = 512 * 1024

/**
 * Sends the requests of the ACME library in its place, with bounds: its own retries wait for as long as the other side
 * says. Redirects are not followed. The operator has chosen the authority, so that it may be in a private network.
 * @param caFile empty: the usual authorities are enough
 */
export function acmeTransport(caFile: string, signal: AbortSignal) {
  const ca = caFile === '' ? {} : { ca: [...getCACertificates('default'), readFileSync(caFile, 'utf8')] }
  const dispatcher = new Agent({
    connections: 1,
    connect: { ...ca, timeout: CONNECT_MS },
    headersTimeout: ANSWER_MS,
    bodyTimeout: ANSWER_MS,
    maxResponseSize: ANSWER_MAX_BYTES,
  })
  const send = async (wanted: Wanted) => {
    const { url = '', method = 'GET', headers, data } = wanted
    const {
      statusCode: status,
      headers: answered,
      body,
    } = await request(url, {
      dispatcher,
      signal,
      method: method.toUpperCase() as 'GET',
      headers: headers.toJSON() as Record<string, string>,
      ...(typeof data === 'string' ? { body: data } : {}),
    })
    return { status, statusText: '', headers: answered, data: await body.text(), config: wanted }
  }
  return { send, close: () => dispatcher.destroy() }
}
