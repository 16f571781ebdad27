import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { Failures } from '../base/repeat.ts'
import type { DueKinds, DueWork, Store } from './store.ts'

/** Follows the changes of other nodes, as `AccessCache` does. */
interface Follower {
  /** The cursor of `changesSince`. */
  readonly position: string | null
  /** The store has said whether there are changes after `position`. @param askedAtMs when it was asked, monotonic */
  heard(hasChanges: boolean, askedAtMs: number): Promise<void>
  /** It has not. @throws what is not StoreUnavailable */
  unheard(error: unknown): void
}

export interface DueLookOptions {
  readonly store: Pick<Store, 'watch' | 'due'>
  readonly changes: Follower
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** The id of this serving node; empty: none. */
  readonly node: () => string
}

/** Asks the store once a second what is due, in one read, and runs the parts that have work. */
export class DueLook implements DueWork {
  readonly #options: DueLookOptions
  readonly #parts = new Set<DuePart>()
  #looking: Promise<void> | null = null
  #unwatch: () => void = () => undefined

  constructor(options: DueLookOptions) {
    this.#options = options
  }

  start(): void {
    this.#unwatch = this.#options.store.watch((what) => {
      if (what === 'second') void this.look()
    })
  }

  /** Waits for a look that is under way. Parts are stopped by what `on` returned. */
  async stop(): Promise<void> {
    this.#unwatch()
    await this.#looking
  }

  on(kind: Parameters<DueWork['on']>[0], run: () => Promise<unknown>): { stop(): Promise<void> } {
    const part = new DuePart(kind, run, this.#options.log)
    this.#parts.add(part)
    return {
      stop: async () => {
        this.#parts.delete(part)
        await part.running
      },
    }
  }

  /** Looks once; calls during a look share it. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((error: unknown) => this.#options.log.error({ err: error }, 'what is due could not be read'))
      .finally(() => {
        this.#looking = null
      })
    return this.#looking
  }

  async #look(): Promise<void> {
    const { store, changes, clock, node } = this.#options
    const askedAtMs = clock.monotonic()
    let due: DueKinds
    try {
      due = await store.due({ nowMs: clock.now(), cursor: changes.position, node: node() })
    } catch (error) {
      return changes.unheard(error)
    }
    for (const part of this.#parts) part.tell(due[part.kind])
    await changes.heard(due.changes, askedAtMs)
  }
}

/** Runs one kind of work, one run at a time. */
class DuePart {
  readonly kind: Parameters<DueWork['on']>[0]
  running: Promise<void> | null = null
  readonly #run: () => Promise<unknown>
  readonly #failures: Failures
  #isOwed = false

  constructor(kind: DuePart['kind'], run: () => Promise<unknown>, log: DueLookOptions['log']) {
    this.kind = kind
    this.#run = run
    this.#failures = new Failures({ log, name: kind })
  }

  /** After the last work it runs once more, to see that there is none. What comes during a run waits for the next look. */
  tell(isDue: boolean): void {
    if (!isDue && !this.#isOwed) return
    if (this.running) this.#isOwed = true
    else {
      this.#isOwed = isDue
      this.running = this.#runOnce()
    }
  }

  async #runOnce(): Promise<void> {
    try {
      await this.#run()
      this.#failures.none()
    } catch (error) {
      this.#isOwed = true
      this.#failures.add(error)
    } finally {
      this.running = null
    }
  }
}
