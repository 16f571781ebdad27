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

/** `/v2/distributions/{id}/hls/{engineId}/{rendition}/{launch}_{number}.m4s`, with a ticket where one is needed. */
const SEGMENT =
  /^\/v2\/distributions\/(\w{1,64})\/hls\/(\w{1,64})\/(\d{1,2})\/([\d_]{1,24}\.m4s)(?:\?t=([\w.-]{1,2304}))?$/

interface Admitted extends ServedPiece {
  readonly body: Body
}

/**
 * The short way for segments: nearly all that viewers ask for. It takes who is admitted by what is in memory (rules,
 * ticket, segment) and asks for all of a segment. `test/http/playbackFastPath.test.ts` holds it to the route's answers.
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

/** Sends the body and counts what went out of it: at once when the kernel has it all, and else when the answer is over. */
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

/** Null: not by what is in memory. Accidents are the route's too, which knows how to tell of them. */
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
