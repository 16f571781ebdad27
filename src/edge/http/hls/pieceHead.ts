import type { ServerResponse } from 'node:http'
import { type FastPathOptions, KEEP_ALIVE_MS } from '../fastPath.ts'
import { OPEN_HEAD } from '../media/cors.ts'
import { HLS_MEDIA } from './parts.ts'
import { PIECE_CACHING } from './sending.ts'

const FIXED_HEAD = [...OPEN_HEAD, 'Accept-Ranges', 'bytes', 'Content-Type', 'video/mp4', 'Cache-Control', PIECE_CACHING]

/** Writes the head of a 200 with a whole piece, equal to that of the route. Node sends it with the body. */
export function writePieceHead(response: ServerResponse, length: number, options: FastPathOptions): void {
  response.writeHead(200, [...FIXED_HEAD, ...ownHead(length, options)])
}

/** The same head as text, with what Node adds to it. */
export const pieceHead = (length: number, options: FastPathOptions, nowMs: number): string =>
  `${FIRST_LINES}${asLines(ownHead(length, options))}Date: ${httpDate(nowMs)}\r\n${LAST_LINES}`

function ownHead(length: number, options: FastPathOptions): string[] {
  options.answered('GET', HLS_MEDIA, 200)
  return ['X-Request-Id', options.requestId(), 'Content-Length', `${length}`]
}

const asLines = (head: readonly string[]): string =>
  head.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('')

const FIRST_LINES = `HTTP/1.1 200 OK\r\n${asLines(FIXED_HEAD)}`
const LAST_LINES = `Connection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_MS / 1000}\r\n\r\n`

let latestDate = { second: -1, text: '' }

/** RFC 9110 section 5.6.7. Many answers leave in one second. */
function httpDate(nowMs: number): string {
  const second = Math.floor(nowMs / 1000)
  if (latestDate.second !== second) latestDate = { second, text: new Date(nowMs).toUTCString() }
  return latestDate.text
}
