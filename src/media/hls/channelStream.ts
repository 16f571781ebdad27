import type { Clock } from '../../base/clock.ts'
import type { Rung } from '../../core/channels/runs/rungs.ts'
import { audioBandwidth, type Bandwidth, encodedBandwidth } from '../../core/hls/bandwidth.ts'
import { CHANNEL_SEGMENT_SECONDS, CHANNEL_SEGMENTS, COPY_SEGMENT_MAX_SECONDS } from '../../core/hls/channel.ts'
import type { AudioTrackFacts, PieceKey, RenditionFacts, SegmentStore, VariantFacts } from '../../core/hls/facts.ts'
import { usualFrameRate } from '../../core/hls/frameRates.ts'
import type { LadderSink } from '../encoder/encodedLadder.ts'
import type { Frame, FrameSink } from '../frame.ts'
import { AudioOnly } from './audioOnly.ts'
import { AudioTracks, type ListedAudio } from './audioTracks.ts'
import { FrameSampler } from './frameSampler.ts'
import { HlsPackager } from './packager.ts'
import type { HlsRendition, SegmentTotals } from './rendition.ts'
import { RunTimes } from './runTimes.ts'
import { type Arrival, HlsStream } from './stream.ts'
import type { StreamNumbers } from './streamNumbers.ts'

export interface ChannelStreamOptions {
  readonly engineId: string
  readonly clock: Clock
  readonly store: SegmentStore
  readonly numbers: StreamNumbers
  /** How many renditions the ladder has. */
  readonly renditions: number
  /** Whether one of them may be copied, so that segments follow the keyframes of the source. */
  readonly copies: boolean
  /** The audio tracks that viewers choose from. */
  readonly audio: readonly ListedAudio[]
}

/** What one process of the engine makes. */
export interface ChannelRun {
  readonly rungs: readonly Rung[]
  /** Bits per second; 0: there is none. */
  readonly audio: number
  /** The indexes of the audio tracks that it makes (`Frame.audioIndex`). Absent: that of a slate is in all of them. */
  readonly audioTracks?: readonly number[]
  /** The index of the rendition with the audio alone; null: there is none. */
  readonly audioOnly: number | null
  /** A segment of a rendition is complete. */
  readonly segment: (index: number, made: SegmentTotals) => void
  /** Players can begin with what this process made. Called once. */
  readonly playable: () => void
}

/** What shows while no process has media. */
export type SlateRun = Pick<ChannelRun, 'rungs' | 'audio' | 'audioTracks' | 'audioOnly'>

export interface ShownSlate {
  /** One for each rung. Their frames have the time of the wall clock. */
  readonly sinks: readonly FrameSink[]
  /** The time of the first frame, epoch milliseconds. */
  readonly startMs: number
  /** The slate has ended: the sinks must get no more. */
  readonly isOver: () => boolean
}

/** Of an engine whose first process has not begun: it may make any rendition. */
const NO_RUN: ChannelRun = { rungs: [], audio: 0, audioOnly: null, segment: () => undefined, playable: () => undefined }
/** Of an engine that has stopped: it makes none. */
const STOPPED: ChannelRun = { ...NO_RUN }

/** FRAME-RATE is the highest of a rendition. While a slate shows before the first broadcast, this one is likely. */
const EXPECTED_RATE = 30
/** A source that sent video so recently sends it still: an encoder without processor time may be later with it. */
const VIDEO_LATE_MS = 1000
/** A rendition of 20 Mbit/s for 50 seconds; a larger one keeps fewer segments. */
const MAX_BYTES = 128 * 1024 * 1024

/**
 * The live HLS of one engine. Each of its processes continues it after a discontinuity, with the renditions that it makes.
 * So does a slate, until a process has media.
 *
 * Process and slate come and go on their own:
 *
 * | | Begins with | Then | Ends with |
 * |---|---|---|---|
 * | process | `begin`: `silent` | the first `observe`: `sending` | `end`: `none` |
 * | slate | `beginSlate` | | `endSlate`, the first frame of a process, or another slate |
 *
 * The slate shows while there is one, otherwise the process, and after its end what it made. Each change of what shows is a
 * discontinuity. It plays (`isLive`, `showsSlate`) when each of its renditions has a segment. `stop` ends all for good.
 *
 * `transcoder/encoding.ts` begins and ends processes and observes frames, `slate/show.ts` begins and ends slates, and
 * `edge/http/channels` reads and waits. `ChannelStreams` opens and stops it.
 */
