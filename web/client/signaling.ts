import type { Environment } from './environment.ts'
import { refusalOf, SluiceError } from './errors.ts'

/** What the server answered to an offer. */
export interface Answer {
  readonly sdp: string
  /** The address of the session: a secret of this client. */
  readonly resource: string
  /** The entity-tag of the ICE session; '' if the server sent none. */
  readonly etag: string
  readonly iceServers: RTCIceServer[]
  /** `account/stream`; '' if the server does not say. */
  readonly streamId: string
}

const FRAGMENT = 'application/trickle-ice-sdpfrag'

/**
 * Sends an offer. `fetch` follows a 307 to another node with the same method and body; the resource then belongs to
 * that node.
 * @throws SluiceError when the server refuses
 */
export async function postOffer(
  env: Environment,
  { url, token, sdp, signal }: { url: string; token: string; sdp: string; signal: AbortSignal },
): Promise<Answer> {
  const headers = { 'Content-Type': 'application/sdp', ...(token === '' ? {} : { Authorization: `Bearer ${token}` }) }
  const response = await env.fetch(url, { method: 'POST', headers, body: sdp, signal }).catch(() => failed(signal))
  const { ok, status } = response
  const header = (name: string): string => response.headers.get(name) ?? ''
  const resource = resourceOf(header('Location'), response.url || url)
  const text = await response.text().catch(() => {
    // The server has a session, whose answer did not arrive.
    if (ok && resource !== null) void deleteSession(env, resource)
    return failed(signal)
  })
  if (!ok) throw refusalOf(status, text, response.headers.get('Retry-After'))
  if (resource === null) throw new SluiceError('unexpected_answer', 'The answer has no Location', status)
  return {
    sdp: text,
    resource,
    etag: header('ETag'),
    iceServers: iceServersOf(header('Link')),
    streamId: decoded(header('X-Stream-Id')),
  }
}

/** The address of a session; null: the server names none. */
const resourceOf = (location: string, base: string): string | null =>
  location !== '' && URL.canParse(location, base) ? new URL(location, base).href : null

/** A name that is not encoded as it should be stays as it is: no session ends because of it. */
function decoded(name: string): string {
  try {
    return decodeURI(name)
  } catch {
    return name
  }
}

const NO_ANSWER = 'The server did not answer. It may be unreachable.'

function failed({ aborted }: AbortSignal): never {
  throw aborted ? new SluiceError('stopped', 'Stopped') : new SluiceError('no_answer', NO_ANSWER)
}

/** Sends candidates, or an ICE restart (RFC 9725 section 4.3). */
export function patchSession(
  { fetch }: Environment,
  { resource, fragment, ifMatch }: { resource: string; fragment: string; ifMatch: string },
): Promise<Response> {
  const headers = { 'Content-Type': FRAGMENT, ...(ifMatch === '' ? {} : { 'If-Match': ifMatch }) }
  return fetch(resource, { method: 'PATCH', headers, body: fragment })
}

/**
 * The status of the answer; null without one. `keepalive`: the request is sent even while the user leaves the page.
 */
export async function deleteSession({ fetch }: Environment, resource: string): Promise<number | null> {
  const response = await fetch(resource, { method: 'DELETE', keepalive: true }).catch(() => null)
  return response?.status ?? null
}

/** A browser asks each of them. */
const ICE_SERVERS_MAX = 16

/** The ICE servers in `Link` headers (RFC 9725 section 4.6). */
export function iceServersOf(links: string): RTCIceServer[] {
  const entries = links.matchAll(/<([^<>]*)>((?:\s*;\s*[\w-]+="[^"]*")*)/g)
  const servers = [...entries].flatMap(([, urls = '', text = '']) => {
    const pairs = [...text.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, value])
    const { rel, username, credential } = Object.fromEntries(pairs) as Record<string, string>
    if (rel !== 'ice-server') return []
    return [{ urls, ...(username && credential ? { username, credential } : {}) }]
  })
  return servers.slice(0, ICE_SERVERS_MAX)
}
