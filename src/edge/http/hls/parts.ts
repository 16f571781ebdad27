import type { KeyObject } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Sealer } from '../../../base/sealer.ts'
import type { Context } from '../../../commands/context.ts'
import type { RequestAccess, RequestPlace } from '../../../commands/sessions/requestAccess.ts'
import type { Hls } from '../../../media/hls/hls.ts'
import type { Handover } from '../media/handover.ts'
import type { PeerOf } from '../peer.ts'
import type { Tickets } from '../media/tickets.ts'
import type { FetchFromNode, RemoteMedia } from './remoteMedia.ts'
import type { SharedPlaylists } from './sharedPlaylists.ts'
import type { HlsViewers } from './viewers.ts'

export interface HlsRouteOptions {
  readonly hls: Hls
  /** How many segments a playlist lists. */
  readonly listSegments: () => number
  /** Signs session URLs; the same on every node of an installation. */
  readonly key: KeyObject
  /** Seals what viewers asked for into their tickets; the same on every node. */
  readonly sealer: Sealer
  /** A session ends after this time without a request. */
  readonly sessionMs: () => number
  /** Ends sessions whose ticket several players use. */
  readonly refuseShared: () => boolean
  /** Requests to other nodes. */
  readonly fetchFromNode: FetchFromNode
  readonly handover: Handover
}

/** What the routes and the fast path need to serve viewers. */
export interface HlsParts extends HlsRouteOptions {
  readonly ctx: Context
  readonly peerOf: PeerOf
  readonly viewers: HlsViewers
  readonly tickets: Tickets
  readonly access: RequestAccess
  readonly playlists: SharedPlaylists
  readonly remote: RemoteMedia
}

/** The origin and address of a request, for the rules of its token. */
export const requestPlaceOf = ({ peerOf }: HlsParts, { socket, headers }: IncomingMessage): RequestPlace => ({
  address: peerOf(socket.remoteAddress, headers),
  origin: headers.origin ?? null,
})

/** The playlists and pieces of a stream. What follows the ticket is the same for all viewers. */
export const HLS_MEDIA = '/hls/~:ticket/:stream/:rendition/:file'

/** For caches: may this viewer read this stream? */
export const HLS_CHECK = '/hls/~:ticket/:stream/check'
