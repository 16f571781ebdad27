import { afterEach } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { Tally } from '../../../src/base/tally.ts'
import { coded } from '../../../src/core/notices.ts'
import { createRunner, type RunnerOptions } from '../../../src/delivery/runner.ts'
import type { Egress, EgressRequest } from '../../../src/net/egress.ts'
import type { EgressOutcome } from '../../../src/net/outcome.ts'
import type { DueWork, Store } from '../../../src/store/store.ts'
import { evenTime } from '../../support/leases.ts'
import { eventually } from '../../support/until.ts'
import { outgoing, random, sender } from './outgoing.ts'

export const ok = { kind: 'answered', status: 200, durationMs: 1, answer: '', truncated: false } as const
const aborted = {
  kind: 'failed',
  stage: 'send',
  code: 'aborted',
  sentence: coded('request_stopped'),
  durationMs: 1,
  status: null,
} as const

/** A receiver that answers when the test says so. */
class Held {
  readonly waiting: { url: string; answer: (outcome: EgressOutcome) => void; fail: (error: Error) => void }[] = []
  readonly urls: string[] = []

  readonly send = ({ url, signal }: EgressRequest): Promise<EgressOutcome> => {
    this.urls.push(url)
    return new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => resolve(aborted))
      this.waiting.push({ url, answer: resolve, fail: reject })
    })
  }

  answerAll(): void {
    for (const { answer } of this.waiting.splice(0)) answer(ok)
  }
}

export async function isSettled(promise: Promise<unknown>): Promise<void> {
  const late = new Promise((_, reject) => setImmediate(() => reject(new Error('it goes on'))))
  await Promise.race([promise, late])
}

/** Runners on a real store that nothing drives but the test. */
export function runners() {
  const made = outgoing()
  const { get, store } = made
  const running: (() => Promise<void>)[] = []
  const listeners = new Set<() => Promise<unknown>>()
  afterEach(async () => {
    for (const stop of running.splice(0)) await stop()
    listeners.clear()
  })

  let nodes = 0
  /** A runner whose clock stands still, and whose receiver waits. */
  function runnerWith(over: Partial<RunnerOptions> = {}) {
    const receiver = new Held()
    const clock = new ManualClock()
    const warnings: object[] = []
    const kept: object[] = []
    const released: string[] = []
    const ended = new Tally()
    const nodeId = `node ${(nodes += 1)}`
    const egress = { send: receiver.send } as unknown as Egress
    const runner = createRunner({
      ...sender,
      store: storeThat((transact) => transact()),
      due,
      egress,
      attempts: { info: () => undefined },
      clock,
      random,
      nodeId,
      ended,
      time: evenTime,
      log: { info: () => undefined, warn: (fields) => void warnings.push(fields) },
      leases: { keep: (lease) => void kept.push(lease), release: (id) => Promise.resolve(void released.push(id)) },
      ...over,
    })
    running.push(async () => {
      receiver.answerAll()
      const stopping = runner.stop()
      await eventually(() => (clock.advance(20_000), receiver.answerAll(), isSettled(stopping)))
    })
    return { runner, receiver, clock, warnings, kept, released, ended, nodeId }
  }

  /** Nothing is due by itself: `signal` says so, as the look of each second would. */
  const due: DueWork = {
    on(_kind, run) {
      listeners.add(run)
      return { stop: async () => void listeners.delete(run) }
    },
  }
  /** The store, with something around its transactions. */
  const storeThat = (around: (transact: () => Promise<unknown>) => Promise<unknown>): Store => {
    const real = store()
    const transaction = async (work: Parameters<Store['transaction']>[0]) => around(() => real.transaction(work))
    return { read: real.read, transaction } as unknown as Store
  }
  const signal = (): number => {
    for (const run of listeners) void run()
    return listeners.size
  }

  const stateOf = async (id = '') => (await get(id))?.state
  /** Until all that can be done without a change from outside is done. */
  const quiet = async (): Promise<void> => {
    for (let turns = 0; turns < 5; turns += 1) {
      await store().ping()
      await new Promise(setImmediate)
    }
  }
  return { ...made, runnerWith, storeThat, signal, stateOf, quiet }
}
