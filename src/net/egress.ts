import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http'
import type { Socket } from 'node:net'
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import { readAuthorities } from '../base/authorities.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import type { Result } from '../base/result.ts'
import { coded } from '../core/notices.ts'
import { isPublicAddress } from '../core/validation/publicAddress.ts'
import { checkTarget } from '../core/webhooks/target.ts'
import { type Deadline, startDeadline } from './deadline.ts'
import { type Dialling, dial } from './dial.ts'
import { egressFailureFrom } from './failures.ts'
import type { EgressOutcome, Stage } from './outcome.ts'
import { publicNames, type ResolveName, systemNames } from './resolve.ts'

export interface EgressOptions {
  /** Allows private addresses and plain http, for closed networks and tests. */
  readonly allowPrivateTargets: boolean
  /** PEM file of certificate authorities that are trusted in addition to the usual ones. */
  readonly caFile?: string
  /** For name resolution, connection and TLS handshake together. Default 5000. */
  readonly connectTimeoutMs?: number
  /** For the whole exchange. Default 15000. */
  readonly totalTimeoutMs?: number
  /** The most bytes of the answer that are read. Default 16384. */
  readonly maxAnswerBytes?: number
  readonly resolver?: ResolveName
  readonly clock?: Clock
  /** Replaces the address check, for tests whose receivers are on loopback while all other rules apply. */
  readonly allowAddress?: (address: string) => boolean
}

export interface EgressRequest {
  readonly url: string
  readonly method: 'POST' | 'GET' | 'PUT'
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Ends the exchange early, with the code `aborted`. */
  readonly signal?: AbortSignal
}

/** The only component through which Sluice makes HTTP requests to addresses that its users chose. */
export interface Egress {
  /**
   * Whether this may be the target of a webhook. The refusal is a sentence. Each dial checks the addresses of a
   * name again.
   */
  checkUrl(url: string): Result<URL, string>
  /** Sends one request at most once: no retry, no redirect. Never rejects for anything that a receiver does. */
  send(request: EgressRequest): Promise<EgressOutcome>
  /** Stops requests in progress and refuses later ones. Idempotent. */
  close(): Promise<void>
}

interface Settings extends Dialling {
  readonly allowPrivate: boolean
  readonly totalTimeoutMs: number
  readonly maxAnswerBytes: number
}

/** @throws when `caFile` cannot be read or holds no certificate */
export function createEgress(options: EgressOptions): Egress {
  const settings = settingsFrom(options)
  const running = new Map<Deadline, Promise<EgressOutcome>>()
  let closed = false
  return {
    checkUrl: (url) => checkTarget(url, settings.allowPrivate),
    send: async (request) => {
      const deadline = startDeadline(settings.clock, settings.totalTimeoutMs, request.signal)
      if (closed) deadline.stop()
      const outcome = exchange(request, settings, deadline.signal)
      running.set(deadline, outcome)
      try {
        return await outcome
      } finally {
        deadline.cancel()
        running.delete(deadline)
      }
    },
    close: async () => {
      closed = true
      for (const deadline of running.keys()) deadline.stop()
      await Promise.all(running.values())
    },
  }
}

function settingsFrom(options: EgressOptions): Settings {
  const allowPrivate = options.allowPrivateTargets
  return {
    allowPrivate,
    clock: options.clock ?? systemClock,
    resolve: options.resolver ?? (allowPrivate ? systemNames : publicNames()),
    allows: options.allowAddress ?? (allowPrivate ? () => true : isPublicAddress),
    timeoutMs: options.connectTimeoutMs ?? 5000,
    totalTimeoutMs: options.totalTimeoutMs ?? 15_000,
    maxAnswerBytes: options.maxAnswerBytes ?? 16_384,
    trust: options.caFile === undefined ? undefined : trustAlso(options.caFile),
    protocols: ['http/1.1'],
  }
}

/** Created once: reading a hundred and fifty authorities takes milliseconds that no delivery should pay. */
function trustAlso(caFile: string): SecureContext {
  return createSecureContext({ ca: [...getCACertificates('default'), readAuthorities(caFile)] })
}

/** So many interim answers are none of HTTP: a receiver that sends no other would keep this process busy until the deadline. */
const INTERIM_MAX = 32
/** Before the header of the answer has ended. A parser reads empty lines in front of it without end (RFC 9112 section 2.2). */
const HEADERS_MAX_BYTES = 256 * 1024

/** How far an exchange is, for the message when it fails. */
interface Progress {
  stage: Stage
  status: number | null
}

