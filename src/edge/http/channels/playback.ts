import type { Socket } from 'node:net'
import type { Context } from '../../../commands/context.ts'
import type { Playbacks } from '../../../services/playbacks.ts'
import type { PlaybackTickets } from '../../../services/playbackTickets.ts'
import type { ServedBytesCounter } from '../../../services/servedBytes.ts'
import type { Grant, PlaybackRules } from '../../../core/channels/playback.ts'
import type { Sendfile } from '../../../base/sendfile.ts'
import type { PeerOf } from '../peer.ts'
import type { SegmentCache } from './segmentCache.ts'
import type { SegmentTimes } from './segmentTimes.ts'

export interface PlaybackOptions {
  readonly playbacks: Playbacks
  readonly served: ServedBytesCounter
  readonly segments: SegmentCache
  readonly times: SegmentTimes
  /** Null: bodies go through Node. */
  readonly sendfile: Sendfile | null
  /** Signs the addresses of segments. */
  readonly tickets: PlaybackTickets
  /** The claim of viewer tokens that their restrictions are in. */
  readonly claim: string
  /** Where an engine of this node writes: `main.m3u8`, `thumbnail.jpeg`, and a folder for each rendition. */
  readonly folderOf: (engineId: string) => string
}

/** What viewers are served with, by the routes and by the lane. */
export interface PlaybackParts extends PlaybackOptions {
  readonly ctx: Context
  readonly peerOf: PeerOf
}

/** Playlists and segments of a rendition. */
export const PLAYBACK_MEDIA = '/v2/distributions/:distributionId/hls/:engineId/:rendition/:file'

/** Where a file of a rendition is. Asked for with each segment, so it is only put together. */
export const segmentPathOf = (
  { folderOf }: PlaybackOptions,
  engineId: string,
  rendition: string,
  file: string,
): string => `${folderOf(engineId)}/${rendition}/${file}`

/** What the ticket of an init or media segment opens. */
export const pieceName = (engineId: string, rendition: string, file: string): string =>
  `${engineId}/${rendition}/${file}`

/** Whose bytes they are. */
export interface ServedPiece {
  readonly rules: PlaybackRules
  readonly grant: Grant
  readonly country: string | null
  /** How long it plays, where it is all of a segment. */
  readonly playsMs: number
}

/** @param isOut all of it was handed over */
export function countServed({ served }: PlaybackOptions, serving: ServedPiece, bytesOut: number, isOut: boolean): void {
  const { rules, grant, country, playsMs } = serving
  const { id: distributionId, channelId, accountId } = rules.distribution
  const of = { accountId, channelId, distributionId, country: country ?? '', trackingId: grant.trackingId ?? '' }
  served.add({ ...of, bytesOut, viewedMs: isOut ? playsMs : 0 })
}

/** What goes out on a connection from now on, at most `length` bytes of a body: of one that is broken off, what Node had taken. */
export function bytesFromNowOn(socket: Socket, length: number): () => number {
  const before = socket.bytesWritten
  return () => Math.min(Math.max(0, socket.bytesWritten - before), length)
}
