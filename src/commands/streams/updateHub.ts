import { Batches } from '../../base/batches.ts'
import { isoTime } from '../../base/time.ts'
import { repeat, type Repetition } from '../../base/repeat.ts'
import { isPaused } from '../../core/webhooks/route.ts'
import type { SessionContext } from '../context.ts'
import { AccountUpdates, type SlowFacts, type UpdateReader } from './accountUpdates.ts'
import { firstStreamsOnAir } from './streamsOnAir.ts'

/** Figures change all the time; more often would only cost. */
const FIGURES_MS = 2_000
/** How soon a start or an end is looked up: a burst of them costs one look. */
const WAKE_MS = 100
/** Paused webhooks and engines are read less often. */
const SLOW_MS = 10_000
/** How long the updates of an account continue without a reader, so that one that comes back misses nothing. */
const LINGER_MS = 60_000
const STREAMS_MAX = 2_000
/** More edits in one look are of the same few kinds. */
const EDITS_MAX = 200
const READERS_MAX = 500
const READERS_PER_USER = 10
/** An account may have so many times as many as are free: the first may have 375, and the last reader is never of an account with others. */
const OF_FREE = 3

/**
 * Follows what changes for open dashboards: streams at all nodes, refusals at this node, paused webhooks and engines. It
 * reads each account once for all of its readers, and nothing while there are none.
 */
export class UpdateHub {
  readonly #ctx: SessionContext
  readonly #accounts = new Map<string, AccountUpdates>()
  readonly #unwatch: readonly (() => void)[]
  readonly #looks = new Batches<'look'>(1)
  #readers = 0
  #rounds: Repetition | null = null
  #isWoken = false
  #isStopped = false
  #figuresAtMs = Number.NEGATIVE_INFINITY
  #slowAtMs = Number.NEGATIVE_INFINITY

  constructor(ctx: SessionContext) {
    this.#ctx = ctx
    this.#unwatch = [
      ctx.sessions.feeds.watch(() => this.#wake()),
      ctx.cache.onChange(({ kind }) => {
        if (kind === 'feed' || kind === 'all') this.#wake()
      }),
      ctx.recorder.watch(({ accountId, source, allowed, code }) => {
        const updates = this.#accounts.get(accountId)
        if (updates === undefined) return
        updates.decided += 1
        if (source === 'admission' && !allowed) updates.refused.add(code ?? 'other')
      }),
    ]
  }

  /**
   * Adds a reader. Returns the function that removes it; null: too many are open, of this user, of this account or in all, or the
   * server is stopping.
   */
  open(reader: UpdateReader, lastId: string | null): (() => void) | null {
    const { accountId, userId } = reader
    const updates = this.#accounts.get(accountId) ?? new AccountUpdates(this.#ctx.random.bytes(9).toString('hex'))
    const ofUser = [...updates.readers].filter((one) => one.userId === userId).length
    const free = READERS_MAX - this.#readers
    if (this.#isStopped || free === 0 || ofUser >= READERS_PER_USER || updates.readers.size >= OF_FREE * free)
      return null
    this.#accounts.set(accountId, updates)
    this.#readers += 1
    updates.add(reader, lastId)
    this.#begin()
    return () => this.#close(updates, reader)
  }

  /** Ends all readers. Idempotent. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const stop of this.#unwatch) stop()
    for (const { readers } of this.#accounts.values()) for (const reader of readers) reader.end()
    await this.#rounds?.stop()
    await this.#look().catch(() => undefined)
  }

  #close(updates: AccountUpdates, reader: UpdateReader): void {
    if (!updates.readers.has(reader)) return
    updates.remove(reader)
    updates.usedAtMs = this.#ctx.clock.monotonic()
    this.#readers -= 1
  }

  #begin(): void {
    const { clock, log } = this.#ctx
    if (this.#rounds) return this.#wake()
    this.#rounds = repeat({ clock, log, name: 'follow streams for dashboards', everyMs: FIGURES_MS }, async () => {
      await this.#look()
      if (this.#accounts.size > 0) return undefined
      this.#rounds = null
      return 'done'
    })
    return undefined
  }

  #wake(): void {
    if (this.#isWoken || this.#isStopped || this.#accounts.size === 0) return
    this.#isWoken = true
    void this.#ctx.clock.sleep(WAKE_MS).then(() => {
      this.#isWoken = false
      // The next round repeats what fails here, and logs it.
      return this.#look().catch(() => undefined)
    })
  }

  /** One look at a time, which may take long: all that ask meanwhile share the next one. */
  #look(): Promise<void> {
    return this.#looks.add('look', () => this.#lookOnce())
  }

  async #lookOnce(): Promise<void> {
    if (this.#isStopped) return
    this.#forgetUnused()
    const nowMs = this.#ctx.clock.monotonic()
    const withFigures = nowMs - this.#figuresAtMs >= FIGURES_MS
    if (withFigures) this.#figuresAtMs = nowMs
    for (const [accountId, updates] of this.#accounts) {
      updates.streamsAre(await firstStreamsOnAir(this.#ctx, accountId, STREAMS_MAX), withFigures)
      if (withFigures || !updates.knowsEdits)
        updates.editsAre(await this.#ctx.store.read.audit.actions(accountId, EDITS_MAX))
      updates.welcome()
    }
    if (nowMs - this.#slowAtMs < SLOW_MS) return
    this.#slowAtMs = nowMs
    await this.#lookSlowly()
  }

  async #lookSlowly(): Promise<void> {
    const { read } = this.#ctx.store
    const engines = await read.engines.unstopped()
    for (const [accountId, updates] of this.#accounts) {
      const nowMs = this.#ctx.clock.now()
      const paused = (await read.webhooks.forAccount(accountId)).filter((webhook) => isPaused(webhook, nowMs))
      const facts: SlowFacts = {
        paused: new Map(paused.map(({ id, disabled }) => [String(id), isoTime(disabled?.untilMs ?? 0)])),
        engines: new Map(engines.filter((one) => one.accountId === accountId).map((one) => [one.id, one])),
      }
      updates.slowFactsAre(facts)
    }
  }

  #forgetUnused(): void {
    const sinceMs = this.#ctx.clock.monotonic() - LINGER_MS
    for (const [accountId, { readers, usedAtMs }] of this.#accounts)
      if (readers.size === 0 && usedAtMs < sinceMs) this.#accounts.delete(accountId)
  }
}
