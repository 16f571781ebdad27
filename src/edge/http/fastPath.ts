import type { IncomingMessage, ServerResponse } from 'node:http'
import { OPEN_HEAD } from './media/cors.ts'

/**
 * Answers one frequent kind of request without the framework. True when it has answered. It leaves every other request
 * untouched, so that refusals and rare cases are answered in one place, the framework's route.
 */
export type FastPath = (request: IncomingMessage, response: ServerResponse) => boolean

export interface FastPathOptions {
  readonly requestId: () => string
  /** Counts an answer. */
  readonly answered: (method: string, route: string, status: number) => void
}

/**
 * Matches a plain GET of a whole resource; null: the request is not for this fast path. The cheap checks come first,
 * because each fast path sees every request.
 *
 * @param root the prefix of every path that `pattern` matches
 */
export function readPlainGet(request: IncomingMessage, root: string, pattern: RegExp): RegExpExecArray | null {
  const { url = '' } = request
  return url.startsWith(root) && isPlainGet(request) ? pattern.exec(url) : null
}

const isPlainGet = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' &&
  headers.range === undefined &&
  headers.expect === undefined &&
  headers['content-length'] === undefined &&
  headers['transfer-encoding'] === undefined

const SEGMENT_HEAD = [...OPEN_HEAD, 'Accept-Ranges', 'bytes', 'Content-Type', 'video/mp4']

/**
 * Writes the head of a 200 with a whole media segment, equal to the head from the framework's routes. Node sends it
 * with the body.
 */
export function writeSegmentHead(
  response: ServerResponse,
  length: number,
  route: string,
  options: FastPathOptions,
  caching: string,
): void {
  response.writeHead(200, [...SEGMENT_HEAD, ...ownHead(length, route, options, caching)])
}

/** A connection closes after this time without a request. */
export const KEEP_ALIVE_MS = 72_000

/** The same head as text, with what Node adds to it. */
export function segmentHead(
  length: number,
  route: string,
  options: FastPathOptions,
  { caching, nowMs }: { readonly caching: string; readonly nowMs: number },
): string {
  const own = asLines(ownHead(length, route, options, caching))
  return `${FIRST_LINES}${own}Date: ${httpDate(nowMs)}\r\n${LAST_LINES}`
}

function ownHead(length: number, route: string, options: FastPathOptions, caching: string): string[] {
  options.answered('GET', route, 200)
  return ['X-Request-Id', options.requestId(), 'Content-Length', `${length}`, 'Cache-Control', caching]
}

const asLines = (head: readonly string[]): string =>
  head.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('')

const FIRST_LINES = `HTTP/1.1 200 OK\r\n${asLines(SEGMENT_HEAD)}`
const LAST_LINES = `Connection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_MS / 1000}\r\n\r\n`

let latestDate = { second: -1, text: '' }

/** RFC 9110 section 5.6.7. Many answers leave in one second. */
function httpDate(nowMs: number): string {
  const second = Math.floor(nowMs / 1000)
  if (latestDate.second !== second) latestDate = { second, text: new Date(nowMs).toUTCString() }
  return latestDate.text
}
