import { httpPort } from '../base/httpPort.ts'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { dialledUrl, dialProblem, type MediaDialling } from './mediaDialling.ts'
import type { Clock } from '../base/clock.ts'
import { err, ok, type Result } from '../base/result.ts'
import { coded, type CodedSentence, type Said, say } from '../core/notices.ts'
import { isOddPort } from '../core/restream/targets.ts'
import { isPublicAddress } from '../core/validation/publicAddress.ts'
import { hasOddCharacters } from '../core/validation/outboundUrl.ts'
import type { OpenedSession } from '../media/relay/client/session.ts'
import { withoutKey } from '../media/rtmp/status.ts'
import { startDeadline } from '../net/deadline.ts'
import { dial } from '../net/dial.ts'
import { answerOn, readStart } from '../net/egress.ts'
import { egressFailureFrom } from '../net/failures.ts'
import type { Stage } from '../net/outcome.ts'

/** One request with its answer. */
const EXCHANGE_MS = 10_000
/** An answer with every codec has 10,000. */
const ANSWER_MAX_BYTES = 65_536
const REDIRECTS_MAX = 3
/** Those that keep method and body (RFC 9110 section 15.4). */
const REDIRECTS = new Set([307, 308])

/** Why a session was not opened: another attempt may succeed, or the login is refused. For people, without secrets. */
interface SessionProblem extends Said {
  readonly kind: 'lost' | 'refused'
}

export interface RemoteEndpoint {
  /** `http:` or `https:`. */
  readonly url: URL
  /** Of the `Authorization` header; null: none. It goes to the origin of `url` alone. */
  readonly authorization: string | null
  /** What may be in a text of the server, and is shown nowhere. */
  readonly secret: string
  /** What it is, such as `source`. */
  readonly name: 'source' | 'target'
  /** What its 404 and its 409 mean. */
  readonly means: Readonly<Record<number, CodedSentence>>
  readonly clock: Clock
  readonly how: MediaDialling
  /** Ends what is in progress. */
  readonly signal: AbortSignal
}

/** Libraries of `@peculiar/x509`, each with those before it. */
const OF_X509 = ['reflect-metadata', '@peculiar/asn1-schema', '@peculiar/asn1-x509', '@peculiar/asn1-cms']

/**
 * Loads what clients of WebRTC bring with them, the library of DTLS above all, in parts. All of it at once would take a quarter of a
 * second, on a busy machine a second, in which this process reads the media of no publisher.
 */
export async function loadWebRtc(): Promise<void> {
  const requireOfX509 = createRequire(createRequire(import.meta.url).resolve('@peculiar/x509'))
  const parts: readonly (() => unknown)[] = [
    ...OF_X509.map((library) => () => requireOfX509(library) as unknown),
    () => import('@peculiar/x509'),
    () => import('@noble/curves/p256'),
    () => import('werift'),
    () => import('../media/relay/transport/webRtcServer.ts'),
    () => import('../media/relay/inbound/publisher.ts'),
  ]
  for (const load of parts) {
    await load()
    await new Promise(setImmediate)
  }
}

/** `whep` and `whip` mean http, with an `s` https. */
export const endpointUrl = ({ protocol, host, pathname, search }: URL): URL =>
  new URL(`${protocol.endsWith('s:') ? 'https' : 'http'}://${host}${pathname}${search}`)

/** A secret without a user is a token. */
export function basicOrBearer(user: string, secret: string): string | null {
  if (secret === '') return null
  return user === '' ? `Bearer ${secret}` : `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`
}

/** Whether the media of a session may go to an address that its answer names. @param from the server that answers */
export const mediaAllows =
  (how: MediaDialling, from: string) =>
  (address: string, port: number): boolean =>
    !isOddPort(port) && how(port, 'udp').allows(address) && leadsTo(from, address)

/** A server on the internet leads to no private network, also to none that is allowed. */
const leadsTo = (from: string, address: string): boolean =>
  isPublicAddress(address) || (from !== '' && !isPublicAddress(from))

interface Answer {
  readonly status: number
  /** Where it came from. */
  readonly url: URL
  readonly location: string | undefined
  readonly type: string
  readonly text: string
  readonly isWhole: boolean
}

/**
 * Opens a session of WHIP or WHEP at another server (RFC 9725 section 4.2). Each redirect is dialled like the first address.
 * @param socket connected to it; nothing was sent yet. It is closed here
 */
export async function openRemoteSession(
  endpoint: RemoteEndpoint,
  socket: Socket,
  offer: string,
): Promise<Result<OpenedSession, SessionProblem>> {
  let [url, connection] = [endpoint.url, socket]
  for (let redirects = 0; ; redirects++) {
    const from = connection.remoteAddress ?? ''
    const answer = await exchange(endpoint, connection, url, { method: 'POST', body: offer })
    if (!answer.ok) return answer
    if (!REDIRECTS.has(answer.value.status)) return sessionOf(endpoint, answer.value, from)
    const next = redirects === REDIRECTS_MAX ? null : redirectOf(answer.value)
    if (next === null) return lost(coded(`${endpoint.name}_redirects_odd`))
    const dialled = await dialTo(endpoint, next, from)
    if (!dialled.ok) return dialled
    ;[url, connection] = [next, dialled.value]
  }
}

