import type { KeyObject } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Context } from '../../../commands/context.ts'
import type { RequestAccess, RequestPlace } from '../../../commands/live/requestAccess.ts'
import type { Hls } from '../../../media/packager/hls.ts'
import type { Handover } from '../handover.ts'
import type { PeerOf } from '../peer.ts'
import type { Tickets } from './tickets.ts'
import type { Viewers } from './viewers.ts'

export interface HlsRouteOptions {
  readonly hls: Hls
  /** Signs the URLs of sessions; the same on every node of an installation. */
  readonly key: KeyObject
  /** A session is over when nothing was asked for in this time. */
  readonly sessionMs: number
  readonly handover: Handover
}

/** What viewers are served with, by the routes and by the lane. */
export interface HlsParts extends HlsRouteOptions {
  readonly ctx: Context
  readonly peerOf: PeerOf
  readonly viewers: Viewers
  readonly tickets: Tickets
  readonly access: RequestAccess
}

/** Where a request comes from, as its token's rules see it. */
export const placeOf = ({ peerOf }: HlsParts, { socket, headers }: IncomingMessage): RequestPlace => ({
  address: peerOf(socket.remoteAddress, headers),
  origin: headers.origin ?? null,
})

/** Playlists and segments of a session. */
export const HLS_MEDIA = '/hls/:accountId/:streamName/:feedId/:file'
