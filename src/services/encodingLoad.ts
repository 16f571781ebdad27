import { rounded } from '../base/numbers.ts'
import type { PixelSize } from '../base/pixelSize.ts'
import type { ProcessorLoad } from '../base/processors.ts'
import { coresPerMegapixel, LadderSteps } from '../core/channels/runs/ladderSteps.ts'
import type { EngineLoad, EnginePace, LoadControl, LoadVerdict } from '../core/channels/runs/load.ts'
import { HANG_TEXT, HangWatch } from '../core/channels/runs/hang.ts'
import { overloadSentences, type Pace, type PaceSample, PaceWatch } from '../core/channels/runs/pace.ts'
import { EXPECTED_FRAMES, rungsOf, sumOf, weigh } from '../core/channels/runs/rungs.ts'
import type { TranscodeJob } from '../core/channels/runs/transcoder.ts'
import type { AbrLadder } from '../core/channels/types.ts'
import { coded, type CodedSentence, noticeText } from '../core/notices.ts'

type Ladder = Pick<AbrLadder, 'video'>

/** The size that is assumed while that of the video is 0, which is: not known yet. */
const EXPECTED: PixelSize = { width: 1280, height: 720 }

export interface EncodingLoadOptions {
  /** Processors that this process may use. */
  readonly cores: number
  readonly processors: Pick<ProcessorLoad, 'idle'>
  /** Whether an engine that starts now may drop rungs of its ladder when it cannot keep up. */
  readonly stepsDown: () => boolean
}

/**
 * The estimate until an engine has run. Measured: 0.43 processors for the default ladder (34.6 megapixels a second),
 * decoding included.
 */
const FIRST_CORES_PER_MEGAPIXEL = 0.0125
/** A measurement beyond this factor is an outlier. */
const COST_RANGE = 8
/** Weight of the previous estimate at each measurement, once a second. */
const INERTIA = 0.95
/** The share of idle processors that a step up may use. */
const SPARE = 0.8
/** Engines step up one after another, so that each sees the load of the previous one. */
const UP_EVERY_MS = 60_000

/** What the engines of this node cost and whether they keep up. It learns the cost per pixel from running engines. */
export class EncodingLoad implements EngineLoad {
  readonly #options: EncodingLoadOptions
  readonly #controls = new Map<string, EngineControl>()
  /** Megapixels per second of each broadcast that is encoded for viewers. */
  readonly #forViewers = new Map<symbol, number>()
  #cost = FIRST_CORES_PER_MEGAPIXEL
  #steppedUpAtMs = Number.NEGATIVE_INFINITY
  /** Frames that engines of this node dropped since the server started, because they were too slow. */
  droppedFrames = 0

  constructor(options: EncodingLoadOptions) {
    this.#options = options
  }

