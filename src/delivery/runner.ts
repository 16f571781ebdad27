import { type Clock, inTime, pause } from '../base/clock.ts'
import { timeOrderedId } from '../base/ids.ts'
import type { Fields, Logger } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { repeat, type Repetition } from '../base/repeat.ts'
import type { Tally } from '../base/tally.ts'
import { coded, say } from '../core/notices.ts'
import type { DueWebhook, DueWork, Leases, Store } from '../store/store.ts'
import { begin, type StartedDelivery } from './begin.ts'
import { Bell } from './bell.ts'
import { deliveryLine } from './deliveryLine.ts'
import type { Egress } from '../net/egress.ts'
import { EVENTS_AT_ONCE, fanOut } from './fanOut.ts'
import {
  type Claim,
  claim,
  type Due,
  emptySlots,
  finish,
  type DeliverySlotLimits,
  type DeliverySlots,
  paced,
  saturated,
  SLOW_MS,
} from './slots.ts'
import type { Sender } from './payload.ts'
import { offerProbes } from './probes.ts'
import { deliveryEndOf, type Ended, interrupted, isUnsent, recordEnds, type Unsent } from './record.ts'

export interface RunnerOptions extends Sender {
  readonly store: Store
  /** Says when the events, retries and probes of any node are due. */
  readonly due: DueWork
  readonly egress: Egress
  readonly clock: Clock
  readonly random: Random
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** Takes one line for each attempt that has ended. Accounts cause them, so bound them. */
  readonly attempts: Pick<Logger, 'info'>
  /** Id of this process, new at each start. Deliveries that an earlier process left behind become `unknown`. */
  readonly nodeId: string
  /** Counts the results of attempts. */
  readonly ended?: Tally
  readonly limits?: DeliverySlotLimits
  /** How long other nodes assume that this node is sending after its lease was renewed. Default 30000. */
  readonly leaseMs?: number
  /** Renews the lease, independently of this runner's work. */
  readonly leases: Leases
  /** The clock that leases are judged by. */
  readonly time: { isEven(forMs: number): Promise<boolean> }
  /** How long `stop` waits for deliveries in progress. Default 15000, the limit of a whole exchange. */
  readonly drainMs?: () => number
}

export interface Runner {
  /**
   * Signals that there may be something to send. Cheap: call it after each commit that wrote to the outbox or
   * requested a redelivery.
   */
  wake(): void
  /** Starts. Rejects with StoreUnavailable when the store does not accept the lease. */
  start(): Promise<void>
  /** Starts no more deliveries, waits for those in progress, and records them. Idempotent. */
  stop(): Promise<void>
}

/**
 * The most queries of one search for webhooks that may have a slot. Each answers as many webhooks as there are slots, so that those of
 * an account that all hang, of which it has a thousand, do not hide the others.
 */
const QUERIES_MAX = 20
/** The most results that are recorded in one transaction. */
const ENDS_AT_ONCE = 100
const EXPIRED_AT_ONCE = 1000
const RETRIES_AT_ONCE = 1000
const AFTER_ERROR_MS = 1000
/**
 * A whole exchange takes fifteen seconds at most. If a delivery started this long ago, its node has lost track of
 * it.
 */
const FORGOTTEN_MS = 120_000
const LOST = say(coded('delivery_result_lost'))

/** The result of an attempt that is not stored yet, with its log line if it has ended. */
type UnwrittenResult = (Ended & { readonly line: Fields }) | Unsent

const dueOf = ({ url, failuresInRow, ...webhook }: DueWebhook): Due => ({
  ...webhook,
  isFailing: (failuresInRow ?? 0) > 0,
  receiver: (url === null ? null : URL.parse(url)?.host) ?? '',
})

/** Sends the events of the outbox, each at most once to each webhook, on any number of nodes. */
export function createRunner(options: RunnerOptions): Runner {
  return new DeliveryRunner(options)
}

/**
 * Three loops with one transaction per round, so that many deliveries share one sync of the disk: events become
 * rows; rows become `started` and are sent; results are written. A slot is free again when the result is stored.
 */
class DeliveryRunner implements Runner {
  readonly #options: RunnerOptions
  readonly #leaseMs: number
  readonly #stopping = new AbortController()
  readonly #giveUp = new AbortController()
  readonly #routing = new Bell()
  readonly #claiming = new Bell()
  readonly #recording = new Bell()
  readonly #sending = new Set<Promise<void>>()
  readonly #results: UnwrittenResult[] = []
  #slots: DeliverySlots
  #loops: Promise<unknown> = Promise.resolve()
  #sweeping: Repetition | null = null
  #following: ReturnType<DueWork['on']> | null = null
  #stopped: Promise<void> | null = null

