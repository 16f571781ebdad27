import type { IncomingMessage } from 'node:http'
import { type FastPath, type FastPathOptions, readPlainGet, writeSegmentHead } from '../fastPath.ts'
import type { Admission, LocalRendition } from './admissions.ts'
import { pieceKey } from './media.ts'
import { type Piece, pieceOf } from './names.ts'
import { HLS_MEDIA, type HlsRoute } from './parts.ts'
import { endWith } from './sendAtOnce.ts'
import { PIECE_CACHING, playsMsOf } from './sending.ts'
import { usesAlone } from './sharing.ts'

/** `/hls/~{ticket}/{stream}/{rendition}/{file}` */
const MEDIA = /^\/hls\/~([\w.-]{1,4096})\/([\w-]{1,64})\/([\w-]{1,64})\/([\w-]{1,40}\.(?:mp4|m4s))$/

interface Playable {
  readonly bytes: Buffer
  readonly playsMs: number
}

interface Found extends Playable {
  readonly admission: Admission
  readonly piece: Piece
}

/**
 * Fast path for whole pieces that are in memory, if memory alone admits the viewer. The route handles playlists, refusals,
 * and whatever waits for the next piece or for another node. `test/http/hlsFastPath.test.ts`,
 * `test/http/playbackFastPath.test.ts` and `test/system/channelNodes.test.ts` prove that its answers equal the route's.
 */
export function hlsFastPath(route: HlsRoute, options: FastPathOptions): FastPath {
  const { memory } = route
  return (request, response) => {
    const asked = readPlainGet(request, '/hls/~', MEDIA)
    const found = asked && findSafely(route, asked, request)
    if (!found) return false
    const { admission, bytes, playsMs, piece } = found
    const { viewer } = admission
    if (piece.kind === 'init') viewer.hasNewInit = true
    viewer.lastAskedMs = route.clock.monotonic()
    admission.attend(response)
    admission.sends(response, bytes.length, playsMs)
    writeSegmentHead(response, bytes.length, HLS_MEDIA, options, PIECE_CACHING)
    endWith(piece.kind === 'segment' ? memory.addon : null, response, bytes)
    return true
  }
}

/** Null: the route has to decide. Errors also go to the route, which reports them. */
function findSafely(route: HlsRoute, asked: RegExpExecArray, request: IncomingMessage): Found | null {
  try {
    return find(route, asked, request)
  } catch {
    return null
  }
}

function find(route: HlsRoute, asked: RegExpExecArray, request: IncomingMessage): Found | null {
  const [, ticket = '', stream = '', rendition = '', file = ''] = asked
  const piece = pieceOf(file)
  const admission = piece && route.peek(ticket, stream, request)
  if (!admission) return null
  const here = admission.here(rendition)
  const playable = here
    ? localPiece(here, piece)
    : admission.isRemote(rendition) && fetchedPiece(route, pieceKey(stream, rendition, file))
  if (!playable) return null
  if (!usesAlone(admission, rendition, piece, 1, route.clock.monotonic())) return null
  return { admission, piece, ...playable }
}

function localPiece(here: LocalRendition, piece: Piece): Playable | null {
  const bytes = here.stream.piece({ ...piece, rendition: here.name })
  return bytes === undefined ? null : { bytes, playsMs: playsMsOf(here, piece) }
}

/** A piece that this node has fetched from another one. */
function fetchedPiece({ remote }: HlsRoute, key: string): Playable | null {
  const answer = remote.peek(key)
  return answer?.status === 200 ? { bytes: answer.body, playsMs: answer.playsMs } : null
}
