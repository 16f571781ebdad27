import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { eachWalled } from '../base/walls.ts'
import { withUserData } from './codecs/h264.ts'
import type { Frame, FrameSink, FrameSource, TrackInfo } from './frame.ts'
import { areSameTracks, isOfMain, mainLayerOf, withoutLayer, withoutLayers } from './layers.ts'

export interface HubLimits {
  /** The most frames since the last keyframe to cache for late subscribers. */
  readonly maxFrames: number
  /** The most bytes of them. A larger group of pictures is not cached: a late subscriber waits for the next keyframe. */
  readonly maxBytes: number
}

/** Ten seconds of 60 video frames and 50 audio packets each (1100), rounded up; 16 Mbit/s for ten seconds. */
const LIMITS: HubLimits = { maxFrames: 1200, maxBytes: 20_000_000 }

export interface HubOptions {
  /** Gets faults of ours in subscribers. Absent: such a fault ends the process, as each that is not handled. */
  readonly log?: Pick<Logger, 'error'>
  readonly limits?: HubLimits
}

interface Subscriber {
  readonly sink: FrameSink
  /** True until the next keyframe: the subscriber gets tracks, but no frames. */
  isWaiting: boolean
}

/**
 * Distributes one feed's media to any number of subscribers. Late ones begin at the last keyframe of the main layer; those that
 * take the other layers get them as they come.
 */
export class Hub implements FrameSink, FrameSource {
  readonly #options: HubOptions
  readonly #subscribers = new Set<Subscriber>()
  #tracks: readonly TrackInfo[] | null = null
  /** Of them, what subscribers get that take one layer. */
  #main: readonly TrackInfo[] = []
  #mainLayer: string | undefined
  #hasVideo = false
  /** Frames of the main layer and the audio since the last keyframe; empty before the first, and when they exceed the limits. */
  #group: Frame[] = []
  #groupBytes = 0
  #ended = false

  constructor(options: HubOptions = {}) {
    this.#options = options
  }

  tracks(tracks: readonly TrackInfo[]): void {
    if (this.#ended || (this.#tracks !== null && areSameTracks(this.#tracks, tracks))) return
    const main = withoutLayers(tracks)
    const isMainNew = this.#tracks === null || !areSameTracks(this.#main, main)
    this.#tracks = tracks
    this.#main = main
    this.#mainLayer = mainLayerOf(tracks)
    this.#hasVideo = tracks.some(({ kind }) => kind === 'video')
    if (isMainNew) this.#forgetGroup()
    for (const subscriber of this.#snapshot()) {
      if (isMainNew) subscriber.isWaiting = this.#hasVideo
      const isToldNew = isMainNew || subscriber.sink.takesLayers === true
      if (isToldNew) this.#tell(subscriber, (sink) => sink.tracks(this.#tracksFor(sink)))
    }
  }

  frame(frame: Frame): void {
    if (this.#ended || this.#tracks === null) return
    const isMain = isOfMain(frame, this.#mainLayer)
    const begins = isMain && frame.key && (frame.kind === 'video' || !this.#hasVideo)
    if (this.#hasVideo && isMain) this.#cache(frame, begins)
    const alone = isMain ? withoutLayer(frame) : null
    for (const subscriber of this.#snapshot()) {
      if (begins) subscriber.isWaiting = false
      const due = subscriber.sink.takesLayers === true ? frame : alone
      if (!subscriber.isWaiting && due !== null) this.#tell(subscriber, (sink) => sink.frame(due))
    }
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#forgetGroup()
    const subscribers = this.#snapshot()
    this.#subscribers.clear()
    eachWalled(subscribers, ({ sink }) => sink.end(), this.#failed)
  }

  subscribe(sink: FrameSink): () => void {
    if (this.#ended) {
      sink.end()
      return () => undefined
    }
    const subscriber: Subscriber = { sink, isWaiting: this.#hasVideo && this.#group.length === 0 }
    const group = [...this.#group]
    this.#subscribers.add(subscriber)
    if (this.#tracks !== null) sink.tracks(this.#tracksFor(sink))
    for (const frame of sink.takesLayers === true ? group : group.map(withoutLayer))
      if (this.#subscribers.has(subscriber)) sink.frame(frame)
    return () => this.#subscribers.delete(subscriber)
  }

  /** A fault of ours in one subscriber ends it alone: the others and the publisher go on. */
  #tell(subscriber: Subscriber, tell: (sink: FrameSink) => void): void {
    if (!this.#subscribers.has(subscriber)) return
    try {
      tell(subscriber.sink)
    } catch (error) {
      this.#subscribers.delete(subscriber)
      this.#failed(error)
      eachWalled([subscriber], ({ sink }) => sink.end(), this.#failed)
    }
  }

  readonly #failed = (error: unknown): void => {
    const { log } = this.#options
    if (log !== undefined)
      return log.error({ err: error }, 'what gets the media of a feed has failed, and gets no more of it')
    queueMicrotask(() => {
      throw error
    })
  }

  #tracksFor({ takesLayers }: FrameSink): readonly TrackInfo[] {
    return takesLayers === true ? (this.#tracks ?? []) : this.#main
  }

  /** A copy: a sink that subscribes meanwhile gets the cached group, and must not get its last frame twice. */
  #snapshot(): Subscriber[] {
    return [...this.#subscribers]
  }

  #cache(frame: Frame, begins: boolean): void {
    if (begins) this.#forgetGroup()
    else if (this.#group.length === 0) return
    this.#group.push(frame)
    this.#groupBytes += frame.data.length
    const { maxFrames, maxBytes } = this.#options.limits ?? LIMITS
    if (this.#group.length > maxFrames || this.#groupBytes > maxBytes) this.#forgetGroup()
  }

  #forgetGroup(): void {
    this.#group = []
    this.#groupBytes = 0
  }
}

/** The name of the time in pictures that players of other services know: milliseconds since 1970 in 8 bytes. */
const TIME_UUID = Buffer.from('9a21f3be31f04b78b0bec7f7dbb97250', 'hex')

/** Writes into pictures of H.264 when they came, unless their publisher has written its own time there. */
export class TimedHub extends Hub {
  readonly #which: 'all' | 'keyframes'
  readonly #clock: Pick<Clock, 'now'>
  #isH264 = false

  constructor(which: 'all' | 'keyframes', clock: Pick<Clock, 'now'>, options: HubOptions = {}) {
    super(options)
    this.#which = which
    this.#clock = clock
  }

  override tracks(tracks: readonly TrackInfo[]): void {
    this.#isH264 = tracks.some(({ codec }) => codec === 'h264')
    super.tracks(tracks)
  }

  override frame(frame: Frame): void {
    const isTimed = this.#isH264 && frame.kind === 'video' && (frame.key || this.#which === 'all')
    super.frame(isTimed ? { ...frame, data: this.#timed(frame.data) } : frame)
  }

  #timed({ buffer, byteOffset, length }: Uint8Array): Buffer {
    const time = Buffer.alloc(8)
    time.writeBigUInt64BE(BigInt(Math.floor(this.#clock.now())))
    return withUserData(Buffer.from(buffer, byteOffset, length), TIME_UUID, time)
  }
}
