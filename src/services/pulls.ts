import type { Clock } from '../base/clock.ts'
import { LateLooks } from '../base/lateLooks.ts'
import type { Random } from '../base/random.ts'
import { DEMAND_MS, isWanted } from '../core/pulls/demand.ts'
import { type AttemptEvent, type DialAttempt, TargetDriver } from '../core/restream/driver.ts'
import { SOURCE_PAUSE_MAX_MS, type TargetState } from '../core/restream/state.ts'
import type { StoredPull } from '../store/store.ts'

export interface PullsOptions {
  readonly clock: Clock
  readonly random: Random
  /** Must not report before it has returned. */
  readonly open: (pull: StoredPull, report: (event: AttemptEvent) => void) => DialAttempt
  /** A pull has another state. Must not throw. */
  readonly changed: (pull: StoredPull, state: TargetState) => void
}

const TICK_MS = 1000

interface RunningPull {
  /** As last read. */
  pull: StoredPull
  /** The latest wish on record, and since when, monotonic: a clock that was set makes it no older. */
  demand: { readonly atMs: number; readonly sinceMs: number }
  readonly driver: TargetDriver<DialAttempt>
}

/** Runs the pulls of this node. Each goes through the states of a target of a restream, as long as it is enabled and wanted. */
export class Pulls {
  readonly #options: PullsOptions
  readonly #running = new Map<number, RunningPull>()
  readonly #looks: LateLooks

  constructor(options: PullsOptions) {
    this.#options = options
    this.#looks = new LateLooks(TICK_MS, options.clock.monotonic())
  }

  has(id: number): boolean {
    return this.#running.has(id)
  }

  get ids(): number[] {
    return [...this.#running.keys()]
  }

  /**
   * Ends those that are not listed or that no viewer wants, and begins new and changed ones. One that was refused stays as it
   * is, wanted or not. One that is live stays on the air with another label.
   */
  follow(pulls: readonly StoredPull[]): void {
    const nowMs = this.#options.clock.now()
    const listed = new Map(pulls.map((pull) => [pull.id, pull]))
    for (const [id, running] of this.#running) {
      const now = listed.get(id)
      const isSame = now !== undefined && (now.version === running.pull.version || isLiveAs(now, running))
      const stays = isSame && (isRefused(running) || this.#staysWanted(running, now))
      if (stays) running.pull = now
      else this.#stop(id)
    }
    for (const pull of pulls) if (!this.#running.has(pull.id) && isWanted(pull, nowMs)) this.#start(pull)
  }

  /** A token has changed: what it refused may be admitted now. */
  retry(tokenId: number | 'all'): void {
    for (const [id, running] of this.#running) {
      if (tokenId !== 'all' && running.pull.tokenId !== tokenId) continue
      // The next look begins it again if a viewer wants it.
      if (isRefused(running) && running.pull.when === 'onDemand') this.#stop(id)
      else running.driver.handle({ kind: 'start' })
    }
  }

  /** Call it every second. */
  tick(): void {
    this.#looks.look(this.#options.clock.monotonic())
    for (const { driver } of this.#running.values()) driver.tick()
  }

  stopAll(): void {
    for (const id of this.#running.keys()) this.#stop(id)
  }

  /** Nodes with viewers renew the wish, also after a pause of theirs or after a clock was set. */
  #staysWanted(running: RunningPull, { when, demandAtMs: atMs }: StoredPull): boolean {
    const nowMs = this.#options.clock.monotonic()
    if (running.demand.atMs !== atMs) running.demand = { atMs, sinceMs: nowMs }
    return when === 'always' || this.#looks.lastedMs(running.demand.sinceMs, nowMs) < DEMAND_MS
  }

  #start(pull: StoredPull): void {
    const { clock, open, changed } = this.#options
    // Why it was not on the air is told until it is live: an attempt may take ten of fifteen seconds.
    let problem: TargetState['problem'] = null
    const driver = new TargetDriver({
      ...this.#options,
      pauseMaxMs: SOURCE_PAUSE_MAX_MS,
      open: (report) => open(pull, report),
      recorded: (state) => {
        if (state.status !== 'off' && state.status !== 'connecting') problem = state.problem
        changed(pull, { ...state, problem })
      },
    })
    const { id, demandAtMs: atMs } = pull
    const sinceMs = clock.monotonic() - Math.abs(clock.now() - atMs)
    this.#running.set(id, { pull, driver, demand: { atMs, sinceMs } })
    driver.handle({ kind: 'start' })
  }

  #stop(id: number): void {
    const running = this.#running.get(id)
    this.#running.delete(id)
    running?.driver.handle({ kind: 'stop' })
  }
}

/** Whether it is on the air from the source, and as the stream, of a newer record. */
const isLiveAs = (now: StoredPull, { pull, driver }: RunningPull): boolean =>
  driver.state.status === 'live' &&
  now.tokenId === pull.tokenId &&
  now.streamName === pull.streamName &&
  Buffer.compare(now.urlSealed, pull.urlSealed) === 0

const isRefused = ({ driver }: RunningPull): boolean => driver.state.status === 'refused'
