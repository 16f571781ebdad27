import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import type { Client } from 'undici'
import { type Clock, systemClock } from '../base/clock.ts'
import type { Result } from '../base/result.ts'
import { isPublicAddress } from '../core/validation/publicAddress.ts'
import { checkTarget } from '../core/webhooks/target.ts'
import { type Deadline, startDeadline } from './deadline.ts'
import { type Dialling, dial } from './dial.ts'
import { egressFailureFrom } from './failures.ts'
import type { EgressOutcome, Stage } from './outcome.ts'
import { publicNames, type ResolveName, systemNames } from './resolve.ts'

export interface EgressOptions {
  /** Lifts the refusal of private addresses and of plain http, for closed networks and tests. */
  readonly allowPrivateTargets: boolean
  /** PEM file of certificate authorities that are trusted beside the usual ones. */
  readonly caFile?: string
  /** For the name, the connection and the TLS handshake together. Default 5000. */
  readonly connectTimeoutMs?: number
  /** For the whole exchange. Default 15000. */
  readonly totalTimeoutMs?: number
  /** Of the answer; reading stops there. Default 16384. */
  readonly maxAnswerBytes?: number
  readonly resolver?: ResolveName
  readonly clock?: Clock
  /**
   * Replaces the judgement of addresses. For tests whose receivers are on loopback while all other rules are in force.
   */
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

/** The only door through which Sluice makes HTTP requests to addresses that its users chose. */
export interface Egress {
  /**
   * May this be the target of a webhook? The refusal is a sentence. Names are judged again, by address, when dialled.
   */
  checkUrl(url: string): Result<URL, string>
  /** One request, at most once: no retry, no redirect. Never rejects for anything that a receiver can do. */
  send(request: EgressRequest): Promise<EgressOutcome>
  /** Stops what is under way and refuses what comes later. Idempotent. */
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

/** Made once: reading a hundred and fifty authorities takes milliseconds that no delivery should pay. */
function trustAlso(caFile: string): SecureContext {
  const own = readFileSync(caFile, 'utf8')
  if (!own.includes('-----BEGIN CERTIFICATE-----')) throw new Error(`${caFile} holds no certificate in PEM form`)
  return createSecureContext({ ca: [...getCACertificates('default'), own] })
}

/** Where an exchange is, for the words in which its failure is told. */
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
    const message = `the target ${target.error}`
    return { kind: 'failed', stage: 'refused', code: 'target_not_allowed', message, status: null, durationMs: took() }
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
 * Every exchange has a connection of its own, made and judged for it. A kept one could be closed by the receiver in the
 * very moment in which it is used again; an event that is never sent twice would then be lost.
 */
async function talk(
  url: URL,
  request: EgressRequest,
  settings: Settings,
  signal: AbortSignal,
  progress: Progress,
): Promise<Answer> {
  // Loaded at the first delivery: a server without webhooks does not carry it.
  const undici = await import('undici')
  const socket = await dial(url, settings, signal, (stage) => (progress.stage = stage))
  const client = clientOn(undici.Client, socket, url)
  try {
    progress.stage = 'send'
    const response = await client.request({
      method: request.method,
      path: `${url.pathname}${url.search}`,
      headers: { ...request.headers, 'content-length': String(request.body.byteLength) },
      body: bodyOf(request.body, () => (progress.stage = socket.destroyed ? 'send' : 'answer')),
      signal,
    })
    Object.assign(progress, { stage: 'answer', status: response.statusCode })
    return { status: response.statusCode, ...(await readStart(response.body, settings.maxAnswerBytes)) }
  } finally {
    socket.destroy()
    await client.destroy()
  }
}

/** An HTTP client for this one socket. Time is kept by the deadline alone. */
function clientOn(HttpClient: typeof Client, socket: Socket, url: URL): Client {
  let unused = true
  return new HttpClient(url.origin, {
    pipelining: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (_options, done) => {
      const mine = unused
      unused = false
      // Later, not now: undici has not finished asking yet.
      queueMicrotask(() => (mine ? done(null, socket) : done(new Error('a connection is used once'), null)))
    },
  })
}

/** The bytes, and a word when the socket has taken them: what fails from then on fails while the answer is awaited. */
function bodyOf(bytes: Uint8Array, sent: () => void): Readable {
  const parts = (async function* () {
    yield bytes
    sent()
  })()
  // undici writes any async iterable, and asks for more only when the socket wants more; its types name one kind of
  // them.
  return parts as unknown as Readable
}

async function readStart(
  body: AsyncIterable<Uint8Array>,
  limit: number,
): Promise<{ answer: string; truncated: boolean }> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    size += chunk.byteLength
    if (size > limit) break
  }
  const truncated = size > limit
  const kept = Buffer.concat(chunks).subarray(0, limit)
  // As part of a stream, a letter that was cut in two at the end is left out instead of becoming U+FFFD.
  const text = new TextDecoder().decode(kept, { stream: truncated })
  // PostgreSQL stores no NUL.
  return { answer: text.replaceAll('\0', '\uFFFD'), truncated }
}
