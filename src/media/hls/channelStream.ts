import type { Clock } from '../../base/clock.ts'
import type { Rung } from '../../core/channels/runs/rungs.ts'
import { encodedBandwidth } from '../../core/hls/bandwidth.ts'
import { CHANNEL_SEGMENT_SECONDS, CHANNEL_SEGMENTS } from '../../core/hls/channel.ts'
import type { PieceKey, RenditionFacts, SegmentStore, VariantFacts } from '../../core/hls/facts.ts'
import { usualFrameRate } from '../../core/hls/frameRates.ts'
import type { LadderSink } from '../encoder/encodedLadder.ts'
import { FrameSampler } from './frameSampler.ts'
import { HlsPackager, type MadeSegment } from './packager.ts'
import { RunTimes } from './runTimes.ts'
import { type Arrival, HlsStream } from './stream.ts'

export interface ChannelStreamOptions {
  readonly engineId: string
  readonly clock: Clock
  readonly store: SegmentStore
  /** How many renditions the ladder has. */
  readonly renditions: number
}

/** What one process of the engine makes. */
export interface ChannelRun {
  readonly rungs: readonly Rung[]
  /** Bits per second; 0: there is none. */
  readonly audio: number
  /** A segment of a rendition is complete. */
  readonly segment: (index: number, made: MadeSegment) => void
  /** Players can begin with what this process made. Called once. */
  readonly playable: () => void
}

/** Of an engine whose first process has not begun. */
const NO_RUN: ChannelRun = { rungs: [], audio: 0, segment: () => undefined, playable: () => undefined }

/** A rendition of 20 Mbit/s for 50 seconds; a larger one keeps fewer segments. */
const MAX_BYTES = 128 * 1024 * 1024

/** The live HLS of one engine. Each of its processes continues it after a discontinuity, with the renditions that it makes. */
export class ChannelStream {
  readonly #stream: HlsStream
  readonly #times: RunTimes
  readonly #samplers = new Map<number, FrameSampler>()
  #run = NO_RUN
  /** Renditions of the present process that have a segment of it. */
  readonly #begun = new Set<number>()
  #isOn = false

  constructor({ engineId, clock, store, renditions }: ChannelStreamOptions) {
    this.#times = new RunTimes(clock)
    const names = Array.from({ length: renditions }, (_, index) => String(index))
    const limits = { listed: CHANNEL_SEGMENTS, maxBytes: MAX_BYTES }
    this.#stream = new HlsStream({ ...limits, id: engineId, clock, store, renditions: names })
  }

  /** Called with each frame of the source, or of the process where Sluice does not see the source. */
  observe(timeUs: number): void {
    this.#times.observe(timeUs / 1000)
  }

  /** A process begins. It gets what is returned; call `end` when it is gone. */
  begin(run: ChannelRun): LadderSink {
    const first = this.#samplers.size === 0
    const isNew = ({ index }: Rung): boolean => this.#run.rungs.every((rung) => rung.index !== index)
    const added = run.rungs.filter(isNew)
    this.#run = run
    this.#begun.clear()
    this.#isOn = true
    this.#times.restart()
    for (const { index } of added) this.#add(index, first)
    return {
      rungs: run.rungs.flatMap(({ index }) => this.#samplers.get(index) ?? []),
      discontinue: (before) => this.#discontinue(before === 'back'),
    }
  }

  /** The process is gone; viewers may still get what it made. */
  end(): void {
    this.#isOn = false
    this.#discontinue(false)
  }

  /** A process is at work, and each rendition has a segment of it. */
  get isLive(): boolean {
    return this.#isOn && this.#run.rungs.length > 0 && this.#run.rungs.every(({ index }) => this.#begun.has(index))
  }

  /** Whether each rendition lists this number of segments or more. */
  lists(segments: number): boolean {
    const made = this.#run.rungs.map(({ index }) => this.#stream.rendition(String(index)))
    return made.length > 0 && made.every((rendition) => (rendition?.listed ?? 0) >= segments)
  }

  /** Waits until a process is at work and each rendition lists this number of segments, `ms` at most. */
  ready(segments: number, ms: number): Promise<boolean> {
    return this.#stream.until(() => this.isLive && this.lists(segments), ms)
  }

  /** A request waits for something. */
  get isAwaited(): boolean {
    return this.#stream.isAwaited
  }

  /** The renditions that are made now, or were made last. */
  variants(): VariantFacts[] {
    return this.#run.rungs.flatMap(({ index, bitrate, frameRate }) => {
      const variant = this.#stream.rendition(String(index))?.variant()
      if (variant === undefined || variant.size === null) return []
      const { peak, average } = encodedBandwidth(bitrate, this.#run.audio, CHANNEL_SEGMENT_SECONDS)
      const wanted = frameRate && frameRate.value / frameRate.scale
      const rate = wanted ?? (variant.frameRate === null ? null : usualFrameRate(variant.frameRate))
      return [{ ...variant, bandwidth: peak, averageBandwidth: average, frameRate: rate }]
    })
  }

