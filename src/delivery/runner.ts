import type { Clock } from '../base/clock.ts'
import { timeOrderedId } from '../base/ids.ts'
import type { Fields, Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { repeat, type Repetition } from '../base/repeat.ts'
import type { Tally } from '../base/tally.ts'
import type { Leases, Store } from '../store/store.ts'
import { begin, type Begun } from './begin.ts'
import { Bell } from './bell.ts'
import { deliveryLine } from './deliveryLine.ts'
import type { Egress } from '../net/egress.ts'
import { fanOut } from './fanOut.ts'
import {
  type Claim,
  claim,
  type Due,
  emptySlots,
  finish,
  type DeliverySlotLimits,
  type DeliverySlots,
  saturated,
} from './slots.ts'
import type { Sender } from './payload.ts'
import { offerProbes } from './probes.ts'
import { brokenOff, type Ended, deliveryEndOf, recordEnds, tooLate } from './record.ts'

export interface RunnerOptions extends Sender {
  readonly store: Store
  readonly egress: Egress
  readonly clock: Clock
  readonly random: Random
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** Takes one line for each attempt that has ended. Accounts cause them, so bound them. */
  readonly attempts: Pick<Logger, 'info'>
  /** Of this process, new at each start: what an earlier one left behind is given up as `unknown`. */
  readonly nodeId: string
  /** Counts how attempts have ended. */
  readonly ended?: Tally
  readonly limits?: DeliverySlotLimits
  /** How long others believe that this node sends after its lease was renewed. Default 30000. */
  readonly leaseMs?: number
  /** Renews the lease, beside all that is done here. */
  readonly leases: Leases
  /** The time by which leases are judged. */
  readonly time: { isEven(forMs: number): Promise<boolean> }
  /** How long `stop` waits for what is under way. Default 15000, the limit of a whole exchange. */
  readonly drainMs?: number
}

export interface Runner {
  /** There may be something to send. Cheap; call it after each commit that wrote to the outbox or asked for a redelivery. */
  wake(): void
  /** Begins. Rejects with StoreUnavailable when the store does not take the lease. */
  start(): Promise<void>
  /** Begins nothing more, waits for what is under way, and records it. Idempotent. */
  stop(): Promise<void>
}

/** Recorded in one transaction. */
const ENDS_AT_ONCE = 100
const EXPIRED_AT_ONCE = 1000
const RETRIES_AT_ONCE = 1000
const AFTER_ERROR_MS = 1000
/** A whole exchange takes fifteen seconds at most; what began this long ago has been forgotten by its node. */
const FORGOTTEN_MS = 120_000
const LOST = 'the server stopped before the answer was recorded; the receiver may have it'

/** An attempt that is over and not on record yet, with its line for the log. */
interface EndedAttempt extends Ended {
  readonly line: Fields
}

/** Sends what the outbox holds, each event at most once to each webhook, on any number of nodes. */
export function createRunner(options: RunnerOptions): Runner {
  return new DeliveryRunner(options)
}

/**
 * Three loops, each a transaction a round, so that many deliveries share one sync of the disk: events become rows, rows
 * become `started` and are sent, and outcomes are written. A place is free again when the outcome is on record.
 */
class DeliveryRunner implements Runner {
  readonly #how: RunnerOptions
  readonly #leaseMs: number
  readonly #stopping = new AbortController()
  readonly #giveUp = new AbortController()
  readonly #routing = new Bell()
  readonly #claiming = new Bell()
  readonly #recording = new Bell()
  readonly #sending = new Set<Promise<void>>()
  readonly #ended: EndedAttempt[] = []
  #slots: DeliverySlots
  #loops: Promise<unknown> = Promise.resolve()
  #sweeping: Repetition | null = null
  #unwatch = (): void => undefined
  #stopped: Promise<void> | null = null

  constructor(options: RunnerOptions) {
    this.#how = options
    this.#leaseMs = options.leaseMs ?? 30_000
    this.#slots = emptySlots(options.limits)
  }

  wake(): void {
    this.#routing.ring()
    this.#claiming.ring()
  }

  async start(): Promise<void> {
    const { nodeId: id, store, leases } = this.#how
    await store.transaction((tx) => tx.deliveries.renew(id, this.#leaseMs))
    leases.keep({ kind: 'deliveries', id, leaseMs: this.#leaseMs })
    await this.#sweep()
    this.#unwatch = store.watch(() => this.wake())
    this.#sweeping = this.#keepSweeping()
    this.#loops = Promise.all([
      this.#loop(this.#routing, () => this.#route()),
      this.#loop(this.#claiming, () => this.#claim()),
      this.#loop(this.#recording, () => this.#record()),
    ])
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    this.#unwatch()
    this.#stopping.abort()
    for (const bell of [this.#routing, this.#claiming, this.#recording]) bell.ring()
    await this.#loops
    await this.#drain()
    await this.#sweeping?.stop()
    // What cannot be written now is given up by the next node that looks.
    await this.#attempt(() => this.#sayGoodbye())
  }

  async #sayGoodbye(): Promise<void> {
    while (this.#ended.length > 0) await this.#record()
    await this.#how.leases.release(this.#how.nodeId)
    await this.#how.store.transaction((tx) => tx.deliveries.leave(this.#how.nodeId))
  }

  async #drain(): Promise<void> {
    const timer = new AbortController()
    const patience = this.#how.clock.sleep(this.#how.drainMs ?? 15_000, timer.signal).catch(() => undefined)
    const done = Promise.all(this.#sending)
    await Promise.race([done, patience])
    timer.abort()
    this.#giveUp.abort()
    await done
  }

  /** Does `round` until there is nothing left, then waits for the bell. */
  async #loop(bell: Bell, round: () => Promise<boolean>): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const more = await this.#attempt(round)
      if (!more && !this.#stopping.signal.aborted) await bell.wait()
    }
  }

  /** A store that is away for a while must not end a loop; after a pause the round is done again. */
  async #attempt(round: () => Promise<boolean | void>): Promise<boolean> {
    try {
      return (await round()) ?? false
    } catch (error) {
      this.#how.log.warn({ err: error }, 'deliveries are held up')
      await this.#how.clock.sleep(AFTER_ERROR_MS, this.#stopping.signal).catch(() => undefined)
      return true
    }
  }

  async #route(): Promise<boolean> {
    const { store, clock, random } = this.#how
    if (await offerProbes(store, clock.now(), random)) this.#claiming.ring()
    await this.#releaseRetries()
    // A read first: a look at an empty outbox then costs no transaction.
    if ((await store.read.outbox.pending(1)).length === 0) return false
    const { pending } = await store.transaction((tx) => fanOut(tx, clock.now(), random))
    if (pending > 0) this.#claiming.ring()
    return true
  }

  async #releaseRetries(): Promise<void> {
    const { store, clock } = this.#how
    const nowMs = clock.now()
    if (!(await store.read.deliveries.isRetryDue(nowMs))) return
    await store.transaction((tx) => tx.deliveries.release(nowMs, RETRIES_AT_ONCE))
    this.#claiming.ring()
  }

  async #claim(): Promise<boolean> {
    const due = await this.#due()
    const { slots, claims } = claim(this.#slots, due)
    if (claims.length === 0) return false
    this.#slots = slots
    const begun = await this.#begin(claims)
    for (const one of begun.begun) this.#send(one, begun.sinceMs)
    return begun.begun.length + begun.aside > 0
  }

  /** Places that were claimed and not needed are given back, also when the store fails. */
  async #begin(claims: readonly Claim[]): Promise<{ begun: Begun[]; aside: number; sinceMs: number }> {
    const { store, clock, nodeId: node } = this.#how
    const sinceMs = clock.monotonic()
    const how = { sender: this.#how, node, nowMs: clock.now(), cap: this.#slots.limits.perSlot }
    let begun: Begun[] = []
    try {
      const done = await store.transaction((tx) => begin(tx, claims, how))
      begun = done.begun
      return { ...done, sinceMs }
    } finally {
      for (const { webhookId, take } of claims) {
        const used = begun.filter((one) => one.webhookId === webhookId).length
        for (let unused = take - used; unused > 0; unused -= 1) this.#slots = finish(this.#slots, webhookId)
      }
    }
  }

  /** From the webhook behind the last that was served, once around. */
  async #due(): Promise<Due[]> {
    const { limits, busy, lastServed } = this.#slots
    if (busy >= limits.total) return []
    const { deliveries } = this.#how.store.read
    const ask = { without: saturated(this.#slots), upTo: limits.perSlot, limit: limits.total }
    const ahead = await deliveries.due({ ...ask, after: lastServed })
    if (ahead.length >= limits.total || lastServed === 0) return ahead
    const around = await deliveries.due({ ...ask, after: 0 })
    return [...ahead, ...around.filter(({ webhookId }) => webhookId <= lastServed)]
  }

  #send(one: Begun, sinceMs: number): void {
    const { attempt } = one
    const sending = this.#exchange(one, sinceMs).then((ended) => {
      this.#sending.delete(sending)
      this.#ended.push({ ...ended, attempt, line: deliveryLine(this.#how.nodeId, one, ended) })
      this.#recording.ring()
    })
    this.#sending.add(sending)
  }

  async #exchange({ id, webhookId, request }: Begun, sinceMs: number): Promise<Ended> {
    const { clock, egress } = this.#how
    if (clock.monotonic() - sinceMs > this.#leaseMs) return tooLate(id, webhookId, clock.now())
    try {
      const outcome = await egress.send({ ...request, signal: this.#giveUp.signal })
      return deliveryEndOf(id, webhookId, outcome, clock.now())
    } catch (error) {
      return brokenOff(id, webhookId, error, clock.now())
    }
  }

  async #record(): Promise<boolean> {
    const batch = this.#ended.slice(0, ENDS_AT_ONCE)
    if (batch.length === 0) return false
    await this.#how.store.transaction((tx) => recordEnds(tx, this.#how.nodeId, batch, this.#how.random))
    this.#ended.splice(0, batch.length)
    for (const { end, line } of batch) {
      this.#how.ended?.add(end.state)
      this.#how.attempts.info(line, 'a delivery has ended')
    }
    for (const { webhookId } of batch) this.#slots = finish(this.#slots, webhookId)
    this.#claiming.ring()
    return true
  }

  #keepSweeping(): Repetition {
    const { clock, log } = this.#how
    const name = 'give up what dead servers were delivering'
    return repeat({ clock, log, name, everyMs: this.#leaseMs / 6, pausesFirst: true }, () => this.#sweep())
  }

  /** Gives up what dead nodes had begun. */
  async #sweep(): Promise<void> {
    const { store, clock, time } = this.#how
    if (!(await time.isEven(this.#leaseMs))) return
    const nowMs = clock.now()
    const retryId = () => timeOrderedId(nowMs, this.#how.random)
    const expiry = { nowMs, startedBeforeMs: nowMs - FORGOTTEN_MS, reason: LOST, limit: EXPIRED_AT_ONCE, retryId }
    const lost = await store.transaction((tx) => tx.deliveries.expire(expiry))
    if (lost > 0) this.#how.log.warn({ lost }, 'deliveries were under way when a server stopped; they are unknown now')
  }
}
