import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Clock } from '../base/clock.ts'
import { hasCode } from '../base/errorCode.ts'
import { type NodeAnswer, PLAYS_MS } from '../core/hls/nodes.ts'
import { startDeadline } from './deadline.ts'
import { answerTo } from './egress.ts'

// Requests to other nodes of this installation, and with `boundedExchange` to others whose addresses operators choose, so they may be
// private. Whatever listens at such an address can keep this node from its work no more than any other server.

/** Longer than a node lets a request wait for the beginning of a stream. */
const ANSWER_MAX_MS = 15_000
/** No segment plays longer. */
const PIECE_MAX_MS = 60_000
/** Answers with JSON have a few kilobytes. A larger one could take a second to parse. */
const JSON_MAX_BYTES = 64 * 1024
/** What the chunks of a body may take beside it. Each costs as much as a kilobyte, however small it is. */
const FRAMING = { ofBody: 0.25, more: 256 * 1024 }

const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) }

interface BoundedRequest {
  readonly method: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly maxBytes: number
  /** False: over a connection of its own. Otherwise those to other nodes are used again. */
  readonly agent?: false
  /** Authorities to trust in place of the usual ones, PEM. */
  readonly ca?: string[]
}

interface BoundedAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

/** Sends a GET to another node. The function returns null when there was no answer of at most `maxBytes`, and never rejects. */
export function nodeFetch(clock: Clock): (url: string, maxBytes: number) => Promise<NodeAnswer | null> {
  return async (url, maxBytes) => {
    const deadline = startDeadline(clock, ANSWER_MAX_MS)
    const ask = (how: { agent?: false }) => boundedExchange(url, { method: 'GET', maxBytes, ...how }, deadline.signal)
    try {
      // The second time over a connection of its own: others that are idle may be closed like the first one.
      const again = (error: unknown) => (isClosed(error) ? ask({ agent: false }) : Promise.reject(error))
      const answer = await ask({}).catch(again)
      if (answer === null) return null
      const { status, headers, body } = answer
      return { status, caching: headers['cache-control'] ?? '', playsMs: playsMsOf(headers[PLAYS_MS]), body }
    } catch {
      return null
    } finally {
      deadline.cancel()
    }
  }
}

/** Sends JSON to another node. The function returns null when there was no answer with JSON in time, and never rejects. */
export function postToNode(
  clock: Clock,
): (url: string, body: object, ms: number) => Promise<{ status: number; body: unknown } | null> {
  return async (url, body, ms) => {
    const deadline = startDeadline(clock, ms)
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(body), maxBytes: JSON_MAX_BYTES } as const
    try {
      const answer = await boundedExchange(url, request, deadline.signal)
      return answer && { status: answer.status, body: JSON.parse(answer.body.toString()) as unknown }
    } catch {
      return null
    } finally {
      deadline.cancel()
    }
  }
}

/**
 * Null: the answer is too long, a redirect, or none of HTTP.
 * @throws the error of the connection, the TLS handshake, or the parser
 */
export async function boundedExchange(
  url: string,
  request: BoundedRequest,
  signal: AbortSignal,
): Promise<BoundedAnswer | null> {
  const { method, headers = {}, body = '', maxBytes, ca } = request
  const isEncrypted = url.startsWith('https:')
  const agent = request.agent ?? (isEncrypted ? agents.https : agents.http)
  const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const options = { method, headers: { ...headers, ...length }, agent, signal, ca }
  const sent = (isEncrypted ? httpsRequest : httpRequest)(url, options)
  const answer = answerTo(sent)
  sent.end(body)
  const response = await answer
  const { statusCode: status = 0 } = response
  const isAnswer = (status >= 200 && status < 300) || (status >= 400 && status < 600)
  const whole = isAnswer ? await bodyOf(response, maxBytes) : null
  if (whole === null) response.destroy()
  return whole && { status, headers: response.headers, body: whole }
}

/**
 * The connection was closed before the answer, as the other node does with one that has been idle: a GET may be sent again
 * (RFC 9112 section 9.3.1).
 */
const isClosed = (error: unknown): boolean => hasCode(error, 'ECONNRESET') || hasCode(error, 'EPIPE')

/** It is billed, so whatever another server says there stays a time that a piece may have. */
const playsMsOf = (text: string | string[] | undefined): number =>
  Math.min(PIECE_MAX_MS, Math.max(0, Number(text ?? 0) || 0))

/** Null: it is too long, or comes in chunks that are too small. */
async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  const { socket } = response
  const before = socket.bytesRead
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    const framing = socket.bytesRead - before - bytes
    if (bytes > maxBytes || framing > FRAMING.more + bytes * FRAMING.ofBody) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
