import type { IncomingMessage, ServerResponse } from 'node:http'
import { OPEN_GRANT, refuseGranted } from '../../../core/channels/playback.ts'
import { type FastPath, type FastPathOptions, readPlainGet, writeSegmentHead } from '../fastPath.ts'
import { type Body, sendAtOnce } from '../media/transfer.ts'
import {
  countServed,
  bytesFromNowOn,
  pieceName,
  segmentPathOf,
  PLAYBACK_MEDIA,
  type PlaybackParts,
  type ServedPiece,
} from './playback.ts'

/**
 * `/v2/distributions/{id}/hls/{engineId}/{rendition}/{launch}_{number}.m4s`, with a ticket if the distribution has
 * keys.
 */
const SEGMENT =
  /^\/v2\/distributions\/(\w{1,64})\/hls\/(\w{1,64})\/(\d{1,2})\/([\d_]{1,24}\.m4s)(?:\?t=([\w.-]{1,2304}))?$/

interface Admitted extends ServedPiece {
  readonly body: Body
}

/**
 * Fast path for media segments, which are most of what viewers request. It serves whole segments if rules, ticket and
 * segment are all in memory. `test/http/playbackFastPath.test.ts` proves that its answers equal the route's.
 */
export function playbackFastPath(parts: PlaybackParts, options: FastPathOptions): FastPath {
  return (request, response) => {
    const asked = readPlainGet(request, '/v2/distributions/', SEGMENT)
    const admitted = asked && admittedTo(parts, asked, request)
    if (!admitted) return false
    writeSegmentHead(response, admitted.body.bytes.length, PLAYBACK_MEDIA, options)
    serve(parts, admitted, request, response)
    return true
  }
}

/** Sends the body and counts its bytes: at once when the kernel took them all, otherwise when the response closes. */
function serve(parts: PlaybackParts, admitted: Admitted, request: IncomingMessage, response: ServerResponse): void {
  const { bytes } = admitted.body
  const taken = parts.sendfile === null ? 0 : sendAtOnce(parts.sendfile, response, admitted.body)
  if (taken === bytes.length) {
    countServed(parts, admitted, taken, true)
    response.end()
    return
  }
  const byNode = bytesFromNowOn(request.socket, bytes.length - taken)
  response.on('close', () => countServed(parts, admitted, taken + byNode(), response.writableFinished))
  response.end(bytes.subarray(taken))
}

/** Null: memory alone cannot admit this request. Errors also go to the route, which reports them. */
function admittedTo(parts: PlaybackParts, asked: RegExpExecArray, request: IncomingMessage): Admitted | null {
  const [, distributionId = '', engineId = '', rendition = '', file = '', ticket] = asked
  try {
    const rules = parts.playbacks.peek(distributionId)
    if (!rules?.engines.some(({ id }) => id === engineId)) return null
    const path = segmentPathOf(parts, engineId, rendition, file)
    const body = parts.segments.peek(path)
    if (body === undefined) return null
    const opens = pieceName(engineId, rendition, file)
    const grant = rules.isOpen ? OPEN_GRANT : parts.tickets.read(ticket, opens, rules, parts.ctx.clock.now())
    if (grant === null) return null
    const address = parts.peerOf(request.socket.remoteAddress, request.headers)
    const country = parts.ctx.countryOf(address)
    const { referer, 'user-agent': userAgent } = request.headers
    const refused = refuseGranted(rules, grant, { address, country, referer, userAgent })
    return refused === null ? { body, playsMs: parts.times.of(path), rules, grant, country } : null
  } catch {
    return null
  }
}
