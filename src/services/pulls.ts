import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import {
  advanceTarget,
  offTarget,
  type TargetEffect,
  type TargetEvent,
  type TargetState,
} from '../core/restream/state.ts'
import { isWanted } from '../core/pulls/demand.ts'
import type { StoredPull } from '../store/store.ts'

/** One attempt to take the media of a source, from the dial on. */
export interface PullAttempt {
  /** Called every second. */
  tick(): void
  /** Closes it. It reports nothing any more. Idempotent. */
  end(): void
}

/** What an attempt reports: `accepted` at most once, when media comes, then how it ended, once. */
export type PullEvent = Extract<TargetEvent, { kind: 'accepted' | 'refused' | 'lost' | 'unsuitable' }>

export interface PullsOptions {
  readonly clock: Clock
  readonly random: Random
  /** Must not report before it has returned. */
  readonly open: (pull: StoredPull, report: (event: PullEvent) => void) => PullAttempt
  /** A pull has another state. Must not throw. */
  readonly changed: (pull: StoredPull, state: TargetState) => void
}

/** Runs the pulls of this node. Each goes through the states of a target of a restream, as long as it is enabled and wanted. */
export class Pulls {
  readonly #options: PullsOptions
  readonly #running = new Map<number, RunningPull>()

  constructor(options: PullsOptions) {
    this.#options = options
  }

  has(id: number): boolean {
    return this.#running.has(id)
  }

  get ids(): number[] {
    return [...this.#running.keys()]
  }

  /**
   * Ends those that are not listed or that no viewer wants, and begins new and changed ones. One that was refused stays as it
   * is, wanted or not.
   */
  follow(pulls: readonly StoredPull[]): void {
    const nowMs = this.#options.clock.now()
    const listed = new Map(pulls.map((pull) => [pull.id, pull]))
    for (const [id, { pull, isRefused }] of this.#running) {
      const now = listed.get(id)
      const stays = now?.version === pull.version && (isRefused || isWanted(now, nowMs))
      if (!stays) this.#stop(id)
    }
    for (const pull of pulls) if (!this.#running.has(pull.id) && isWanted(pull, nowMs)) this.#start(pull)
  }

  /** A token has changed: what it refused may be admitted now. */
  retry(tokenId: number | 'all'): void {
    for (const [id, running] of this.#running) {
      if (tokenId !== 'all' && running.pull.tokenId !== tokenId) continue
      // The next look begins it again if a viewer wants it.
      if (running.isRefused && running.pull.when === 'onDemand') this.#stop(id)
      else running.handle({ kind: 'start' })
    }
  }

  /** Call it every second. */
  tick(): void {
    for (const running of this.#running.values()) running.tick()
  }

  stopAll(): void {
    for (const id of this.#running.keys()) this.#stop(id)
  }

  #start(pull: StoredPull): void {
    const running = new RunningPull(this.#options, pull)
    this.#running.set(pull.id, running)
    running.handle({ kind: 'start' })
  }

  #stop(id: number): void {
    const running = this.#running.get(id)
    this.#running.delete(id)
    running?.handle({ kind: 'stop' })
  }
}

/** Drives the state machine of one pull. */
class RunningPull {
  readonly pull: StoredPull
  readonly #options: PullsOptions
  #state: TargetState
  #attempt: PullAttempt | null = null

  constructor(options: PullsOptions, pull: StoredPull) {
    this.#options = options
    this.pull = pull
    this.#state = offTarget(options.clock.now())
  }

  get isRefused(): boolean {
    return this.#state.status === 'refused'
  }

  tick(): void {
    this.handle({ kind: 'tick' })
    this.#attempt?.tick()
  }

  handle(event: TargetEvent): void {
    const { clock, random } = this.#options
    const moment = { nowMs: clock.now(), fraction: (random.bytes(1)[0] ?? 0) / 255 }
    const before = this.#state.message
    const { state, effects } = advanceTarget(this.#state, event, moment)
    // Why it was not on the air is told until it is dialled again.
    this.#state = event.kind === 'stop' ? { ...state, message: before } : state
    for (const effect of effects) this.#execute(effect)
  }

  #execute(effect: TargetEffect): void {
    if (effect.do === 'dial') this.#dial()
    else if (effect.do === 'hangUp') this.#hangUp()
    else this.#options.changed(this.pull, this.#state)
  }

  #dial(): void {
    const attempt: PullAttempt = this.#options.open(this.pull, (event) => {
      if (this.#attempt === attempt) this.handle(event)
    })
    this.#attempt = attempt
  }

  #hangUp(): void {
    const attempt = this.#attempt
    this.#attempt = null
    attempt?.end()
  }
}
