import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { repeat, type Repetition } from '../../base/repeat.ts'
import { Turns } from '../../base/turns.ts'
import type { ActiveFeed } from '../feedsOnAir.ts'
import { type Frame, type FrameSource, isDescribed, type TrackInfo } from '../frame.ts'
import { MATROSKA_INPUT, scaledInto, words } from '../ffmpeg/arguments.ts'
import { exitWithin } from '../ffmpeg/exits.ts'
import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts'
import { MatroskaWriter } from '../ffmpeg/matroska.ts'

export interface ThumbnailOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  readonly limits: { readonly thumbnailsEveryMs: number }
  /** Takes a JPEG of the feed. */
  readonly capture: (feed: ActiveFeed, image: Uint8Array) => Promise<void>
}

/** How long to wait for a keyframe; without one there is no thumbnail this time. */
const KEYFRAME_MAX_MS = 5000
const DECODE_MAX_MS = 5000
const MAX_BYTES = 512 * 1024
const LOOK_MS = 250
/** Of one account. Each may have megabytes. */
const TAKEN_AT_ONCE = 8
const DECODING = { atOnce: 1, waitingMax: 8 * TAKEN_AT_ONCE, waitingOfOriginMax: TAKEN_AT_ONCE }
/** When there was no room for one. */
const LATER_MS = 1000
/** The first frame as a JPEG 320 pixels wide; one that is more than twice as high as wide is 640 pixels high. */
export const TO_JPEG = words(
  `-an -frames:v 1 -vf ${scaledInto(320, 640)},setsar=1 -c:v mjpeg -q:v 5 -pix_fmt yuvj420p -f mjpeg`,
)

/** A feed that gets a thumbnail at `atMs`, monotonic; once, or then at each interval. */
interface Due {
  readonly feed: ActiveFeed
  readonly isOnce: boolean
  atMs: number
}

/**
 * Takes thumbnails of feeds at an interval and on demand. Several wait for their keyframes at a time, so that a feed without one delays
 * no other. They are decoded one after the other, so that they cost little even with many feeds, and accounts take turns.
 */
export class Thumbnails {
  readonly #options: ThumbnailOptions
  readonly #due = new Map<string, Due>()
  readonly #looking: Repetition
  readonly #taking = new Map<Due, Promise<void>>()
  readonly #decoding = new Turns(DECODING)

  constructor(options: ThumbnailOptions) {
    this.#options = options
    const { clock, log } = options
    this.#looking = repeat({ clock, log, name: 'take thumbnails', everyMs: LOOK_MS }, async (signal) =>
      this.#takeDue(signal),
    )
  }

  start(feed: ActiveFeed): void {
    this.#due.set(feed.feedId, { feed, isOnce: false, atMs: this.#options.clock.monotonic() })
  }

  /** Takes one as soon as it can, whether or not the feed has others. */
  now(feed: ActiveFeed): void {
    const atMs = this.#options.clock.monotonic()
    const due = this.#due.get(feed.feedId)
    if (due) due.atMs = atMs
    else this.#due.set(feed.feedId, { feed, isOnce: true, atMs })
  }

  end(feedId: string): void {
    this.#due.delete(feedId)
  }

  async stop(): Promise<void> {
    this.#due.clear()
    await this.#looking.stop()
    await Promise.all(this.#taking.values())
  }

  #takeDue(signal: AbortSignal): void {
    const nowMs = this.#options.clock.monotonic()
    const isDue = (one: Due): boolean => one.atMs <= nowMs && !this.#taking.has(one)
    for (const due of [...this.#due.values()].filter(isDue).toSorted((a, b) => a.atMs - b.atMs)) {
      const ofAccount = [...this.#taking.keys()].filter(({ feed }) => feed.accountId === due.feed.accountId)
      if (ofAccount.length >= TAKEN_AT_ONCE) continue
      const taken = this.#takeOne(due, nowMs, signal).finally(() => this.#taking.delete(due))
      this.#taking.set(due, taken)
    }
  }

  async #takeOne(due: Due, nowMs: number, signal: AbortSignal): Promise<void> {
    const { limits, log } = this.#options
    const nextMs = nowMs + limits.thumbnailsEveryMs
    due.atMs = nextMs
    const isDone = await this.#take(due.feed, signal).catch((error: unknown) => {
      log.warn({ feedId: due.feed.feedId, err: error }, 'a thumbnail could not be taken')
      return true
    })
    // Unless another one was asked for meanwhile.
    if (due.atMs !== nextMs) return
    if (!isDone) due.atMs = Math.min(nextMs, nowMs + LATER_MS)
    else if (due.isOnce) this.#due.delete(due.feed.feedId)
  }

  /** False: there is no room for it now. */
  async #take(feed: ActiveFeed, signal: AbortSignal): Promise<boolean> {
    const found = await this.#keyframe(feed.media, signal)
    if (found === null) return true
    const image = await this.#decoding.run({ key: feed.accountId, isFirst: false }, async () =>
      signal.aborted ? null : this.#decode(found),
    )
    if (image === null) return false
    if (image.length > 0 && this.#due.has(feed.feedId)) await this.#options.capture(feed, image)
    return true
  }

  /** The next keyframe of a source as Matroska, usually its cached one. Null: none came in time. */
  async #keyframe(source: FrameSource, signal: AbortSignal): Promise<Uint8Array | null> {
    const over = new AbortController()
    const stopped = AbortSignal.any([over.signal, signal])
    let unsubscribe: () => void = () => undefined
    const found = await new Promise<Uint8Array | null>((resolve) => {
      unsubscribe = source.subscribe(keyframeSink(resolve))
      this.#options.clock.sleep(KEYFRAME_MAX_MS, stopped).then(
        () => resolve(null),
        () => resolve(null),
      )
    })
    over.abort()
    unsubscribe()
    return found
  }

  async #decode(matroska: Uint8Array): Promise<Uint8Array> {
    const { ffmpeg, clock } = this.#options
    const chunks: Buffer[] = []
    const stdout = (chunk: Buffer) => void chunks.push(chunk)
    const args = [...MATROSKA_INPUT, ...TO_JPEG, 'pipe:1']
    const started = ffmpeg.run({ name: 'thumbnail', args, stdin: true, stdout, background: true })
    if (!started.ok) throw new Error(started.error.message)
    started.value.write(matroska)
    started.value.end()
    const { code, tail } = await exitWithin(started.value, clock, DECODE_MAX_MS)
    const image = Buffer.concat(chunks)
    if (code !== 0 || image.length === 0 || image.length > MAX_BYTES) throw new Error(`no thumbnail (${code}): ${tail}`)
    return image
  }
}

/** Calls `found` with the first video keyframe and its Matroska header, or null when there will be none. */
function keyframeSink(found: (matroska: Uint8Array | null) => void) {
  let video: readonly TrackInfo[] = []
  return {
    tracks: (tracks: readonly TrackInfo[]) => {
      video = tracks.filter((track) => track.kind === 'video')
      if (video.length === 0) found(null)
    },
    frame: (frame: Frame) => {
      const [track] = video
      if (frame.kind !== 'video' || !frame.key || !track) return
      if (!isDescribed(track)) return
      const writer = new MatroskaWriter([track])
      found(Buffer.concat([writer.head(), writer.frame(frame)]))
    },
    end: () => found(null),
  }
}
