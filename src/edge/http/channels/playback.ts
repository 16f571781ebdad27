import type { Socket } from 'node:net'
import type { Context } from '../../../commands/context.ts'
import type { Playbacks } from '../../../services/playbacks.ts'
import type { PlaybackTickets } from '../../../services/playbackTickets.ts'
import type { ServedBytesCounter } from '../../../services/servedBytes.ts'
import type { Grant, PlaybackRules } from '../../../core/channels/playback.ts'
import type { PieceKey } from '../../../core/hls/facts.ts'
import { numberOf } from '../../../core/hls/numbers.ts'
import type { ChannelStream } from '../../../media/hls/channelStream.ts'
import type { PeerOf } from '../peer.ts'
import type { ChannelPlaylists } from './channelPlaylists.ts'

export interface PlaybackOptions {
  readonly playbacks: Playbacks
  readonly served: ServedBytesCounter
  /** Signs segment URLs. */
  readonly tickets: PlaybackTickets
  /** The claim of a viewer token that holds its restrictions. */
  readonly claim: () => string
  /** The HLS of an engine; undefined: this node does not run it. */
  readonly streamOf: (engineId: string) => ChannelStream | undefined
  /** The latest JPEG of an engine; null: there is none. */
  readonly thumbnailOf: (engineId: string) => Promise<Buffer | null>
}

/** What the routes and the fast path need to serve viewers. */
export interface PlaybackParts extends PlaybackOptions {
  readonly ctx: Context
  readonly peerOf: PeerOf
  readonly playlists: ChannelPlaylists
}

/** Playlists and pieces of a rendition. */
export const PLAYBACK_MEDIA = '/v2/distributions/:distributionId/hls/:engineId/:rendition/:file'

/** The name that the ticket of an init segment, a segment or a part is valid for. */
export const pieceName = (engineId: string, rendition: string, file: string): string =>
  `${engineId}/${rendition}/${file}`

/** How long a piece plays, milliseconds. */
export const playsMsOf = (stream: ChannelStream, { rendition, kind, name }: Omit<PieceKey, 'stream'>): number =>
  kind === 'init' ? 0 : stream.playsMs(rendition, kind, numberOf(name))

/** Whom the served bytes are counted for. */
export interface ServedPiece {
  readonly rules: PlaybackRules
  readonly grant: Grant
  readonly country: string | null
  /** Playing time when the answer is a whole segment or part, else 0. */
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
