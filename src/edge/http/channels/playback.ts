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
  /** Null: Node sends bodies itself. */
  readonly sendfile: Sendfile | null
  /** Signs segment URLs. */
  readonly tickets: PlaybackTickets
  /** The claim of a viewer token that holds its restrictions. */
  readonly claim: () => string
  /** The output folder of an engine on this node: `main.m3u8`, `thumbnail.jpeg`, and a folder for each rendition. */
  readonly folderOf: (engineId: string) => string
}

/** What the routes and the fast path need to serve viewers. */
export interface PlaybackParts extends PlaybackOptions {
  readonly ctx: Context
  readonly peerOf: PeerOf
}

/** Playlists and segments of a rendition. */
export const PLAYBACK_MEDIA = '/v2/distributions/:distributionId/hls/:engineId/:rendition/:file'

/** The path of a file of a rendition. Runs for every segment request, so it only joins the parts. */
export const segmentPathOf = (
  { folderOf }: PlaybackOptions,
  engineId: string,
  rendition: string,
  file: string,
): string => `${folderOf(engineId)}/${rendition}/${file}`

/** The name that the ticket of an init or media segment is valid for. */
export const pieceName = (engineId: string, rendition: string, file: string): string =>
  `${engineId}/${rendition}/${file}`

/** Whom the served bytes are counted for. */
export interface ServedPiece {
  readonly rules: PlaybackRules
  readonly grant: Grant
  readonly country: string | null
  /** Playing time when the answer is a whole segment, else 0. */
  readonly playsMs: number
}

/** @param isOut whether the whole body was handed over */
export function countServed({ served }: PlaybackOptions, serving: ServedPiece, bytesOut: number, isOut: boolean): void {
  const { rules, grant, country, playsMs } = serving
  const { id: distributionId, channelId, accountId } = rules.distribution
  const of = { accountId, channelId, distributionId, country: country ?? '', trackingId: grant.trackingId ?? '' }
  served.add({ ...of, bytesOut, viewedMs: isOut ? playsMs : 0 })
}

/**
 * Counts the bytes that Node sends on a connection from now on, at most `length`. For an aborted answer it counts what
 * Node had taken.
 */
export function bytesFromNowOn(socket: Socket, length: number): () => number {
  const before = socket.bytesWritten
  return () => Math.min(Math.max(0, socket.bytesWritten - before), length)
}
