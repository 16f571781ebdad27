import type { IncomingMessage } from 'node:http'
import { OPEN_GRANT, refuseGranted } from '../../../core/channels/playback.ts'
import { type FastPath, type FastPathOptions, readPlainGet, writeSegmentHead } from '../fastPath.ts'
import { pieceOf } from '../hls/names.ts'
import {
  countServed,
  bytesFromNowOn,
  pieceName,
  playsMsOf,
  PLAYBACK_MEDIA,
  type PlaybackParts,
  type ServedPiece,
} from './playback.ts'

/** `/v2/distributions/{id}/hls/{engineId}/{rendition}/{file}`, with a ticket if the distribution has keys. */
const PIECE =
  /^\/v2\/distributions\/(\w{1,64})\/hls\/(\w{1,64})\/(\d{1,2})\/([\w-]{1,40}\.(?:mp4|m4s))(?:\?t=([\w.-]{1,2304}))?$/

interface Admitted extends ServedPiece {
  readonly bytes: Buffer
}

/**
 * Fast path for pieces of media, which are most of what viewers request. It serves whole ones that exist, if rules and
 * ticket are in memory. `test/http/playbackFastPath.test.ts` proves that its answers equal the route's.
 */
export function playbackFastPath(parts: PlaybackParts, options: FastPathOptions): FastPath {
  return (request, response) => {
    const asked = readPlainGet(request, '/v2/distributions/', PIECE)
    const admitted = asked && admittedTo(parts, asked, request)
    if (!admitted) return false
    const { bytes } = admitted
    writeSegmentHead(response, bytes.length, PLAYBACK_MEDIA, options)
    const sent = bytesFromNowOn(request.socket, bytes.length)
    response.on('close', () => countServed(parts, admitted, sent(), response.writableFinished))
    response.end(bytes)
    return true
  }
}

/** Null: memory alone cannot admit this request. Errors also go to the route, which reports them. */
function admittedTo(parts: PlaybackParts, asked: RegExpExecArray, request: IncomingMessage): Admitted | null {
  const [, distributionId = '', engineId = '', rendition = '', file = '', ticket] = asked
  try {
    const rules = parts.playbacks.peek(distributionId)
    if (!rules?.engines.some(({ id }) => id === engineId)) return null
    const stream = parts.streamOf(engineId)
    const piece = pieceOf(file)
    const bytes = piece && stream?.piece({ ...piece, rendition })
    if (!stream || !piece || !bytes) return null
    const opens = pieceName(engineId, rendition, file)
    const grant = rules.isOpen ? OPEN_GRANT : parts.tickets.read(ticket, opens, rules, parts.ctx.clock.now())
    if (grant === null) return null
    const address = parts.peerOf(request.socket.remoteAddress, request.headers)
    const country = parts.ctx.countryOf(address)
    const { referer, 'user-agent': userAgent } = request.headers
    const refused = refuseGranted(rules, grant, { address, country, referer, userAgent })
    return refused === null
      ? { bytes, playsMs: playsMsOf(stream, { ...piece, rendition }), rules, grant, country }
      : null
  } catch {
    return null
  }
}
