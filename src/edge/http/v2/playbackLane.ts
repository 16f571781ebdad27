import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Grant, OPEN_GRANT, type PlaybackRules, refuseViewer } from '../../../core/live/playback.ts'
import { isPlainGet, type Lane, type LaneOptions, sendSegment } from '../lane.ts'
import { countServed, placeOf, PLAYBACK_MEDIA, type PlaybackParts } from './playback.ts'

/** `/v2/distributions/{id}/hls/{engineId}/{rendition}/{launch}_{number}.m4s`, with a ticket where one is needed. */
const SEGMENT =
  /^\/v2\/distributions\/(\w{1,64})\/hls\/(\w{1,64})\/(\d{1,2})\/([\d_]{1,24}\.m4s)(?:\?t=([\w.-]{1,1024}))?$/

interface Admitted {
  readonly bytes: Buffer
  readonly playsMs: number
  readonly rules: PlaybackRules
  readonly grant: Grant
  readonly country: string | null
}

/**
 * The short way for segments: nearly all that viewers ask for. It takes who is admitted by what is in memory (rules,
 * ticket, segment) and asks for all of a segment. `test/http/playbackLane.test.ts` holds it to the route's answers.
 */
export function playbackLane(parts: PlaybackParts, options: LaneOptions): Lane {
  return (request, response) => {
    const asked = isPlainGet(request) ? SEGMENT.exec(request.url ?? '') : null
    const admitted = asked && admittedTo(parts, asked, request)
    if (!admitted) return false
    serve(parts, admitted, request, response, options)
    return true
  }
}

function serve(
  parts: PlaybackParts,
  { bytes, playsMs, rules, grant, country }: Admitted,
  request: IncomingMessage,
  response: ServerResponse,
  options: LaneOptions,
): void {
  countServed(parts, { rules, grant, country, length: bytes.length, playsMs }, request.socket, response)
  sendSegment(response, bytes, PLAYBACK_MEDIA, options)
}

/** Null: not by what is in memory. Accidents are the route's too, which knows how to tell of them. */
function admittedTo(parts: PlaybackParts, asked: RegExpExecArray, request: IncomingMessage): Admitted | null {
  const [, distributionId = '', engineId = '', rendition = '', file = '', ticket] = asked
  try {
    const rules = parts.playbacks.peek(distributionId)
    if (!rules?.engines.some(({ id }) => id === engineId)) return null
    const path = placeOf(parts, engineId, rendition, file)
    const bytes = parts.segments.peek(path)
    if (bytes === undefined) return null
    const isOpen = rules.keys.length === 0
    const grant = isOpen ? OPEN_GRANT : parts.tickets.read(ticket, 'media', rules, parts.ctx.clock.now())
    if (grant === null) return null
    const address = parts.peerOf(request.socket.remoteAddress, request.headers)
    const country = parts.ctx.countryOf(address)
    const refused = refuseViewer(rules, { address, country, referer: request.headers.referer })
    return refused === null ? { bytes, playsMs: parts.times.of(path), rules, grant, country } : null
  } catch {
    return null
  }
}
