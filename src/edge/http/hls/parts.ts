import type { KeyObject } from 'node:crypto'
import type { Clock } from '../../../base/clock.ts'
import type { Result } from '../../../base/result.ts'
import type { Sealer } from '../../../base/sealer.ts'
import type { SegmentMemory } from '../../../base/segmentMemory.ts'
import type { Context } from '../../../commands/context.ts'
import type { RequestAccess } from '../../../commands/sessions/requestAccess.ts'
import type { Address } from '../../../core/access/address.ts'
import type { RequestOrigin } from '../../../core/access/requestOrigin.ts'
import type { Hls } from '../../../media/hls/hls.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import type { Handover } from '../media/handover.ts'
import type { PeerOf } from '../peer.ts'
import type { Tickets } from '../media/tickets.ts'
import type { Admission, LocalRendition } from './admissions.ts'
import type { FetchFromNode, RemoteMedia } from './remoteMedia.ts'
import type { LatestPlaylists, SharedPlaylists } from './sharedPlaylists.ts'
import type { HlsViewers } from './viewers.ts'
import type { ViewerRequest } from '../viewerRequest.ts'

export interface HlsRouteOptions {
  readonly hls: Hls
  /** How many segments a playlist lists. */
  readonly listSegments: () => number
  /** Signs session URLs; the same on every node of an installation. */
  readonly key: KeyObject
  /** Where other nodes reach this one; empty: nowhere. */
  readonly nodeUrl: string
  /** Seals what viewers asked for into their tickets; the same on every node. */
  readonly sealer: Sealer
  /** A session ends after this time without a request. */
  readonly sessionMs: () => number
  /** Ends sessions whose ticket several players use. */
  readonly refuseShared: () => boolean
  /** Whether this is the address of a cache that reports what it sends. */
  readonly isReporting: (address: Address) => boolean
  /** Requests to other nodes. */
  readonly fetchFromNode: FetchFromNode
  readonly handover: Handover
  /** Where segments are kept, and how they are sent. */
  readonly memory: SegmentMemory
}

/** What viewers of feeds and of distributions have in common. */
export interface SharedHls extends Pick<HlsRouteOptions, 'refuseShared' | 'isReporting'> {
  readonly tickets: Tickets
  readonly remote: RemoteMedia
}

/** What is needed to admit viewers of feeds, and for their master playlists. */
export interface HlsParts extends HlsRouteOptions, SharedHls {
  readonly ctx: Context
  readonly peerOf: PeerOf
  readonly viewers: HlsViewers
  readonly access: RequestAccess
}

/** What the routes and the fast path need to serve all viewers. */
export interface HlsRoute {
  readonly clock: Clock
  readonly isProxy: Context['isProxy']
  readonly peerOf: PeerOf
  readonly tickets: Tickets
  readonly playlists: SharedPlaylists
  readonly latest: LatestPlaylists
  readonly remote: RemoteMedia
  readonly memory: SegmentMemory
  /** Decides on a request with this ticket. */
  admit(ticket: string, stream: string, request: ViewerRequest): Promise<Result<Admission, HttpRefusal>>
  /** The same from memory alone; null: `admit` has to decide. */
  peek(ticket: string, stream: string, request: ViewerRequest): Admission | null
  /** The address of the node that serves the player from now on; null: this one does. */
  nodeFor(request: ViewerRequest, ticket: string, stream: string, isPlaylist: boolean): string | null
  /** A rendition for a node of a region. */
  forNode(stream: string, rendition: string, region: string): Promise<LocalRendition | undefined>
}

/** The origin and address of a request, for the rules of its token. */
export const requestOriginOf = ({ peerOf }: HlsParts, { socket, headers }: ViewerRequest): RequestOrigin => ({
  address: peerOf(socket.remoteAddress, headers),
  origin: headers.origin ?? null,
  userAgent: headers['user-agent'],
})

/** The playlists and pieces of a stream. What follows the ticket is the same for all viewers. */
export const HLS_MEDIA = '/hls/~:ticket/:stream/:rendition/:file'

/** For players: how well they play. */
export const HLS_REPORT = '/hls/~:ticket/:stream/report'

/** For caches: may this viewer read this stream? */
export const HLS_CHECK = '/hls/~:ticket/:stream/check'