export class ChannelStream {
  /** The latest JPEG of the broadcast; null: there is none. */
  thumbnail: Uint8Array | null = null
  readonly #clock: Clock
  readonly #stream: HlsStream
  readonly #times: RunTimes
  readonly #copies: boolean
  readonly #audioTracks: AudioTracks
  readonly #samplers = new Map<number, FrameSampler>()
  readonly #packagers = new Map<number, HlsPackager>()
  #audioOnly: AudioOnly | null = null
  #run = NO_RUN
  #slate: SlateRun | null = null
  /** What is made now, or was made last. Its renditions need no new beginning. */
  #shown: SlateRun = NO_RUN
  /** Renditions of the present process, or of the slate, that have a segment of it. */
  readonly #begun = new Set<number>()
  /** Frames per second of the latest source with video: a slate says nothing about the sources after it. */
  readonly #frameRates = new Map<number, number>()
  #process: 'none' | 'silent' | 'sending' = 'none'
  /** When the source last sent video, monotonic. */
  #videoAtMs = Number.NEGATIVE_INFINITY
  /** When a process last had media, monotonic. */
  #silentSinceMs = Number.NEGATIVE_INFINITY

  constructor({ engineId, clock, store, numbers, renditions, copies, audio }: ChannelStreamOptions) {
    this.#clock = clock
    this.#copies = copies
    this.#audioTracks = new AudioTracks(engineId, audio, renditions)
    this.#times = new RunTimes(clock)
    const ofLadder = Array.from({ length: renditions }, (_, index) => String(index))
    const names = [...ofLadder, ...this.#audioTracks.renditions]
    const limits = { listed: CHANNEL_SEGMENTS, maxBytes: MAX_BYTES }
    this.#stream = new HlsStream({ ...limits, id: engineId, clock, store, numbers, renditions: names })
  }

  /** Called with each frame of the source, or of the process where Sluice does not see the source. */
  observe({ kind, timeUs }: Pick<Frame, 'kind' | 'timeUs'>): void {
    if (kind === 'video') this.#videoAtMs = this.#clock.monotonic()
    if (this.#process !== 'none') {
      this.#process = 'sending'
      this.endSlate()
    }
    if (this.#slate === null) this.#times.observe(timeUs / 1000)
  }

  /** A process begins. It gets what is returned; call `end` when it is gone. A slate stays until there is media. */
  begin(run: ChannelRun): LadderSink {
    this.#run = run
    this.#process = 'silent'
    if (this.#slate === null) this.#show(run)
    return {
      rungs: run.rungs.flatMap(({ index }) => this.#samplers.get(index) ?? []),
      discontinue: (before) => this.#discontinue(before === 'back'),
    }
  }

  /** The process is gone; viewers may still get what it made. */
  end(): void {
    if (this.#process === 'sending') this.#silentSinceMs = this.#clock.monotonic()
    this.#process = 'none'
    if (this.#slate === null) this.#discontinue(false)
  }

  /** How long no process had media, milliseconds. Null: one has. */
  get silentMs(): number | null {
    return this.#process === 'sending' ? null : this.#clock.monotonic() - this.#silentSinceMs
  }

  /**
   * A slate begins, this long ago or where the media before it ended. It ends with `endSlate`, or by itself when a process
   * has media.
   */
  beginSlate(slate: SlateRun, beforeMs: number): ShownSlate {
    const nowMs = this.#clock.now()
    this.endSlate()
    this.#slate = slate
    this.#show(slate)
    this.#times.observe(nowMs)
    return {
      sinks: slate.rungs.flatMap(({ index }) => this.#samplers.get(index) ?? []),
      startMs: Math.max(nowMs - beforeMs, this.#times.endMs),
      isOver: () => this.#slate !== slate,
    }
  }

  endSlate(): void {
    if (this.#slate === null) return
    this.#discontinue(false)
    this.#slate = null
    if (this.#process !== 'none') this.#show(this.#run)
  }

  /** A process is at work, and each rendition has a segment of it. */
  get isLive(): boolean {
    return this.#process !== 'none' && this.#slate === null && this.#hasBegun
  }

  /** Viewers see the slate, of which each rendition has a segment. */
  get showsSlate(): boolean {
    return this.#slate !== null && this.#hasBegun
  }

  get #hasBegun(): boolean {
    return this.#shown.rungs.length > 0 && this.#shown.rungs.every(({ index }) => this.#begun.has(index))
  }

  /** Whether each rendition lists this number of segments or more. */
  lists(segments: number): boolean {
    const made = this.#shown.rungs.map(({ index }) => this.#stream.rendition(String(index)))
    return made.length > 0 && made.every((rendition) => (rendition?.listed ?? 0) >= segments)
  }

  /** Waits until a process is at work, or the slate shows, and each rendition lists this number of segments, `ms` at most. */
  ready(segments: number, ms: number): Promise<boolean> {
    return this.#stream.until(() => (this.isLive || this.showsSlate) && this.lists(segments), ms)
  }

  /** A request waits for something. */
  get isAwaited(): boolean {
    return this.#stream.isAwaited
  }

  /**
   * The renditions that are made now, or were made last. Without video they have equal media, so it is only the one with the
   * lowest bitrate: that is the one to continue with when the source sends video again.
   */
  variants(): VariantFacts[] {
    const made = this.#shown.rungs.flatMap((rung) => this.#variantOf(rung) ?? [])
    const withVideo = made.filter(({ size }) => size !== null)
    if (withVideo.length > 0) return [...withVideo, ...this.#audioVariant()]
    const [smallest] = this.#shown.rungs.toSorted((a, b) => a.bitrate - b.bitrate)
    return made.filter(({ rendition }) => rendition === String(smallest?.index))
  }

  /** Those that players may choose beside the variants. */
  audioTracks(): AudioTrackFacts[] {
    return this.#audioTracks.facts(this.#shown)
  }

  #audioVariant(): VariantFacts[] {
    const { audioOnly, audio } = this.#shown
    const variant = audioOnly === null ? undefined : this.#stream.rendition(String(audioOnly))?.variant()
    return variant === undefined || variant.codecs === '' ? [] : [{ ...variant, ...ratesOf(audioBandwidth(audio)) }]
  }

  #variantOf({ index, bitrate, frameRate: chosen, copy }: Rung): VariantFacts | undefined {
    const rendition = this.#stream.rendition(String(index))
    const variant = rendition?.variant()
    if (rendition === undefined || variant === undefined || variant.codecs === '') return undefined
    const { audio } = this.#shown
    if (variant.size === null) return { ...variant, ...ratesOf(audioBandwidth(audio)), frameRate: null }
    const wanted = chosen && chosen.value / chosen.scale
    const counted = this.#frameRates.get(index)
    const frameRate = wanted ?? (counted === undefined ? EXPECTED_RATE : usualFrameRate(counted))
    const beside = this.#audioTracks.areSeparate ? audioBandwidth(audio) : NOTHING
    const measured = { peak: variant.bandwidth + beside.peak, average: variant.averageBandwidth + beside.average }
    const kept = encodedBandwidth(bitrate, audio, CHANNEL_SEGMENT_SECONDS)
    // An encoder may exceed its rate, as some hardware does, and the last segment of a run may be short.
    const peak = Math.max(kept.peak, rendition.measuredPeak + beside.peak)
    const rates = ratesOf(copy ? measured : { ...kept, peak })
    return this.#audioTracks.beside({ ...variant, ...rates, frameRate }, this.#shown)
  }

  /** Whether the ladder has this rendition. */
  has(rendition: string): boolean {
    return this.#stream.rendition(rendition) !== undefined
  }

  /** Whether the present process makes this rendition, or the latest one did. The first process may make any. */
  makes(rendition: string): boolean {
    if (this.#shown === NO_RUN) return this.has(rendition)
    const { rungs, audioOnly } = this.#shown
    if (rungs.length > 0 && this.#audioTracks.renditions.includes(rendition)) return true
    return [...rungs.map(({ index }) => index), audioOnly].some((index) => String(index) === rendition)
  }

  /** As for `HlsStream`. */
  begins(rendition: string, ms: number): Promise<boolean> {
    return this.#stream.until(() => this.facts(rendition) !== undefined, ms)
  }

  /** Undefined: there is no such rendition at the moment. */
  facts(rendition: string): RenditionFacts | undefined {
    return this.makes(rendition) ? this.#stream.facts(rendition) : undefined
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
    return this.#stream.playsMs(rendition, kind, n)
  }

  /** Ends all waits, and forgets all media. */
  stop(): void {
    this.#process = 'none'
    this.#run = STOPPED
    this.#shown = STOPPED
    this.#slate = null
    this.#stream.stop()
  }

  /** Other media comes now. */
  #show(shown: SlateRun): void {
    const first = this.#samplers.size === 0
    const added = shown.rungs.filter(({ index }) => this.#shown.rungs.every((rung) => rung.index !== index))
    const hadAudioOnly = this.#shown.audioOnly !== null
    this.#shown = shown
    this.#begun.clear()
    this.#times.restart()
    if (first) this.#audioTracks.open((name) => this.#renditionOf(Number(name), true))
    if (shown.audioOnly === null) this.#audioOnly = null
    else if (!hadAudioOnly) this.#audioOnly = this.#newAudioOnly(shown.audioOnly, first)
    for (const { index } of added) this.#add(index, first)
    // All rungs have the same segments, so the audio may follow any one.
    const alone = this.#audioOnly === null ? [] : [{ rendition: this.#audioOnly, audioIndex: 0 }]
    const followers = [...alone, ...this.#audioTracks.followers(shown)]
    for (const [index, packager] of this.#packagers)
      packager.followers = index === shown.rungs[0]?.index ? followers : []
  }

  /** A rendition that was left out for a while begins again, with the numbers of the others. */
  #renditionOf(index: number, isFirst: boolean): HlsRendition {
    const name = String(index)
    const own = this.#stream.rendition(name)
    if (own === undefined) throw new Error(`an engine has no rendition ${name}`)
    const { segment, discontinuity } = this.#latest()
    return isFirst ? own : this.#stream.renew(name, { segment, discontinuity, part: own.next.part })
  }

  #newAudioOnly(index: number, isFirst: boolean): AudioOnly {
    const segment = (made: SegmentTotals): void => (this.#slate === null ? this.#run.segment(index, made) : undefined)
    return new AudioOnly(this.#renditionOf(index, isFirst), segment)
  }

  #add(index: number, isFirst: boolean): void {
    this.#frameRates.delete(index)
    const rendition = this.#renditionOf(index, isFirst)
    const options = {
      segmentSeconds: CHANNEL_SEGMENT_SECONDS,
      parts: true,
      keyPerSegment: true,
      separatesAudio: this.#audioTracks.areSeparate,
      ...(this.#copies ? { maxSeconds: COPY_SEGMENT_MAX_SECONDS } : {}),
      segment: (made: SegmentTotals) => this.#closed(index, made),
    }
    const packager = new HlsPackager(rendition, options, () => this.#stream.changed())
    this.#packagers.set(index, packager)
    const sampler = new FrameSampler({
      packager,
      dateOf: (sourceMs) => this.#times.dateOf(sourceMs),
      hasGap: () => undefined,
      offsetOf: (decodeTimeUs) => this.#times.offsetOf(decodeTimeUs),
      nowMs: () => this.#clock.monotonic(),
      sendsVideo: () => this.#clock.monotonic() - this.#videoAtMs < VIDEO_LATE_MS,
    })
    this.#samplers.set(index, sampler)
  }

  #latest() {
    const all = [...this.#samplers.keys()].flatMap((index) => this.#stream.rendition(String(index))?.next ?? [])
    return all.toSorted((a, b) => b.segment - a.segment)[0] ?? { segment: 0, discontinuity: 0 }
  }

  #closed(index: number, made: SegmentTotals): void {
    if (this.#slate === null) this.#closedOfRun(index, made)
    if (this.#hasBegun || (this.#slate === null && this.#process === 'none')) return
    this.#begun.add(index)
    if (this.isLive) this.#run.playable()
  }

  #closedOfRun(index: number, made: SegmentTotals): void {
    this.#run.segment(index, made)
    const counted = this.#stream.rendition(String(index))?.variant().frameRate ?? null
    if (counted !== null) this.#frameRates.set(index, counted)
  }

  #discontinue(clockWentBack: boolean): void {
    const gapEnds = [...this.#samplers.values()].flatMap(({ gapEndUs }) => gapEndUs ?? [])
    const end = gapEnds.length === 0 ? {} : { gapEndUs: Math.max(...gapEnds) }
    for (const sampler of this.#samplers.values()) sampler.discontinue(end)
    const ends = [...this.#samplers].map(([index, { endUs }]) => ({
      us: endUs,
      dateMs: this.#stream.rendition(String(index))?.endMs ?? Number.NEGATIVE_INFINITY,
    }))
    this.#times.discontinue(ends, clockWentBack)
  }
}

const NOTHING: Bandwidth = { peak: 0, average: 0 }

const ratesOf = ({ peak, average }: Bandwidth): Pick<VariantFacts, 'bandwidth' | 'averageBandwidth'> => ({
  bandwidth: peak,
  averageBandwidth: average,
})
