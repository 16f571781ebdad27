import type { IncomingMessage } from 'node:http'
import type { FastPath, FastPathOptions } from '../fastPath.ts'
import type { ViewerAnswer, ViewerRequest } from '../viewerRequest.ts'
import type { WatchedPath } from '../watchedConnections.ts'
import type { Admission, LocalRendition } from './admissions.ts'
import { pieceKey } from './media.ts'
import { type Piece, pieceOf } from './names.ts'
import type { HlsRoute } from './parts.ts'
import { pieceHead, writePieceHead } from './pieceHead.ts'
import { endWith } from './sendAtOnce.ts'
import { playsMsOf } from './sending.ts'
import { usesAlone } from './sharing.ts'

/** `/hls/~{ticket}/{stream}/{rendition}/{file}`, perhaps with CMCD. */
const MEDIA =
  /^\/hls\/~([\w.-]{1,4096})\/([\w-]{1,64})\/([\w-]{1,64})\/([\w-]{1,40}\.(?:mp4|m4s))(?:\?CMCD=[\w.!~*'()%-]{1,1024})?$/

interface Playable {
  readonly bytes: Buffer
  readonly playsMs: number
}

interface Found extends Playable {
  readonly admission: Admission
  readonly piece: Piece
}

/** The same decision for requests that Node reads, and for those that the addon reads. */
export interface HlsFastPaths {
  readonly ofNode: FastPath
  readonly ofAddon: WatchedPath
}

/**
 * Fast paths for whole pieces that are in memory, if memory alone admits the viewer. The route handles playlists, refusals,
 * and whatever waits for the next piece or for another node. `test/http/hlsFastPath.test.ts`,
 * `test/http/playbackFastPath.test.ts` and `test/system/channelNodes.test.ts` prove that their answers equal the route's.
 */
export function hlsFastPaths(route: HlsRoute, options: FastPathOptions): HlsFastPaths {
  const { memory, clock } = route
  return {
    ofNode(request, response) {
      const found = isPlainGet(request) ? findSafely(route, request) : null
      if (found === null) return false
      const { bytes, piece } = found
      serve(route, found, response)
      writePieceHead(response, bytes.length, options)
      endWith(piece.kind === 'segment' ? memory.addon : null, response, bytes)
      return true
    },
    ofAddon(request, answer) {
      const found = findSafely(route, request)
      if (found === null || found.bytes.length === 0) return null
      serve(route, found, answer)
      return { head: pieceHead(found.bytes.length, options, clock.now()), body: found.bytes }
    },
  }
}

function serve({ clock }: HlsRoute, { admission, piece, bytes, playsMs }: Found, answer: ViewerAnswer): void {
  const { viewer } = admission
  if (piece.kind === 'init') viewer.hasNewInit = true
  viewer.lastAskedMs = clock.monotonic()
  admission.attend(answer)
  admission.sends(answer, bytes.length, playsMs)
}

/** Of the whole resource. */
const isPlainGet = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' &&
  headers.range === undefined &&
  headers.expect === undefined &&
  headers['content-length'] === undefined &&
  headers['transfer-encoding'] === undefined

/** Null: the route has to decide. Errors also go to the route, which reports them. */
function findSafely(route: HlsRoute, request: ViewerRequest): Found | null {
  try {
    return find(route, request)
  } catch {
    return null
  }
}

function find(route: HlsRoute, request: ViewerRequest): Found | null {
  const [, ticket = '', stream = '', rendition = '', file = ''] = MEDIA.exec(request.url ?? '') ?? []
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
