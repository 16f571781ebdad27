import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { repeat } from '../base/repeat.ts'
import type { SegmentMemory } from '../base/segmentMemory.ts'
import type { ActiveFeed } from './feedsOnAir.ts'
import type { Ffmpeg } from './ffmpeg/ffmpeg.ts'
import { Hls, type HlsOptions } from './hls/hls.ts'
import { RecordingFiles } from './recordings/recordingFiles.ts'
import { type RecordingBook, Recordings } from './recordings/recordings.ts'
import { Thumbnails } from './recordings/thumbnails.ts'

/** Read at each use, so they may change. */
export interface PackagerLimits {
  readonly maxStreams: number
  readonly idleMs: number
  /** Of feeds whose packaging begins later. */
  readonly listSegments: number
  readonly thumbnailsEveryMs: number
  /** Recording stops when the disk has less free space, bytes. */
  readonly minFreeBytes: number
}

export interface PackagerOptions extends Pick<HlsOptions, 'load' | 'encodingRoom' | 'mediaOf' | 'numbers' | 'share'> {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  readonly segmentSeconds: number
  readonly lowLatency: boolean
  readonly limits: PackagerLimits
  /** Where segments of HLS are kept. */
  readonly memory: SegmentMemory
  readonly recordings: {
    readonly dir: string
    readonly newId: () => string
    readonly book: RecordingBook
  }
  /** Takes a JPEG of a feed. */
  readonly capture: (feed: ActiveFeed, image: Uint8Array) => Promise<void>
}

/** Produces HLS, recordings and thumbnails from feeds. */
export interface Packager {
  readonly hls: Hls
  readonly recordings: Recordings
  readonly files: RecordingFiles
  /** A feed is on the air. Starts a recording and thumbnails if its token asks for them. */
  feedStarted(feed: ActiveFeed): void
  feedEnded(feedId: string): void
  /** Begins or ends the recording of a feed, whatever its token says. */
  record(feed: ActiveFeed, on: boolean): void
  /** Takes a thumbnail of a feed now. */
  takeThumbnail(feed: ActiveFeed): void
  /** Ends everything; finishes recordings as far as possible within `graceMs`. */
  stop(graceMs: number): Promise<void>
}

const SWEEP_MS = 1000
/** A stream of 20 Mbit/s for 25 seconds; a larger one keeps fewer segments. */
const MAX_BYTES_PER_STREAM = 64 * 1024 * 1024
const STOP_GRACE_MS = 3000

export function createPackager(options: PackagerOptions): Packager {
  const { segmentSeconds, lowLatency, ffmpeg, limits } = options
  const segments = () => ({
    targetSeconds: segmentSeconds,
    listed: limits.listSegments,
    maxBytes: MAX_BYTES_PER_STREAM,
    parts: lowLatency,
  })
  const hls = new Hls({ ...options, segments })
  const { clock, log } = options
  const sweeping = repeat({ clock, log, name: 'end idle HLS packaging', everyMs: SWEEP_MS }, () => hls.sweep())
  const files = new RecordingFiles(options.recordings.dir)
  const recordings = new Recordings({ ...options, ...options.recordings, files })
  const thumbnails = new Thumbnails(options)
  return {
    hls,
    recordings,
    files,
    record: (feed, on) => (on ? recordings.start(feed) : recordings.end(feed.feedId)),
    takeThumbnail: (feed) => thumbnails.now(feed),
    feedStarted(feed) {
      hls.follow(feed)
      if (feed.record) recordings.start(feed)
      if (feed.thumbnails) thumbnails.start(feed)
    },
    feedEnded(feedId) {
      recordings.end(feedId)
      thumbnails.end(feedId)
    },
    async stop(graceMs) {
      await Promise.all([sweeping.stop(), hls.stop(), thumbnails.stop(), recordings.stop(graceMs)])
      await ffmpeg.stop(STOP_GRACE_MS)
    },
  }
}