  control({ engineId, ladder }: Pick<TranscodeJob, 'engineId' | 'ladder'>): LoadControl {
    const control = new EngineControl({
      stepsOf: (copies) => new LadderSteps(rungsOf(ladder.video, copies), this.#options.stepsDown()),
      fits: (megapixels, nowMs) => this.#fits(megapixels, nowMs),
      steppedUp: (nowMs) => (this.#steppedUpAtMs = nowMs),
      dropped: (frames) => (this.droppedFrames += frames),
      learn: (cost) => this.#learn(cost),
      ended: () => this.#controls.get(engineId) === control && this.#controls.delete(engineId),
    })
    this.#controls.set(engineId, control)
    return control
  }

  /** The pace of an engine's process; null if this node does not run it. */
  paceOf(engineId: string): EnginePace | null {
    return this.#controls.get(engineId)?.pace ?? null
  }

  /** The pace of every engine with a process: at most as many as there may be ffmpeg processes. */
  paces(): [engineId: string, pace: EnginePace][] {
    return [...this.#controls].flatMap(([id, { pace }]) => (pace === null ? [] : [[id, pace] as [string, EnginePace]]))
  }

  /** The sentence of `noticeFor` as a text; null: none. */
  warningFor(engines: readonly { readonly engineId: string; readonly ladder: Ladder }[]): string | null {
    return noticeText(this.noticeFor(engines)) || null
  }

  /**
   * A sentence if this machine probably cannot encode these engines beside the running ones; else none. It ignores
   * other load, which changes from minute to minute and shows when an engine falls behind.
   */
  noticeFor(engines: readonly { readonly engineId: string; readonly ladder: Ladder }[]): CodedSentence[] {
    const { cores } = this.#options
    const more = engines.reduce((sum, { ladder }) => sum + this.#costOf(ladder), 0)
    const used = this.#usedCores((id) => engines.every(({ engineId }) => engineId !== id))
    if (engines.length === 0 || more + used <= cores) return []
    return [
      coded('engine_too_much', { needed: rounded(more, 10), used: rounded(used, 10), cores }),
      coded('engine_needs_less'),
    ]
  }

  /** Whether this machine can probably encode such video for viewers beside all that runs. */
  hasRoomFor(size: PixelSize): boolean {
    return this.#usedCores() + this.#cost * megapixelsOf(size) <= this.#options.cores
  }

  /** Such video is encoded for viewers, until the result is called. */
  reserve(size: PixelSize): () => void {
    const key = Symbol('for viewers')
    this.#forViewers.set(key, megapixelsOf(size))
    return () => void this.#forViewers.delete(key)
  }

  /** Of the engines that count, and of what is encoded for viewers. */
  #usedCores(counts: (engineId: string) => boolean = () => true): number {
    const engines = [...this.#controls].filter(([id]) => counts(id))
    const ofEngines = engines.map(([, { pace, steps }]) => pace?.cores ?? this.#cost * weightOf(steps.rungs))
    const forViewers = [...this.#forViewers.values()].map((megapixels) => this.#cost * megapixels)
    return [...ofEngines, ...forViewers].reduce((sum, cores) => sum + cores, 0)
  }

  #costOf = (ladder: Ladder): number => this.#cost * weightOf(rungsOf(ladder.video))

  #measuredCores(): number {
    return [...this.#controls.values()].reduce((sum, { pace }) => sum + (pace?.cores ?? 0), 0)
  }

  /** In a container, the machine may have more processors than this process may use. */
  #idleCores(): number | null {
    const { processors, cores } = this.#options
    return processors.idle === null ? null : Math.max(0, Math.min(processors.idle, cores - this.#measuredCores()))
  }

  #fits(megapixels: number, nowMs: number): boolean {
    if (nowMs - this.#steppedUpAtMs < UP_EVERY_MS) return false
    const idle = this.#idleCores()
    return idle === null || megapixels * this.#cost <= idle * SPARE
  }

  #learn(cost: number): void {
    const [least, most] = [FIRST_CORES_PER_MEGAPIXEL / COST_RANGE, FIRST_CORES_PER_MEGAPIXEL * COST_RANGE]
    this.#cost = INERTIA * this.#cost + (1 - INERTIA) * Math.min(most, Math.max(least, cost))
  }
}

/** Per second, at the usual rate. */
function megapixelsOf({ width, height }: PixelSize): number {
  const pixels = width * height || EXPECTED.width * EXPECTED.height
  return (pixels * EXPECTED_FRAMES) / 1e6
}

const weightOf = (rungs: ReturnType<typeof rungsOf> | LadderSteps['rungs']): number =>
  sumOf(rungs.map((rung) => weigh(rung, null)))

interface ControlParts {
  /** The steps of the ladder, with or without copying. */
  readonly stepsOf: (copies: boolean) => LadderSteps
  readonly fits: (megapixels: number, nowMs: number) => boolean
  readonly steppedUp: (nowMs: number) => void
  readonly dropped: (frames: number) => void
  readonly learn: (coresPerMegapixel: number) => void
  readonly ended: () => void
}

class EngineControl implements LoadControl {
  readonly #parts: ControlParts
  steps: LadderSteps
  #copies = true
  readonly #frames = new Map<number, number>()
  #watch = new PaceWatch()
  #hangs = new HangWatch()
  #last: Pace | null = null
  #isOverloaded = false

  constructor(parts: ControlParts) {
    this.#parts = parts
    this.steps = parts.stepsOf(this.#copies)
  }

  get rungs() {
    return this.steps.rungs
  }

  get pace(): EnginePace | null {
    return this.#last && { ...this.#last, leftOut: this.steps.leftOut }
  }

  get notice(): CodedSentence[] {
    const slow = this.#isOverloaded && this.#last !== null ? overloadSentences(this.#last) : []
    return [...slow, ...this.steps.notice]
  }

  copies(allowed: boolean): void {
    if (allowed === this.#copies) return
    this.#copies = allowed
    this.steps = this.#parts.stepsOf(allowed)
  }

  begun(): void {
    this.#watch = new PaceWatch()
    this.#hangs = new HangWatch()
    this.#frames.clear()
  }

  counted(index: number, framesPerSecond: number): void {
    this.#frames.set(index, framesPerSecond)
  }

  look(sample: PaceSample): LoadVerdict {
    const pace = this.#watch.look(sample)
    this.#parts.dropped(pace.droppedFrames - (this.#last?.droppedFrames ?? 0))
    this.#last = pace
    const motion = this.#hangs.look(sample)
    if (motion === 'hangs') return { restart: false, isHung: true, log: { level: 'warn', message: HANG_TEXT } }
    if (motion === 'stands') return { restart: false, isHung: false, log: null }
    return { ...this.#judge(sample, pace), isHung: false }
  }

  #judge(sample: PaceSample, pace: Pace): Pick<LoadVerdict, 'log' | 'restart'> {
    const { fits, learn, steppedUp } = this.#parts
    const { steps } = this
    const counted = (index: number): number | null => this.#frames.get(index) ?? null
    const cost = coresPerMegapixel(pace, steps.rungs, counted)
    if (cost !== null) learn(cost)
    const restart = steps.look(pace, counted, sample.atMs, (megapixels) => fits(megapixels, sample.atMs))
    if (restart && !pace.isOverloaded) steppedUp(sample.atMs)
    return { restart, log: this.#logOf(pace, restart) }
  }

  over(): void {
    this.#last = null
    this.#isOverloaded = false
  }

  ended(): void {
    this.#parts.ended()
  }

  #logOf(pace: Pace, restart: boolean): LoadVerdict['log'] {
    const was = this.#isOverloaded
    // After the restart the process has less to encode.
    this.#isOverloaded = pace.isOverloaded && !restart
    const { notice } = this.steps
    if (pace.isOverloaded && (restart || !was))
      return { level: 'warn', message: noticeText([...overloadSentences(pace), ...notice]) }
    if (restart) return { level: 'info', message: noticeText(notice) || 'There is room for the whole ladder again' }
    return was && !pace.isOverloaded ? { level: 'info', message: 'The engine keeps up again' } : null
  }
}
