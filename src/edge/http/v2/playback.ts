import type { KeyObject } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Context } from '../../../commands/context.ts'
import type { Playbacks, PlaybackTickets } from '../../../commands/v2/playback.ts'
import type { ServedBytes } from '../../../commands/v2/servedBytes.ts'
import type { Grant, PlaybackRules } from '../../../core/live/playback.ts'
import type { PeerOf } from '../peer.ts'
import type { SegmentCache } from './segmentCache.ts'
import type { SegmentTimes } from './segmentTimes.ts'

export interface PlaybackOptions {
  readonly playbacks: Playbacks
  readonly served: ServedBytes
  readonly segments: SegmentCache
  readonly times: SegmentTimes
  /** Signs the addresses of segments; the same on every node of an installation. */
  readonly key: KeyObject
  /** The claim of viewer tokens that their restrictions are in. */
  readonly claim: string
  /** Where an engine of this node writes: `main.m3u8`, `thumbnail.jpeg`, and a folder for each rendition. */
  readonly folderOf: (engineId: string) => string
}

/** What viewers are served with, by the routes and by the lane. */
export interface PlaybackParts extends PlaybackOptions {
  readonly ctx: Context
  readonly peerOf: PeerOf
  readonly tickets: PlaybackTickets
}

/** Playlists and segments of a rendition. */
export const PLAYBACK_MEDIA = '/v2/distributions/:distributionId/hls/:engineId/:rendition/:file'

/** Where a file of a rendition is. Asked for with each segment, so it is only put together. */
export const placeOf = ({ folderOf }: PlaybackOptions, engineId: string, rendition: string, file: string): string =>
  `${folderOf(engineId)}/${rendition}/${file}`

interface Serving {
  readonly rules: PlaybackRules
  readonly grant: Grant
  readonly country: string | null
  /** Bytes of the body. */
  readonly length: number
  /** How long what is sent plays, where it is all of a segment. */
  readonly playsMs: number
}

/** Counts what went out when the answer is over: of one that was broken off, the bytes that the connection had taken. */
export function countServed(
  { served }: Pick<PlaybackParts, 'served'>,
  { rules, grant, country, length, playsMs }: Serving,
  socket: Socket,
  response: ServerResponse,
): void {
  const { id: distributionId, channelId, accountId } = rules.distribution
  const before = socket.bytesWritten
  response.on('close', () => {
    const bytesOut = Math.min(Math.max(0, socket.bytesWritten - before), length)
    const of = { accountId, channelId, distributionId, country: country ?? '', trackingId: grant.trackingId ?? '' }
    served.add({ ...of, bytesOut, viewedMs: response.writableFinished ? playsMs : 0 })
  })
}
