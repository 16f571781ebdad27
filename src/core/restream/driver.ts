import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import {
  advanceTarget,
  offTarget,
  type TargetEffect,
  type TargetEvent,
  type TargetNews,
  type TargetState,
} from './state.ts'

/** What an attempt reports: `accepted` at most once, then how it ended, once. */
export type AttemptEvent = Extract<TargetEvent, { kind: 'accepted' | 'refused' | 'lost' | 'moved' | 'unsuitable' }>

/** One attempt to reach another server, from the dial on. */
export interface DialAttempt {
  /** Called every second. @param nowMs monotonic */
  tick(nowMs: number): void
  /** Closes it. It reports nothing any more. Idempotent. */
  end(): void
}

export interface DriverOptions<A extends DialAttempt> {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly random: Random
  /** The longest pause before an attempt. */
  readonly pauseMaxMs: number
  /** Must not report before it has returned. @param at see `TargetEffect` */
  readonly open: (report: (event: AttemptEvent) => void, at: string | null) => A
  /** There is another state. Must not throw. */
  readonly recorded: (state: TargetState, news: TargetNews | null) => void
  /** An attempt is over. Must not throw. */
  readonly ended?: (attempt: A) => void
}

/** Drives the state machine of one server that is dialled: runs one attempt at a time, and hears of no other. */
export class TargetDriver<A extends DialAttempt> {
  readonly #options: DriverOptions<A>
  #state: TargetState
  #attempt: A | null = null

  constructor(options: DriverOptions<A>) {
    this.#options = options
    this.#state = offTarget(options.clock.now())
  }

  get state(): TargetState {
    return this.#state
  }

  /** The one that runs. */
  get attempt(): A | null {
    return this.#attempt
  }

  /** Call it every second. */
  tick(): void {
    this.handle({ kind: 'tick' })
    this.#attempt?.tick(this.#options.clock.monotonic())
  }

  handle(event: TargetEvent): void {
    const { clock, random, pauseMaxMs } = this.#options
    const fraction = (random.bytes(1)[0] ?? 0) / 255
    const { state, effects } = advanceTarget(this.#state, event, { nowMs: clock.now(), fraction, pauseMaxMs })
    this.#state = state
    for (const effect of effects) this.#execute(effect)
  }

  #execute(effect: TargetEffect): void {
    if (effect.do === 'dial') this.#dial(effect.at)
    else if (effect.do === 'hangUp') this.#hangUp()
    else this.#options.recorded(this.#state, effect.news)
  }

  #dial(at: string | null): void {
    const attempt: A = this.#options.open((event) => {
      if (this.#attempt === attempt) this.handle(event)
    }, at)
    this.#attempt = attempt
  }

  #hangUp(): void {
    const attempt = this.#attempt
    if (attempt === null) return
    this.#attempt = null
    attempt.end()
    this.#options.ended?.(attempt)
  }
}
