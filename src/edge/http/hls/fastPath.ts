import type { IncomingMessage } from 'node:http'
import { countBytes } from '../../../commands/sessions/count.ts'
import { type FastPath, type FastPathOptions, readPlainGet, writeSegmentHead } from '../fastPath.ts'
import { pieceOf } from './names.ts'
import { HLS_MEDIA, type HlsParts, requestPlaceOf } from './parts.ts'
import { PIECE_CACHING } from './sending.ts'
import { usesAlone } from './sharing.ts'
import type { HlsViewer } from './viewers.ts'

/** `/hls/~{ticket}/{stream}/{rendition}/{file}` */
const MEDIA = /^\/hls\/~([\w.-]{1,4096})\/([\w-]{1,64})\/(\w{1,16})\/([\w-]{1,40}\.(?:mp4|m4s))$/

interface Admitted {
  readonly viewer: HlsViewer
  readonly bytes: Buffer
}

/**
 * Fast path for whole pieces that exist, if ticket and session are valid. The route handles waiting for the next piece,
 * playlists and refusals. `test/http/hlsFastPath.test.ts` proves that its answers equal the route's.
 */
export function hlsFastPath(parts: HlsParts, options: FastPathOptions): FastPath {
  return (request, response) => {
    const asked = readPlainGet(request, '/hls/~', MEDIA)
    const admitted = asked && admittedTo(parts, asked, request)
    if (!admitted) return false
    const { viewer, bytes } = admitted
    viewer.attend(response, () => countBytes(parts.ctx, viewer.sessionId, viewer))
    writeSegmentHead(response, bytes.length, HLS_MEDIA, options, PIECE_CACHING)
    response.end(bytes)
    return true
  }
}

/** Null: the route has to decide. */
function admittedTo(parts: HlsParts, asked: RegExpExecArray, request: IncomingMessage): Admitted | null {
  const { tickets, viewers, hls, access, ctx } = parts
  const [, ticket, stream = '', rendition = '', file = ''] = asked
  const piece = pieceOf(file)
  const holder = piece && tickets.read(ticket, stream)
  const viewer = holder ? viewers.find(holder.sessionId) : undefined
  if (!viewer || !piece || !access.isAdmitted(viewer.sessionId, requestPlaceOf(parts, request))) return null
  const bytes = hls.find(stream)?.hls.piece({ ...piece, rendition })
  if (bytes === undefined) return null
  if (!usesAlone(parts, viewer, rendition, piece)) return null
  if (piece.kind === 'init') viewer.hasNewInit = true
  viewer.lastAskedMs = ctx.clock.monotonic()
  return { viewer, bytes }
}
