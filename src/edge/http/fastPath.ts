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
  caching = 'public, max-age=60',
): void {
  options.answered('GET', route, 200)
  const own = ['X-Request-Id', options.requestId(), 'Content-Length', `${length}`, 'Cache-Control', caching]
  response.writeHead(200, [...SEGMENT_HEAD, ...own])
}
