import { type IncomingMessage, maxHeaderSize, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { ERRORS, type ErrorCode, failure } from '../../core/errors.ts'
import { type ChannelErrorCode, refusal } from '../../core/channels/errors.ts'
import { isMediaPath, OPEN_HEAD } from './media/cors.ts'
import { failureBody } from './problem.ts'

/** A request that the HTTP parser refuses, or that this server cannot answer as HTTP requires. */
interface ProtocolError {
  readonly code: ErrorCode
  /** The same under `/v2`. */
  readonly channelCode: ChannelErrorCode
  readonly message: string
}

const MALFORMED: ProtocolError = {
  code: 'bad_request',
  channelCode: 'invalid_request',
  message: 'The request is not valid HTTP',
}
const NO_HOST: ProtocolError = { ...MALFORMED, message: 'A request of HTTP/1.1 needs a Host header' }
const EXPECTATION: ProtocolError = {
  code: 'expectation_failed',
  channelCode: 'expectation_failed',
  message: 'Of Expect only 100-continue is supported',
}
const TOO_SLOW: ProtocolError = {
  code: 'request_timeout',
  channelCode: 'request_timeout',
  message: 'The request took too long to arrive (server.requestTimeoutSeconds)',
}
const TOO_LONG: ProtocolError = {
  code: 'headers_too_large',
  channelCode: 'headers_too_large',
  message: `The request line and its headers are longer than ${maxHeaderSize / 1024} KiB`,
}

/** By Node's error code; all others are `MALFORMED`. */
const BY_CODE: Readonly<Record<string, ProtocolError>> = {
  HPE_HEADER_OVERFLOW: TOO_LONG,
  ERR_HTTP_REQUEST_TIMEOUT: TOO_SLOW,
}

/** An error from Node's HTTP parser. */
interface ParserError {
  readonly code?: string | undefined
  /** The last received bytes. */
  readonly rawPacket?: unknown
}

/** How long the connection stays open after the answer. A client that still sends would lose the answer to a reset. */
const LINGER_MS = 1000

export interface ProtocolErrorOptions {
  readonly requestId: () => string
  /** Counts and logs an answer. */
  readonly answered: (requestId: string, status: number) => void
  /** True: an answer is under way on this connection, which closes after it. */
  readonly endsWithAnswer: (socket: Duplex) => boolean
}

/**
 * Answers a request that the parser refuses, and closes the connection, because the start of the next request is
 * unknown. Node passes no request, only the last received bytes. When they do not contain the path, the answer has the
 * members of both interfaces.
 */
export function parserErrorHandler(options: ProtocolErrorOptions) {
  const seen = new WeakSet<Duplex>()
  return ({ code, rawPacket }: ParserError, socket: Duplex): void => {
    // Later bytes are another error on the same connection.
    if (seen.has(socket) || socket.destroyed) return
    seen.add(socket)
    if (options.endsWithAnswer(socket)) return
    if (code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const packet = Buffer.isBuffer(rawPacket) ? rawPacket.toString('latin1') : ''
    const [, path = null] = /^[A-Z]{1,20} (\/[^ \r\n]{0,2048})/.exec(packet) ?? []
    socket.end(whole(BY_CODE[code ?? ''] ?? MALFORMED, path, options))
    socket.resume()
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }
}

/** True: Sluice has refused the request. */
export function refuseHead(request: IncomingMessage, response: ServerResponse, options: ProtocolErrorOptions): boolean {
  // RFC 9112 section 3.2. Node would check it too, but with its own text.
  if (request.headers.host !== undefined || request.httpVersion !== '1.1') return false
  respond(NO_HOST, request, response, options)
  return true
}

/** The request has an unknown expectation (RFC 9110 section 10.1.1). */
export const refuseExpectation = (
  request: IncomingMessage,
  response: ServerResponse,
  options: ProtocolErrorOptions,
): void => respond(EXPECTATION, request, response, options)

function respond(
  error: ProtocolError,
  request: IncomingMessage,
  response: ServerResponse,
  options: ProtocolErrorOptions,
): void {
  const { status, headers, body } = answerTo(error, request.url ?? null, options)
  response.writeHead(status, headers)
  response.end(body)
}

function whole(error: ProtocolError, path: string | null, options: ProtocolErrorOptions): string {
  const { status, headers, body } = answerTo(error, path, options)
  const lines = headers.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`))
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`
}

/** @param path null: unknown */
function answerTo(error: ProtocolError, path: string | null, { requestId, answered }: ProtocolErrorOptions) {
  const { status } = ERRORS[error.code]
  const [type, body] = bodyOf(error, path)
  const id = requestId()
  answered(id, status)
  const head = ['Connection', 'close', 'Content-Type', `${type}; charset=utf-8`, 'Content-Length', `${body.length}`]
  const open = path !== null && isMediaPath(path) ? OPEN_HEAD : []
  return { status, body, headers: [...head, 'X-Request-Id', id, ...open] }
}

function bodyOf({ code, channelCode, message }: ProtocolError, path: string | null): [type: string, body: string] {
  const [tokenBody, channelBody] = [failureBody(failure(code, message)), refusal(channelCode, message)]
  if (path === null) return ['application/json', JSON.stringify({ ...tokenBody, ...channelBody })]
  if (path.startsWith('/v2/')) return ['application/json', JSON.stringify(channelBody)]
  return isMediaPath(path) ? ['text/plain', message] : ['application/json', JSON.stringify(tokenBody)]
}
