import type { Clock } from '../../../base/clock.ts'
import type { Logger } from '../../../base/log.ts'
import type { EngineLoad, LoadControl, LoadVerdict } from '../../../core/channels/runs/load.ts'
import type { Rung } from '../../../core/channels/runs/rungs.ts'
import type { AbrLadder } from '../../../core/channels/types.ts'
import { encodedBandwidth } from '../../../core/hls/bandwidth.ts'
import { type FeedRendition, feedRungs } from '../../../core/hls/feedRungs.ts'
import type { FirstNumbers } from '../../../core/hls/numbers.ts'
import type { Ffmpeg } from '../../ffmpeg/ffmpeg.ts'
import type { AudioTrack, Frame, VideoTrack } from '../../frame.ts'
import type { SampledRun } from '../frameSampler.ts'
import type { CutOptions } from '../packager.ts'
import type { HlsRendition } from '../rendition.ts'
import type { HlsStream } from '../stream.ts'
import { LadderRun } from './ladderRun.ts'
import { LayerCopies } from './layerCopies.ts'
import { RungTrack, type RungTrackOptions } from './rungTrack.ts'
import { SourceTimeline } from './sourceTimeline.ts'

type Video = Pick<AbrLadder, 'video'>

/** What the machine can encode. */
export interface LadderLoad extends EngineLoad {
  /** Why these are probably too much beside all others; null: they are not. */
  warningFor(engines: readonly { readonly engineId: string; readonly ladder: Video }[]): string | null
}

export interface FeedLadderOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  /** For the log. */
  readonly name: string
  readonly stream: HlsStream
  /** The rendition of what the publisher sends. */
  readonly source: HlsRendition
  readonly cuts: Pick<CutOptions, 'segmentSeconds' | 'parts'>
  readonly load: LadderLoad
}

/** One run of the source. */
interface SourceRun {
  readonly video: VideoTrack
  readonly audio: AudioTrack | null
  readonly offsetUs: number
  readonly timeline: SourceTimeline
  /** Nothing has encoded it yet. */
  isNew: boolean
  /** Which of its layers are renditions has been decided. */
  isCopied: boolean
}

/** A run at work, or one whose rest is being encoded. */
interface Encoding {
  readonly source: SourceRun
  readonly run: LadderRun
}

/** After the machine was too slow, or refused, the source is alone for this long; twice as long each time. */
const REST_MS = 60_000
const REST_MAX_MS = 1_920_000
/** Runs that end at the same time; more only happen when a publisher comes and goes within seconds. */
const RUNS_MAX = 3
/** Room for the audio in BANDWIDTH, bits per second. What is measured counts where it is more. */
const AUDIO_BITS = 160_000

/**
 * The renditions of a feed beside that of its source: layers of the publisher where it sends their size in H.264, and else encoded.
 * They have the segments of the source's rendition: the same numbers, dates and ends. It never waits for them.
 */
export class FeedLadder {
  readonly #options: FeedLadderOptions
  #wanted: readonly FeedRendition[] = []
  #source: SourceRun | null = null
  /** What the publisher sends beside the source. */
  #layers: readonly VideoTrack[] = []
  /** Of the present run of the source. */
  #copies = new LayerCopies()
  /** The latest one is of the present run of the source; those before it come to their end first. */
  #encodings: readonly Encoding[] = []
  #load: { readonly key: string; readonly control: LoadControl } | null = null
  #restUntilMs = Number.NEGATIVE_INFINITY
  #restMs = REST_MS
  #isOver = false
  /** The next part of each rendition that there has been, so that no name means two parts. */
  readonly #parts = new Map<string, number>()

  constructor(options: FeedLadderOptions) {
    this.#options = options
  }

  /** Chooses the renditions; from the next run of the source on. */
  choose(wanted: readonly FeedRendition[]): void {
    this.#wanted = wanted
  }

  /** The other layers of the publisher; from the next run of the source on. */
  layers(layers: readonly VideoTrack[]): void {
    this.#layers = layers
    this.#copies.tracks(layers)
  }

  /** A frame of them. */
  layerFrame(frame: Frame): void {
    this.#copies.layer(frame)
  }

  /** A run of the source begins with the next frame. */
  begin({ tracks, startUs, offsetUs }: SampledRun): void {
    const video = tracks.find((track) => track.kind === 'video')
    const audio = tracks.find((track) => track.kind === 'audio') ?? null
    this.#source = video
      ? { video, audio, offsetUs, timeline: new SourceTimeline(startUs), isNew: true, isCopied: false }
      : null
  }

