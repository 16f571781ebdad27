import type { IncomingMessage, ServerResponse } from 'node:http'
import { OPEN_HEAD } from './media/cors.ts'

/**
 * A short way past the framework for one kind of request that comes all the time. True when the lane has taken it; what it
 * leaves is untouched, so that refusals and rarities are answered in one place, the framework's route.
 */
export type FastPath = (request: IncomingMessage, response: ServerResponse) => boolean

export interface FastPathOptions {
  readonly requestId: () => string
  /** Counts an answer. */
  readonly answered: (method: string, route: string, status: number) => void
}

/**
 * What a GET of the whole of something asks for, if nothing about it changes the answer; null: it is not for this lane.
 * The cheap questions come first, because each lane is asked about every request.
 *
 * @param root what all that `pattern` matches begins with
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

const CACHED = ['Cache-Control', 'public, max-age=60']
const SEGMENT_HEAD = [...OPEN_HEAD, ...CACHED, 'Accept-Ranges', 'bytes', 'Content-Type', 'video/mp4']

/** The head of an answer with the whole of a media segment, as the framework's routes send it. It leaves with the body. */
export function writeSegmentHead(
  response: ServerResponse,
  length: number,
  route: string,
  options: FastPathOptions,
): void {
  options.answered('GET', route, 200)
  const own = ['X-Request-Id', options.requestId(), 'Content-Length', `${length}`]
  response.writeHead(200, [...SEGMENT_HEAD, ...own])
}
