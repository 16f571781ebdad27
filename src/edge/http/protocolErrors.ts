import {
  type IncomingMessage,
  maxHeaderSize,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Duplex } from 'node:stream'
import { asChannelFailure } from '../../core/channels/errors.ts'
import { ERRORS, failure, type Failure } from '../../core/errors.ts'
import type { HttpConnections } from './connections.ts'
import { endSoon } from './httpConnection.ts'
import { isMediaPath, OPEN_HEAD } from './media/cors.ts'
import { damagedPage, wantsPage } from './notFoundPage.ts'
import { failureBody } from './problem.ts'

// Requests that the HTTP parser refuses, or that this server cannot answer as HTTP requires.

const malformed = (message: string): Failure => failure('bad_request', message)

const MALFORMED = malformed('The request is not valid HTTP')
const NO_HOST = malformed('A request of HTTP/1.1 needs a Host header')
const TWO_HOSTS = malformed('A request has one Host header')
const NOT_UTF8 = malformed('The percent-encoded bytes of the address are not UTF-8')
/** No name has one, and PostgreSQL cannot even be asked for it. */
const HAS_NUL = malformed('The address has a NUL (%00)')
const NO_TUNNEL = malformed('CONNECT asks for a tunnel, and this server is no proxy')
const EXPECTATION = failure('expectation_failed', 'Of Expect only 100-continue is supported')
/** RFC 9112 section 6.1. Node reads such a body as if it were chunked alone. */
const OTHER_CODING = failure('not_supported', 'Of Transfer-Encoding only chunked is supported')
const CODED_TOO_EARLY = failure('bad_request', 'HTTP/1.0 has no Transfer-Encoding')
const TOO_SLOW = failure('request_timeout', 'The request took too long to arrive (server.requestTimeoutSeconds)')
const TOO_LONG = failure(
  'headers_too_large',
  `The request line and its headers are longer than ${maxHeaderSize / 1024} KiB`,
)

/** What Node says of CONNECT with an event of its own. */
const CONNECT = 'CONNECT'

/** By Node's error code; all others are `MALFORMED`. */
const BY_CODE: Readonly<Record<string, Failure>> = {
  [CONNECT]: NO_TUNNEL,
  HPE_HEADER_OVERFLOW: TOO_LONG,
  ERR_HTTP_REQUEST_TIMEOUT: TOO_SLOW,
}

/** An error from Node's HTTP parser. */
interface ParserError {
  readonly code?: string | undefined
}

export interface ProtocolErrorOptions {
  readonly requestId: () => string
  /** Counts and logs an answer. */
  readonly answered: (requestId: string, status: number) => void
  /** True: an answer is under way on this connection, which closes after it. */
  readonly endsWithAnswer: (socket: Duplex) => boolean
}

/**
 * Answers a request that the parser refuses, and closes the connection, because the start of the next request is
 * unknown. Node passes no request, only the last received bytes, and its path may have come before these. So every such
 * answer has the members of both interfaces.
 */
export function parserErrorHandler(options: ProtocolErrorOptions) {
  const seen = new WeakSet<Duplex>()
  return ({ code }: ParserError, socket: Duplex): void => {
    // Later bytes are another error on the same connection.
    if (seen.has(socket) || socket.destroyed) return
    seen.add(socket)
    if (options.endsWithAnswer(socket)) return
    if (code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    endSoon(socket, whole(BY_CODE[code ?? ''] ?? MALFORMED, options))
  }
}

/**
 * Answers what Node reports with an event of its own: an unknown expectation (RFC 9110 section 10.1.1), and CONNECT, which nothing
 * can follow on its connection.
 */
export function refuseUnserved(
  server: Server,
  connections: Pick<HttpConnections, 'enter'>,
  options: ProtocolErrorOptions,
): void {
  const refuse: RequestListener = (request, response) => respond(EXPECTATION, request, response, options)
  server.on('checkExpectation', (request, response) => connections.enter(request, response, refuse))
  const refuseUnread = parserErrorHandler(options)
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    // Node has taken its own listener away. Without one a client that resets its connection would end the server.
    socket.on('error', () => undefined)
    refuseUnread({ code: CONNECT }, socket)
  })
}

/** True: Sluice has refused the request. */
export function refuseHead(request: IncomingMessage, response: ServerResponse, options: ProtocolErrorOptions): boolean {
  const error = errorOf(request)
  if (error === null) return false
  respond(error, request, response, options)
  return true
}

/** RFC 9112 sections 3.2 and 6.1. Node would look for no Host too, but with its own text. */
function errorOf({ url = '', rawHeaders, headers, httpVersion }: IncomingMessage): Failure | null {
  const hosts = countHosts(rawHeaders)
  if (hosts > 1) return TWO_HOSTS
  if (hosts === 0 && httpVersion === '1.1') return NO_HOST
  const coding = headers['transfer-encoding']
  // Proxies that pass it on may see another end of the body.
  if (coding !== undefined && httpVersion === '1.0') return CODED_TOO_EARLY
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') return OTHER_CODING
  if (!url.includes('%')) return null
  if (url.includes('%00')) return HAS_NUL
  return isUtf8(url) ? null : NOT_UTF8
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') count += 1
  }
  return count
}

/** Whether the percent-encoded bytes of an address are UTF-8 (RFC 3986 section 2.5). A sign that encodes nothing may stay. */
function isUtf8(url: string): boolean {
  try {
    for (const [bytes] of url.matchAll(/(?:%[\da-f]{2})+/gi)) decodeURIComponent(bytes)
    return true
  } catch {
    return false
  }
}

function respond(
  error: Failure,
  request: IncomingMessage,
  response: ServerResponse,
  options: ProtocolErrorOptions,
): void {
  const { status, headers, body } = answerTo(error, request, options)
  response.writeHead(status, headers)
  response.end(body)
}

function whole(error: Failure, options: ProtocolErrorOptions): string {
  const { status, headers, body } = answerTo(error, null, options)
  const lines = headers.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`))
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`
}

/** @param request null: unknown */
function answerTo(error: Failure, request: IncomingMessage | null, options: ProtocolErrorOptions) {
  const { status } = ERRORS[error.code]
  const path = request?.url ?? null
  const page = request === null ? null : pageFor(error, request)
  const [type, text] = bodyOf(error, path)
  const body = page?.body ?? text
  const id = options.requestId()
  options.answered(id, status)
  const kind = page === null ? ['Content-Type', `${type}; charset=utf-8`] : Object.entries(page.headers).flat()
  const length = ['Content-Length', `${Buffer.byteLength(body)}`]
  const open = path === null || isMediaPath(path) ? OPEN_HEAD : []
  return { status, body, headers: ['Connection', 'close', ...kind, ...length, 'X-Request-Id', id, ...open] }
}

/** A person who opens a damaged link to a stream reads a page; null: a program asks, or it is another address. */
function pageFor(error: Failure, request: IncomingMessage) {
  const { url = '' } = request
  if ((error !== NOT_UTF8 && error !== HAS_NUL) || !url.startsWith('/watch/') || !wantsPage(request)) return null
  return damagedPage(url.split('?', 1)[0] ?? '')
}

function bodyOf(error: Failure, path: string | null): [type: string, body: string] {
  const [tokenBody, channelBody] = [failureBody(error), asChannelFailure(error)]
  if (path === null) return ['application/json', JSON.stringify({ ...tokenBody, ...channelBody })]
  if (path.startsWith('/v2/')) return ['application/json', JSON.stringify(channelBody)]
  return isMediaPath(path) ? ['text/plain', channelBody.message] : ['application/json', JSON.stringify(tokenBody)]
}
