import type { ProcessorLoad } from '../base/processors.ts'
import { coresPerMegapixel, LadderSteps } from '../core/channels/runs/ladderSteps.ts'
import type { EngineLoad, EnginePace, LoadControl, LoadVerdict } from '../core/channels/runs/load.ts'
import { overloadText, type Pace, type PaceSample, PaceWatch } from '../core/channels/runs/pace.ts'
import { rungsOf, sumOf, weigh } from '../core/channels/runs/rungs.ts'
import type { TranscodeJob } from '../core/channels/runs/transcoder.ts'
import type { AbrLadder } from '../core/channels/types.ts'

type Ladder = Pick<AbrLadder, 'video'>

export interface EncodingLoadOptions {
  /** Processors that this process may use. */
  readonly cores: number
  readonly processors: Pick<ProcessorLoad, 'idle'>
  /** Whether engines that cannot keep up leave out rungs of their ladders. */
  readonly stepsDown: boolean
}

/** Until an engine has run. Measured: 0.43 processors for the default ladder (34.6 megapixels a second), decoding included. */
const FIRST_CORES_PER_MEGAPIXEL = 0.0125
/** What is measured beyond this is an accident. */
const COST_RANGE = 8
/** Of what was known before, for each second that is measured. */
const INERTIA = 0.95
/** What a step up leaves free. */
const SPARE = 0.8
/** Engines step up one after the other, so that each sees what the one before takes. */
const UP_EVERY_MS = 60_000

/** What the engines of this node cost and how they keep up; what a pixel costs here is learned from those that run. */
export class EncodingLoad implements EngineLoad {
  readonly #options: EncodingLoadOptions
  readonly #controls = new Map<string, EngineControl>()
  #cost = FIRST_CORES_PER_MEGAPIXEL
  #steppedUpAtMs = Number.NEGATIVE_INFINITY
  /** Frames that engines of this node were too slow for, since the server began. */
  droppedFrames = 0

  constructor(options: EncodingLoadOptions) {
    this.#options = options
  }

  control({ engineId, ladder }: Pick<TranscodeJob, 'engineId' | 'ladder'>): LoadControl {
    const control = new EngineControl({
      steps: new LadderSteps(rungsOf(ladder.video), this.#options.stepsDown),
      idleCores: () => this.#idleCores(),
      fits: (megapixels, nowMs) => this.#fits(megapixels, nowMs),
      steppedUp: (nowMs) => (this.#steppedUpAtMs = nowMs),
      dropped: (frames) => (this.droppedFrames += frames),
      learn: (cost) => this.#learn(cost),
      ended: () => this.#controls.get(engineId) === control && this.#controls.delete(engineId),
    })
    this.#controls.set(engineId, control)
    return control
  }

  /** How the process of an engine is; null when it has none here. */
  paceOf(engineId: string): EnginePace | null {
    return this.#controls.get(engineId)?.pace ?? null
  }

  /** The same of all that have one. At most as many as there may be ffmpeg processes. */
  paces(): [engineId: string, pace: EnginePace][] {
    return [...this.#controls].flatMap(([id, { pace }]) => (pace === null ? [] : [[id, pace] as [string, EnginePace]]))
  }

  /**
   * A sentence when this machine probably cannot encode these beside what it encodes; null when it can. What else it does is
   * not in it: that changes from minute to minute, and is seen when an engine falls behind.
   */
  warningFor(engines: readonly { readonly engineId: string; readonly ladder: Ladder }[]): string | null {
    const { cores } = this.#options
    const more = engines.reduce((sum, { ladder }) => sum + this.#costOf(ladder), 0)
    const others = [...this.#controls].filter(([id]) => engines.every(({ engineId }) => engineId !== id))
    const used = others.reduce(
      (sum, [, { pace, steps }]) => sum + (pace?.cores ?? this.#cost * weightOf(steps.rungs)),
      0,
    )
    if (engines.length === 0 || more + used <= cores) return null
    const facts = `about ${more.toFixed(1)} processors are needed, and engines that run need about ${used.toFixed(1)} of ${cores}`
    return `This machine may not keep up with what is started: ${facts}. Smaller or fewer renditions need less`
  }

  #costOf = (ladder: Ladder): number => this.#cost * weightOf(rungsOf(ladder.video))

  #measuredCores(): number {
    return [...this.#controls.values()].reduce((sum, { pace }) => sum + (pace?.cores ?? 0), 0)
  }

  /** In a container, the machine may have more than we may use. */
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

const weightOf = (rungs: ReturnType<typeof rungsOf> | LadderSteps['rungs']): number =>
  sumOf(rungs.map((rung) => weigh(rung, null)))

interface ControlParts {
  readonly steps: LadderSteps
  readonly idleCores: () => number | null
  readonly fits: (megapixels: number, nowMs: number) => boolean
  readonly steppedUp: (nowMs: number) => void
  readonly dropped: (frames: number) => void
  readonly learn: (coresPerMegapixel: number) => void
  readonly ended: () => void
}

class EngineControl implements LoadControl {
  readonly #parts: ControlParts
  readonly steps: LadderSteps
  readonly #frames = new Map<number, number>()
  #watch = new PaceWatch()
  #last: Pace | null = null
  #isOverloaded = false

  constructor(parts: ControlParts) {
    this.#parts = parts
    this.steps = parts.steps
  }

  get rungs() {
    return this.steps.rungs
  }

  get pace(): EnginePace | null {
    return this.#last && { ...this.#last, leftOut: this.steps.leftOut }
  }

  get notice(): string | null {
    const slow = this.#isOverloaded && this.#last !== null ? overloadText(this.#last) : null
    return sentences(slow, this.steps.notice) || null
  }

  begun(): void {
    this.#watch = new PaceWatch()
    this.#frames.clear()
  }

  counted(index: number, framesPerSecond: number): void {
    this.#frames.set(index, framesPerSecond)
  }

  look(sample: Omit<PaceSample, 'idleCores'>): LoadVerdict {
    const { steps, idleCores, dropped, fits, learn, steppedUp } = this.#parts
    const pace = this.#watch.look({ ...sample, idleCores: idleCores() })
    const counted = (index: number): number | null => this.#frames.get(index) ?? null
    dropped(pace.droppedFrames - (this.#last?.droppedFrames ?? 0))
    this.#last = pace
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
    // The process that is started again has less to do.
    this.#isOverloaded = pace.isOverloaded && !restart
    const { notice } = this.steps
    if (pace.isOverloaded && (restart || !was)) return { level: 'warn', message: sentences(overloadText(pace), notice) }
    if (restart) return { level: 'info', message: notice ?? 'There is room for the whole ladder again' }
    return was && !pace.isOverloaded ? { level: 'info', message: 'The engine keeps up again' } : null
  }
}

const sentences = (...texts: readonly (string | null)[]): string => texts.filter((text) => text !== null).join('. ')