  /** The present run of the source is over. */
  endRun(): void {
    const ending = this.#current
    this.#source?.timeline.end()
    this.#copies.end()
    this.#source = null
    if (ending === undefined) return
    this.#restMs = REST_MS
    void ending.run.end().then(() => this.#ended(ending))
  }

  /** A segment of the source's rendition begins, or is complete. */
  opened({ n, startMs }: { readonly n: number; readonly startMs: number }): void {
    this.#source?.timeline.opened(n, startMs)
    this.#drain()
  }

  closed(seconds: number): void {
    this.#source?.timeline.closed(seconds)
    this.#drain()
  }

  #drain(): void {
    this.#encodings[0]?.run.drain()
    this.#copies.drain()
  }

  /** A frame of the source, after its rendition got it. */
  frame(frame: Frame): void {
    const source = this.#source
    if (source === null || this.#wanted.length === 0) return
    const isKey = frame.kind === 'video' && frame.key
    if (frame.kind === 'video') source.timeline.frame(frame)
    if (isKey && !source.isCopied) this.#copy(source, frame.decodeTimeUs)
    if (isKey && this.#current === undefined) this.#start(source)
    this.#current?.run.frame(frame)
    this.#copies.source(frame)
  }

  /** Looks after the processes. Call it about every second. */
  check(): void {
    this.#current?.run.check()
  }

  /** The source is over. */
  end(): void {
    this.endRun()
    this.#isOver = true
    this.#endWhenDone()
  }

  async stop(): Promise<void> {
    this.#source = null
    const encodings = this.#encodings
    this.#encodings = []
    this.#copies = new LayerCopies()
    this.#release()
    await Promise.all(encodings.map(({ run }) => run.abandon()))
  }

  /** What encodes the present run of the source. */
  get #current(): Encoding | undefined {
    const last = this.#encodings.at(-1)
    return last !== undefined && last.source === this.#source ? last : undefined
  }

  #copy(source: SourceRun, atUs: number): void {
    source.isCopied = true
    if (this.#layers.length === 0) return
    for (const rung of this.#rungsOf(source)) {
      const layer = this.#layers.find((one) => one.codec === 'h264' && linesOf(one) === linesOf(rung))
      if (layer === undefined) continue
      const track = this.#trackOf(source, rung, { isCopied: true, broken: () => this.#giveUp(rung.id) })
      this.#copies.add(layer, { id: rung.id, track, bitrate: rung.bitrate }, atUs)
      this.#announce(rung)
    }
    this.#activate()
  }

  /** A layer cannot be the rendition: it is encoded from the next keyframe on. */
  #giveUp(id: string): void {
    const { log, name } = this.#options
    const problem = `the layer of rendition ${id} stops, has other keyframes than the largest, or too many bits`
    log.warn({ name, problem }, 'a layer of a stream is encoded')
    this.#copies.giveUp(id)
    if (this.#current !== undefined) this.#abandon(this.#current)
  }

  /** The earliest run writes to the renditions. */
  #activate(): void {
    this.#encodings[0]?.run.activate()
    if (this.#encodings.every(({ source }) => source === this.#source)) this.#copies.activate()
  }

  #start(source: SourceRun): void {
    const { clock, log, name, ffmpeg } = this.#options
    const isResting = clock.monotonic() < this.#restUntilMs
    const rungs = isResting ? [] : this.#rungsOf(source).filter(({ id }) => !this.#copies.has(id))
    const load = rungs.length === 0 ? null : this.#control(rungs)
    if (load === null) return
    // Half of the frames would not be those of the source.
    if (load.rungs.some(({ frameRate }) => frameRate !== null)) return this.#rest('the machine is too slow')
    for (const { id } of rungs) if (load.rungs.every((rung) => rung.id !== id)) this.#remove(id)
    const encoding: Encoding = {
      source,
      run: new LadderRun({
        ffmpeg,
        clock,
        log,
        name,
        load,
        video: source.video,
        rungs: load.rungs.map((rung) => ({
          rung,
          track: this.#trackOf(source, rung, {
            counted: (framesPerSecond) => load.counted(rung.index, framesPerSecond),
            broken: () => this.#abandon(encoding),
          }),
        })),
        changed: (verdict) => this.#changed(encoding, verdict),
        lost: (why) => this.#lost(encoding, why),
      }),
    }
    for (const rung of load.rungs) this.#announce(rung)
    source.isNew = false
    this.#encodings = [...this.#encodings, encoding]
    if (this.#encodings.length === 1) encoding.run.activate()
    const [first] = this.#encodings
    if (first && this.#encodings.length > RUNS_MAX) this.#abandon(first)
  }

  /** Those that fit the source. */
  #rungsOf({ video: { width, height } }: SourceRun): Rung[] {
    const isKnown = (name: string): boolean => this.#options.stream.rendition(name) !== undefined
    const found = feedRungs(this.#wanted, { width, height }, isKnown)
    for (const name of this.#parts.keys()) if (found.every((rung) => rung.name !== name)) this.#remove(name)
    return found.map(({ name: id, height: lines, bitrate, size }, index) => {
      return { index, id, label: `${lines}p`, ...size, bitrate, frameRate: null }
    })
  }

  /** Null: the machine has no room. */
  #control(video: readonly Rung[]): LoadControl | null {
    const { stream, load } = this.#options
    const key = JSON.stringify(video)
    if (this.#load?.key === key) return this.#load.control
    this.#release()
    const job = { engineId: `feed-${stream.id}`, ladder: { video, audioKbps: null, audioOnly: false } }
    const refused = load.warningFor([job])
    if (refused !== null) {
      this.#rest(refused)
      return null
    }
    this.#load = { key, control: load.control(job) }
    return this.#load.control
  }

  #release(): void {
    this.#load?.control.ended()
    this.#load = null
  }

  #trackOf(
    { isNew, timeline, offsetUs, audio }: SourceRun,
    rung: Rung,
    own: Pick<RungTrackOptions, 'broken'> & Partial<Pick<RungTrackOptions, 'counted' | 'isCopied'>>,
  ): RungTrack {
    const { cuts, stream } = this.#options
    return new RungTrack({
      timeline,
      offsetUs,
      audio,
      cuts,
      renditionFrom: (n) => (isNew ? this.#renditionFrom(rung, n) : this.#renew(rung, n)),
      counted: () => undefined,
      changed: () => stream.changed(),
      isCopied: false,
      ...own,
    })
  }

  /** A new viewer waits for its first segment. */
  #announce(rung: Rung): void {
    if (this.#options.stream.rendition(rung.id) === undefined) this.#renew(rung, this.#options.source.current)
  }

  #renditionFrom(rung: Rung, n: number): HlsRendition {
    const own = this.#options.stream.rendition(rung.id)
    const continues = own !== undefined && own.listed > 0 && own.next.segment === n
    return continues ? own : this.#renew(rung, n)
  }

  /** Begins a rendition with this segment of the source, and with its targets. */
  #renew(rung: Rung, n: number): HlsRendition {
    const { stream, source, cuts } = this.#options
    const mayReach = encodedBandwidth(rung.bitrate, AUDIO_BITS, cuts.segmentSeconds).peak
    this.#remember(rung.id)
    const rendition = stream.renew(rung.id, this.#numbersAt(rung.id, n), { mayReach })
    if (source.targets !== null) rendition.choose(source.targets)
    return rendition
  }

  #numbersAt(name: string, segment: number): FirstNumbers {
    const { source } = this.#options
    const { segments = [], discontinuitySequence = source.next.discontinuity } = source.facts() ?? {}
    const before = segments.filter(({ n, discontinuity }) => discontinuity && n <= segment).length
    const part = Math.max(this.#parts.get(name) ?? 0, source.nextPart)
    return { segment, part, discontinuity: discontinuitySequence + before }
  }

  #remember(name: string): void {
    const own = this.#options.stream.rendition(name)
    this.#parts.set(name, own?.nextPart ?? this.#parts.get(name) ?? 0)
  }

  #remove(name: string): void {
    this.#remember(name)
    this.#options.stream.remove(name)
  }

  #changed(encoding: Encoding, { log: entry, restart }: LoadVerdict): void {
    const { log, name } = this.#options
    if (!this.#encodings.includes(encoding)) return
    if (entry !== null) log[entry.level]({ name, problem: entry.message }, 'the renditions of a stream')
    if (restart) this.#abandon(encoding)
  }

  /** Nothing more is made of it. The next keyframe that begins a segment may begin another one. */
  #abandon(encoding: Encoding): void {
    this.#encodings = this.#encodings.filter((one) => one !== encoding)
    void encoding.run.abandon()
    this.#activate()
  }

  #lost(encoding: Encoding, why: string): void {
    this.#abandon(encoding)
    this.#rest(why)
  }

  /** For a while the source is alone. */
  #rest(why: string): void {
    const { clock, log, name } = this.#options
    for (const rendition of this.#parts.keys()) if (!this.#copies.has(rendition)) this.#remove(rendition)
    this.#release()
    this.#restUntilMs = clock.monotonic() + this.#restMs
    log.warn(
      { name, problem: why, pauseMs: this.#restMs },
      'viewers get only what the publisher sends, without renditions',
    )
    this.#restMs = Math.min(REST_MAX_MS, this.#restMs * 2)
  }

  #ended(encoding: Encoding): void {
    this.#encodings = this.#encodings.filter((one) => one !== encoding)
    this.#activate()
    this.#endWhenDone()
  }

  #endWhenDone(): void {
    if (!this.#isOver || this.#encodings.length > 0) return
    for (const name of this.#parts.keys()) this.#options.stream.rendition(name)?.end()
    this.#options.stream.changed()
  }
}

/** Of the shorter side. */
const linesOf = ({ width, height }: { readonly width: number; readonly height: number }): number =>
  Math.min(width, height)