  constructor(options: RunnerOptions) {
    this.#options = options
    this.#leaseMs = options.leaseMs ?? 30_000
    this.#slots = emptySlots(options.limits)
  }

  wake(): void {
    this.#routing.ring()
    this.#claiming.ring()
  }

  async start(): Promise<void> {
    const { nodeId: id, store, leases, due } = this.#options
    await store.transaction((tx) => tx.deliveries.renew(id, this.#leaseMs))
    leases.keep({ kind: 'deliveries', id, leaseMs: this.#leaseMs })
    await this.#sweep()
    this.#following = due.on('deliveries', async () => this.wake())
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
    this.#stopping.abort()
    await this.#following?.stop()
    for (const bell of [this.#routing, this.#claiming, this.#recording]) bell.ring()
    await this.#loops
    await this.#drain()
    await this.#sweeping?.stop()
    // If this cannot be written now, the next node that sweeps gives the deliveries up.
    await this.#attempt(() => this.#leave())
  }

  async #leave(): Promise<void> {
    while (this.#results.length > 0) await this.#record()
    await this.#options.leases.release(this.#options.nodeId)
    await this.#options.store.transaction((tx) => tx.deliveries.leave(this.#options.nodeId))
  }

  async #drain(): Promise<void> {
    const done = Promise.all(this.#sending)
    await inTime(this.#options.clock, this.#options.drainMs?.() ?? 15_000, done)
    this.#giveUp.abort()
    await done
  }

  /** Repeats `round` until there is nothing left, then waits for the bell. */
  async #loop(bell: Bell, round: () => Promise<boolean>): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const more = await this.#attempt(round)
      if (!more && !this.#stopping.signal.aborted) await bell.wait()
    }
  }

  /** An unavailable store must not end a loop. After a pause the round is repeated. */
  async #attempt(round: () => Promise<boolean | void>): Promise<boolean> {
    try {
      return (await round()) ?? false
    } catch (error) {
      this.#options.log.warn({ err: error }, 'deliveries are delayed')
      await pause(this.#options.clock, AFTER_ERROR_MS, this.#stopping.signal)
      return true
    }
  }

  async #route(): Promise<boolean> {
    const { store, clock, random } = this.#options
    if (await offerProbes(store, clock.now(), random)) this.#claiming.ring()
    const hasReleased = await this.#releaseRetries()
    // Reads first, so that an empty outbox costs no transaction.
    const waiting = await store.read.outbox.pending(EVENTS_AT_ONCE)
    if (waiting.length === 0) return hasReleased
    const { pending } = await store.transaction((tx) => fanOut(tx, waiting, clock.now(), random))
    if (pending > 0) this.#claiming.ring()
    return true
  }

  /** True: there may be more. Thousands of one webhook, which wait for the end of its pause, keep those of others for no second. */
  async #releaseRetries(): Promise<boolean> {
    const { store, clock } = this.#options
    const nowMs = clock.now()
    if (!(await store.read.deliveries.isRetryDue(nowMs))) return false
    const released = await store.transaction((tx) => tx.deliveries.release(nowMs, RETRIES_AT_ONCE))
    this.#claiming.ring()
    return released > 0
  }

  async #claim(): Promise<boolean> {
    for await (const due of this.#due()) {
      const { slots, claims } = claim(this.#slots, due)
      if (claims.length === 0) continue
      this.#slots = slots
      const batch = await this.#begin(claims)
      for (const one of batch.started) this.#send(one, batch.sinceMs)
      return batch.started.length + batch.aside > 0
    }
    return false
  }

  /** Slots that were claimed and not needed are released, also when the store fails. */
  async #begin(claims: readonly Claim[]): Promise<{ started: StartedDelivery[]; aside: number; sinceMs: number }> {
    const { store, clock, nodeId: node } = this.#options
    const sinceMs = clock.monotonic()
    const options = { sender: this.#options, node, nowMs: clock.now(), cap: this.#slots.limits.perWebhook }
    let started: StartedDelivery[] = []
    try {
      const done = await store.transaction((tx) => begin(tx, claims, options))
      started = done.started
      return { ...done, sinceMs }
    } finally {
      for (const { webhookId, take } of claims) {
        const used = started.filter((one) => one.webhookId === webhookId).length
        for (let unused = take - used; unused > 0; unused -= 1) this.#slots = finish(this.#slots, webhookId)
      }
    }
  }

  /** Due webhooks in parts, starting after the last one served, once around. */
  async *#due(): AsyncGenerator<Due[]> {
    const { limits, lastServed } = this.#slots
    const without = saturated(this.#slots)
    if (without === null) return
    const { deliveries } = this.#options.store.read
    const ask = { without, upTo: limits.perWebhook, limit: limits.total }
    let [part, queries]: [Due[], number] = [[], 0]
    for (const [fromId, untilId] of [
      [lastServed, Number.MAX_SAFE_INTEGER],
      [0, lastServed],
    ] as const) {
      for (let after = fromId; after < untilId && queries < QUERIES_MAX; queries += 1) {
        const found = await deliveries.due({ ...ask, after })
        part.push(...found.filter(({ webhookId }) => webhookId <= untilId).map(dueOf))
        if (part.length >= limits.total) {
          yield part
          part = []
        }
        after = found.length < limits.total ? untilId : (found.at(-1)?.webhookId ?? untilId)
      }
    }
    if (part.length > 0) yield part
  }

  #send(one: StartedDelivery, sinceMs: number): void {
    const { attempt } = one
    const exchange = this.#exchange(one, sinceMs)
    void this.#notePace(one.webhookId, exchange)
    const sending = exchange.then((result) => {
      this.#sending.delete(sending)
      const line = (ended: Ended): Fields => deliveryLine(this.#options.nodeId, one, ended)
      this.#results.push('end' in result ? { ...result, attempt, line: line(result) } : result)
      this.#recording.ring()
    })
    this.#sending.add(sending)
  }

  /** Known before a hanging exchange ends, so that many of them do not take all slots meanwhile. */
  async #notePace(webhookId: number, exchange: Promise<unknown>): Promise<void> {
    const isSlow = (await inTime(this.#options.clock, SLOW_MS, exchange)) === null
    this.#slots = paced(this.#slots, webhookId, isSlow ? 'slow' : 'quick')
    // It takes less of a slot from now on.
    if (isSlow) this.#claiming.ring()
  }

  /** After standing still for longer than its lease this node sends nothing: others may have given the delivery up. */
  async #exchange({ id, webhookId, request }: StartedDelivery, sinceMs: number): Promise<Ended | Unsent> {
    const { clock, egress } = this.#options
    const stoodStill = (): boolean => clock.monotonic() - sinceMs > this.#leaseMs
    if (stoodStill()) return { webhookId, unsent: id }
    try {
      const outcome = await egress.send({ ...request, signal: this.#giveUp.signal })
      if (isUnsent(outcome, stoodStill())) return { webhookId, unsent: id }
      return deliveryEndOf({ id, webhookId, url: request.url }, outcome, clock.now())
    } catch (error) {
      return interrupted(id, webhookId, error, clock.now())
    }
  }

  async #record(): Promise<boolean> {
    const batch = this.#results.slice(0, ENDS_AT_ONCE)
    if (batch.length === 0) return false
    await this.#options.store.transaction((tx) => recordEnds(tx, this.#options.nodeId, batch, this.#options.random))
    this.#results.splice(0, batch.length)
    for (const result of batch) this.#report(result)
    for (const { webhookId } of batch) this.#slots = finish(this.#slots, webhookId)
    this.#claiming.ring()
    return true
  }

  #report(result: UnwrittenResult): void {
    const { ended, attempts, log, nodeId: node } = this.#options
    if ('unsent' in result) {
      log.warn({ node, deliveryId: result.unsent }, 'a delivery could not be sent in time, and is pending again')
      return
    }
    ended?.add(result.end.state)
    attempts.info(result.line, 'a delivery has ended')
  }

  #keepSweeping(): Repetition {
    const { clock, log, random: jitter } = this.#options
    const name = 'give up what dead servers were delivering'
    return repeat({ clock, log, name, everyMs: this.#leaseMs / 6, pausesFirst: true, jitter }, () => this.#sweep())
  }

  /** Gives up the deliveries that dead nodes had started. */
  async #sweep(): Promise<void> {
    const { store, clock, time } = this.#options
    const nowMs = clock.now()
    // Reads first, so that a node whose deliveries are all in order costs no transaction.
    if (!(await store.read.deliveries.isSomeLost(nowMs - FORGOTTEN_MS))) return
    if (!(await time.isEven(this.#leaseMs))) return
    const retryId = () => timeOrderedId(nowMs, this.#options.random)
    const expiry = { nowMs, startedBeforeMs: nowMs - FORGOTTEN_MS, reason: LOST, limit: EXPIRED_AT_ONCE, retryId }
    const lost = await store.transaction((tx) => tx.deliveries.expire(expiry))
    if (lost > 0)
      this.#options.log.warn({ lost }, 'deliveries were in progress when a server stopped; their results are unknown')
  }
}