const lost = (why: CodedSentence): Result<never, SessionProblem> => err({ kind: 'lost', ...say(why) })

async function exchange(
  { clock, signal, authorization, url: first, name }: RemoteEndpoint,
  socket: Socket,
  url: URL,
  { method, body }: { readonly method: 'POST' | 'DELETE'; readonly body: string },
): Promise<Result<Answer, SessionProblem>> {
  const deadline = startDeadline(clock, EXCHANGE_MS, signal)
  const headers = {
    ...(body === '' ? {} : { 'content-type': 'application/sdp', accept: 'application/sdp' }),
    ...(authorization !== null && url.origin === first.origin ? { authorization } : {}),
  }
  let stage: Stage = 'send'
  try {
    const request = { method, headers, body: Buffer.from(body) }
    const response = await answerOn(socket, url, request, deadline.signal, () => (stage = 'answer'))
    const { answer: text, truncated } = await readStart(response, ANSWER_MAX_BYTES)
    const { location, 'content-type': type = '' } = response.headers
    return ok({ status: response.statusCode ?? 0, url, location, type, text, isWhole: !truncated })
  } catch (error) {
    const { sentence } = egressFailureFrom(stage, deadline.signal.aborted ? deadline.signal.reason : error)
    return err({ kind: 'lost', ...say(coded(`${name}_no_answer_because`), sentence) })
  } finally {
    deadline.cancel()
    socket.destroy()
  }
}

/** @param from the server that leads there */
async function dialTo(
  { how, signal, name }: Pick<RemoteEndpoint, 'how' | 'signal' | 'name'>,
  url: URL,
  from: string,
): Promise<Result<Socket, SessionProblem>> {
  const port = httpPort(url)
  const dialling = how(port, 'tcp')
  const allows = (address: string): boolean => dialling.allows(address) && leadsTo(from, address)
  let stage: Stage = 'resolve'
  try {
    const to = dialledUrl(url, port, url.protocol === 'https:')
    return ok(await dial(to, { ...dialling, allows }, signal, (next) => (stage = next)))
  } catch (error) {
    return err({ kind: 'lost', ...dialProblem(stage, error, name) })
  }
}

/** Null: it is not followed. What was encrypted stays so. */
function redirectOf({ url, location }: Pick<Answer, 'url' | 'location'>): URL | null {
  const next = location === undefined || hasOddCharacters(location) ? null : URL.parse(location, url.href)
  if (next === null || next.username !== '' || next.password !== '') return null
  const isHttp = next.protocol === 'https:' || (next.protocol === 'http:' && url.protocol === 'http:')
  return isHttp && !isOddPort(httpPort(next)) ? next : null
}

function sessionOf(endpoint: RemoteEndpoint, answer: Answer, from: string): Result<OpenedSession, SessionProblem> {
  const { name } = endpoint
  if (answer.status !== 201 && answer.status !== 200) return err(refusalOf(endpoint, answer))
  const isSdp = answer.isWhole && /^application\/sdp\b/i.test(answer.type)
  if (!isSdp) return lost(coded(`${name}_no_sdp`))
  return ok({ answer: answer.text, leave: () => void leave(endpoint, answer, from) })
}

function refusalOf(endpoint: RemoteEndpoint, { status, text }: Answer): SessionProblem {
  const { name, means } = endpoint
  const itsWords = quoted(text, endpoint)
  if (status === 401 || status === 403)
    return { kind: 'refused', ...say(coded(`${name}_refuses_session`, { status }), ...itsWords) }
  return { kind: 'lost', ...say(means[status] ?? coded(`${name}_status`, { status }), ...itsWords) }
}

/** Texts of other servers may be pages, or repeat what they were sent. */
function quoted(text: string, { secret, authorization }: RemoteEndpoint): CodedSentence[] {
  const credentials = authorization?.replace(/^\w+ /, '') ?? ''
  const said = text.trimStart().startsWith('<') ? '' : withoutKey(text, credentials, secret)
  return said === '' ? [] : [coded('its_words', { text: said })]
}

/**
 * Deletes the session there. A server that does not hear of it notices that the connection is gone. No answer makes us send a
 * DELETE to another server.
 */
async function leave(endpoint: RemoteEndpoint, answer: Answer, from: string): Promise<void> {
  const resource = redirectOf(answer)
  if (resource?.origin !== answer.url.origin) return
  // What the session was for has ended, and its signal with it.
  const going = { ...endpoint, signal: new AbortController().signal }
  const dialled = await dialTo(going, resource, from)
  if (dialled.ok) await exchange(going, dialled.value, resource, { method: 'DELETE', body: '' })
}
