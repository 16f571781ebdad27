import { coded, type CodedSentence } from '../../notices.ts'
import type { Pace } from './pace.ts'
import { heavier, lighter, megapixelsOf, type Rung, sumOf, weigh } from './rungs.ts'

/** Encoded frames per second of a rung; null: not counted yet. */
export type CountedFrames = (index: number) => number | null

const UP_AFTER_MS = 600_000
const UP_AFTER_MAX_MS = 16 * UP_AFTER_MS

/**
 * Chooses the rungs of its ladder that an engine encodes. On overload it steps down to the rate that it has proved
 * to sustain. It steps up again when it has kept up for ten minutes and the machine has capacity. If a step up leads
 * to an overload within that time, the next one waits twice as long, up to 160 minutes.
 */
export class LadderSteps {
  readonly #full: readonly Rung[]
  readonly #stepsDown: boolean
  #rungs: readonly Rung[]
  /** When the last step or overload was; null: there was none. */
  #calmSinceMs: number | null = null
  #steppedUpAtMs: number | null = null
  #waitMs = UP_AFTER_MS
  /** The highest frame rate that was counted before a step down: rungs that are not encoded cannot be counted. */
  #mostFrames: number | null = null

  /** @param stepsDown false: always encode the whole ladder */
  constructor(full: readonly Rung[], stepsDown: boolean) {
    this.#full = full
    this.#stepsDown = stepsDown
    this.#rungs = full
  }

  get rungs(): readonly Rung[] {
    return this.#rungs
  }

  /** True: the rungs have changed, so restart the process. */
  look(pace: Pace, counted: CountedFrames, nowMs: number, fits: (megapixels: number) => boolean): boolean {
    if (!this.#stepsDown || !pace.isSettled) return false
    if (pace.isOverloaded) return this.#down(pace, counted, nowMs)
    if (this.#rungs === this.#full) return this.#rest(nowMs)
    return nowMs - (this.#calmSinceMs ?? nowMs) >= this.#waitMs && this.#up(nowMs, fits)
  }

  /** Labels of the rungs that are left out. */
  get leftOut(): string[] {
    return [...this.#gone, ...this.#thinned.map((label) => `every second frame of ${label}`)]
  }

  /** The same as sentences; empty: none is left out. */
  get notice(): CodedSentence[] {
    const minutes = this.#waitMs / 60_000
    const [renditions, thinned] = [this.#gone.join(', '), this.#thinned.join(', ')]
    if (renditions === '')
      return thinned === '' ? [] : [coded('engine_halves_frames', { renditions: thinned, minutes })]
    if (thinned === '') return [coded('engine_leaves_out', { renditions, minutes })]
    return [coded('engine_leaves_out_and_halves', { renditions, thinned, minutes })]
  }

  get #gone(): string[] {
    return this.#full.filter(({ index }) => this.#rungs.every((rung) => rung.index !== index)).map(({ label }) => label)
  }

  get #thinned(): string[] {
    return this.#rungs.filter((rung) => !this.#full.includes(rung)).map(({ label }) => label)
  }

  #down(pace: Pace, counted: CountedFrames, nowMs: number): boolean {
    const weighed = this.#rungs.map((rung) => weigh(rung, counted(rung.index)))
    const less = lighter(weighed, (pace.speed ?? 0) * sumOf(weighed))
    this.#calmSinceMs = nowMs
    if (this.#steppedUpAtMs !== null) this.#waitMs = Math.min(UP_AFTER_MAX_MS, this.#waitMs * 2)
    this.#steppedUpAtMs = null
    if (less === null) return false
    this.#mostFrames = this.#rungs.reduce((most, { index }) => maxOf(most, counted(index)), this.#mostFrames)
    this.#rungs = less
    return true
  }

  #up(nowMs: number, fits: (megapixels: number) => boolean): boolean {
    const full = this.#full.map((rung) => weigh(rung, rung.frameRate === null ? this.#mostFrames : null))
    const more = heavier(full, this.#rungs, fits)
    if (more === null) return false
    this.#rungs = more.length === full.length && full.every(({ rung }) => more.includes(rung)) ? this.#full : more
    this.#calmSinceMs = nowMs
    this.#steppedUpAtMs = nowMs
    return true
  }

  /** The whole ladder is encoded. After a while the last step up counts as a success. */
  #rest(nowMs: number): false {
    if (this.#steppedUpAtMs !== null && nowMs - this.#steppedUpAtMs >= this.#waitMs) {
      this.#steppedUpAtMs = null
      this.#waitMs = UP_AFTER_MS
    }
    return false
  }
}

const maxOf = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b)

/** Processors per encoded megapixel per second, where it was measured. Beside a copied rung it is mostly for decoding. */
export const coresPerMegapixel = (pace: Pace, rungs: readonly Rung[], counted: CountedFrames): number | null => {
  const { cores, speed } = pace
  if (rungs.some(({ copy }) => copy)) return null
  if (!pace.isSettled || cores === null || speed === null || rungs.some(({ index }) => counted(index) === null))
    return null
  const made = speed * rungs.reduce((sum, rung) => sum + megapixelsOf(weigh(rung, counted(rung.index))), 0)
  return made > 0 ? cores / made : null
}
