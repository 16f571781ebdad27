import { type Store, StoreUnavailable, type WatchListener } from '../../src/store/store.ts'
import { passingStore } from '../support/passingStore.ts'
import type { WorldTime } from './clock.ts'
import type { Fate, Runner, Scheduler } from './scheduler.ts'

/** How a node reaches the one store of all nodes. */
export interface StoreLink {
  readonly store: Store
  /** When it asked what it was answered last of changes, true time. */
  readonly heardAtMs: number
  /** Tells the node of a change of another one, or that a second has passed. */
  tell(what: Parameters<WatchListener>[0]): void
}

interface LinkOptions {
  readonly scheduler: Scheduler
  readonly time: WorldTime
  readonly runner: Runner
  /** Of the next call. */
  readonly fate: () => Fate
}

/**
 * The real store behind a layer that lets each call wait for its turn, before it is done and with its answer; it may fail, or
 * be done and lose its answer. As with PostgreSQL, a node does not see the commits of others at once.
 */
export function linkTo(real: Store, { scheduler, time, runner, fate }: LinkOptions): StoreLink {
  const listeners = new Set<WatchListener>()
  const call = async <T>(run: () => Promise<T>): Promise<T> => {
    const becomes = fate()
    await scheduler.turn(runner)
    if (becomes === 'fails') throw new StoreUnavailable('the connection was lost before the call')
    const answer = await scheduler.work(run)
    await scheduler.turn(runner)
    if (becomes === 'loses its answer') throw new StoreUnavailable('the connection was lost before the answer')
    return answer
  }
  let heardAtMs = time.ms
  const hear = async <T>(run: () => Promise<T>): Promise<T> => {
    const askedAtMs = time.ms
    const answer = await call(run)
    heardAtMs = Math.max(heardAtMs, askedAtMs)
    return answer
  }
  const store: Store = {
    ...passingStore(real),
    read: ofNouns(real.read, call),
    transaction: (work) => call(() => real.transaction(work)),
    watch(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    changedRemotely: () => false,
    changesSince: (cursor) => hear(() => real.changesSince(cursor)),
    due: (query) => hear(() => real.due(query)),
    diskSpace: async () => null,
    time: () => call(async () => time.ms),
    close: () => Promise.resolve(),
  }
  return {
    store,
    get heardAtMs() {
      return heardAtMs
    },
    tell(what) {
      for (const listener of listeners) listener(what)
    },
  }
}

type Verb = (...args: unknown[]) => Promise<unknown>

/** The nouns of `reads`, each verb of which goes through `call`. */
function ofNouns(reads: Store['read'], call: <T>(run: () => Promise<T>) => Promise<T>): Store['read'] {
  const verbsOf = (noun: object): object =>
    new Proxy(noun, {
      get(target, name) {
        const verb = Reflect.get(target, name) as Verb
        return (...args: unknown[]) => call(() => Reflect.apply(verb, target, args))
      },
    })
  return new Proxy(reads, { get: (target, name) => verbsOf(Reflect.get(target, name) as object) })
}