  /** Undefined: there is no such rendition at the moment. */
  facts(rendition: string): RenditionFacts | undefined {
    const isMade = this.#run.rungs.some(({ index }) => String(index) === rendition)
    return isMade ? this.#stream.facts(rendition) : undefined
  }

  /** As for `HlsStream`. */
  reached(rendition: string, n: number, part: number | null, ms: number): Promise<Arrival> {
    return this.#stream.reached(rendition, n, part, ms)
  }

  reachedPart(rendition: string, n: number, ms: number): Promise<Arrival> {
    return this.#stream.reachedPart(rendition, n, ms)
  }

  piece(key: Omit<PieceKey, 'stream'>): Buffer | undefined {
    return this.#stream.piece(key)
  }

  /** How long a piece plays, milliseconds. */
  playsMs(rendition: string, kind: PieceKey['kind'], n: number): number {
    return this.#stream.rendition(rendition)?.playsMs(kind, n) ?? 0
  }

  /** Ends all waits, and forgets all media. */
  stop(): void {
    this.#isOn = false
    this.#run = NO_RUN
    this.#stream.stop()
  }

  /** A rendition that was left out for a while begins again, with the numbers of the others. */
  #add(index: number, isFirst: boolean): void {
    const name = String(index)
    const own = this.#stream.rendition(name)
    if (own === undefined) throw new Error(`an engine has no rendition ${name}`)
    const { segment, discontinuity } = this.#latest()
    const rendition = isFirst ? own : this.#stream.renew(name, { segment, discontinuity, part: own.next.part })
    const options = {
      segmentSeconds: CHANNEL_SEGMENT_SECONDS,
      parts: true,
      keyPerSegment: true,
      segment: (made: MadeSegment) => this.#closed(index, made),
    }
    const sampler = new FrameSampler({
      packager: new HlsPackager(rendition, options, () => this.#stream.changed()),
      dateOf: (sourceMs) => this.#times.dateOf(sourceMs),
      hasGap: () => undefined,
      offsetOf: (decodeTimeUs) => this.#times.offsetOf(decodeTimeUs),
    })
    this.#samplers.set(index, sampler)
  }

  #latest() {
    const all = [...this.#samplers.keys()].flatMap((index) => this.#stream.rendition(String(index))?.next ?? [])
    return all.toSorted((a, b) => b.segment - a.segment)[0] ?? { segment: 0, discontinuity: 0 }
  }

  #closed(index: number, made: MadeSegment): void {
    this.#run.segment(index, made)
    if (!this.#isOn || this.isLive) return
    this.#begun.add(index)
    if (this.isLive) this.#run.playable()
  }

  #discontinue(clockWentBack: boolean): void {
    for (const sampler of this.#samplers.values()) sampler.discontinue()
    const ends = [...this.#samplers].map(([index, { endUs }]) => ({
      us: endUs,
      dateMs: this.#stream.rendition(String(index))?.endMs ?? Number.NEGATIVE_INFINITY,
    }))
    this.#times.discontinue(ends, clockWentBack)
  }
}