async function exchange(request: EgressRequest, settings: Settings, signal: AbortSignal): Promise<EgressOutcome> {
  const startedAt = settings.clock.monotonic()
  const progress: Progress = { stage: 'refused', status: null }
  const took = () => Math.round(settings.clock.monotonic() - startedAt)
  const target = checkTarget(request.url, settings.allowPrivate)
  if (!target.ok) {
    const sentence = coded('request_target', { text: target.error })
    return { kind: 'failed', stage: 'refused', code: 'target_not_allowed', sentence, status: null, durationMs: took() }
  }
  try {
    const answer = await talk(target.value, request, settings, signal, progress)
    return { kind: 'answered', ...answer, durationMs: took() }
  } catch (error) {
    const failure = egressFailureFrom(progress.stage, signal.aborted ? signal.reason : error)
    return { kind: 'failed', ...failure, status: progress.status, durationMs: took() }
  }
}

interface Answer {
  status: number
  answer: string
  truncated: boolean
}

/**
 * Every exchange opens and checks a connection of its own. The receiver could close a reused one at the very moment
 * of the next request, and an event that is never sent twice would be lost.
 */
async function talk(
  url: URL,
  request: EgressRequest,
  settings: Settings,
  signal: AbortSignal,
  progress: Progress,
): Promise<Answer> {
  const socket = await dial(url, settings, signal, (stage) => (progress.stage = stage))
  try {
    progress.stage = 'send'
    const response = await answerOn(socket, url, request, signal, () => (progress.stage = 'answer'))
    const { statusCode: status = 0 } = response
    Object.assign(progress, { stage: 'answer', status })
    return { status, ...(await readStart(response, settings.maxAnswerBytes)) }
  } finally {
    socket.destroy()
  }
}

/**
 * Sends the request on this one socket. Only the deadline limits the time.
 * @param sent called when the socket has taken the request. Later failures happen while we wait for the answer
 */
export function answerOn(
  socket: Socket,
  url: URL,
  { method, headers, body }: Pick<EgressRequest, 'headers' | 'body'> & { readonly method: string },
  signal: AbortSignal,
  sent: () => void,
): Promise<IncomingMessage> {
  const exchange = httpRequest({
    method,
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, host: url.host, 'content-length': String(body.byteLength) },
    createConnection: () => socket,
    signal,
  })
  const answer = answerTo(exchange)
  exchange.end(body, sent)
  return answer
}

/**
 * The answer to a request that has not left yet. Interim answers (100, 102, 103) may come before the one that counts (RFC 9110
 * section 15.2), but not without end, nor may empty lines.
 */
export function answerTo(exchange: ClientRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  let left = HEADERS_MAX_BYTES
  const count = ({ length }: Buffer): void => {
    left -= length
    if (left < 0) exchange.destroy(invalid('too much before the answer'))
  }
  exchange.on('socket', (socket) => {
    socket.on('data', count)
    for (const event of ['response', 'close']) exchange.once(event, () => void socket.off('data', count))
  })
  exchange.on('response', (response) => {
    // Else Node parses all that has come before who reads the body can look at it.
    response.socket.pause()
    resolve(response)
  })
  exchange.on('upgrade', () => reject(invalid('an upgrade that was not requested')))
  let interim = 0
  exchange.on('information', () => {
    if (++interim === INTERIM_MAX) exchange.destroy(invalid('too many interim answers'))
  })
  exchange.on('error', reject)
  exchange.on('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })))
  return promise
}

/** As an error of the HTTP parser. */
const invalid = (what: string): Error => Object.assign(new Error(what), { code: 'HPE_INVALID' })

/** Of an exchange: handshake, head, and what chunks take beside the body. Each costs as much as a kilobyte, however small it is. */
const FRAMING_MAX_BYTES = 48 * 1024

/** The start of an answer as text, to which a connection of its own has led. It ends early where chunks are tiny. */
export async function readStart(body: IncomingMessage, limit: number): Promise<{ answer: string; truncated: boolean }> {
  const { socket } = body
  const chunks: Buffer[] = []
  let [size, truncated] = [0, false]
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    const framing = socket.bytesRead - socket.readableLength - size
    truncated = size > limit || framing > FRAMING_MAX_BYTES
    if (truncated) break
  }
  const start = Buffer.concat(chunks).subarray(0, limit)
  // In stream mode a character that was cut at the end is dropped instead of becoming U+FFFD.
  const text = new TextDecoder().decode(start, { stream: truncated })
  // PostgreSQL cannot store NUL.
  return { answer: text.replaceAll('\0', '\uFFFD'), truncated }
}
