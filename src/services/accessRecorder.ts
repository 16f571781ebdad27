import { DAY_MS } from '../base/time.ts'
import { workApart } from '../base/apart.ts'
import type { Clock } from '../base/clock.ts'
import { timeOrderedId } from '../base/ids.ts'
import type { Logger } from '../base/log.ts'
import { fraction, type Random } from '../base/random.ts'
import { Tally } from '../base/tally.ts'
import type { TraceStep } from '../core/access/types.ts'
import { type AccessLogRow, isUnavailable, type Store } from '../store/store.ts'
import { DiskGuard } from './diskGuard.ts'
import { KnownAccounts } from './knownAccounts.ts'
import { type BudgetOptions, RowBudget } from './rowBudget.ts'

/** Read at each use, so they may change. */
export interface AccessLogLimits extends BudgetOptions {
  /** 0 to 1: the sampling rate of refusals and of admissions. */
  refusalRate: number
  admissionRate: number
  /** The most rows that may wait to be written; more are dropped and counted. */
  bufferRows: number
  /** The free disk space below which recording pauses, capped at a twentieth of the disk. */
  minFreeMegabytes: number
}

export interface AccessRecorderOptions {
  store: Store
  clock: Clock
  random: Random
  log: Logger
  limits: AccessLogLimits
}

/** A decision to record: the fields that it shares with its repeats. */
export type Noted = Omit<AccessLogRow, 'id' | 'atMs' | 'count' | 'lastAtMs'>

/** Why decisions are left out. */
const DROP_REASONS = [
  'address_budget',
  'account_budget',
  'total_budget',
  'unknown_account',
  'disk_full',
  'buffer_full',
  'not_storable',
]
const BATCH = 500
/** Repeats of a refusal within this time of the first share its row. */
const FOLD_MS = 60_000
/** How often changed counts of saved rows are saved again. */
const COUNTS_MS = 10_000
/** Decisions that may wait for a check whether their account exists, and checks in one write. */
const UNSURE_MAX = 100
const LOOKS_MAX = 20
/** What a row contains of a trace: there are fewer steps, and most sentences are shorter. */
const STEPS_MAX = 16
const DETAIL_MAX = 255
/** Older rows are deleted when the disk is almost full. */
const OLD_MS = DAY_MS
const OLD_AT_ONCE = 1000

/**
 * Records decisions for `GET /api/access/log`. Recording never delays or changes a decision, and anonymous requests cannot
 * fill the disk or the memory: repeats of a refusal share one row, rows have a budget, an unknown account has none, and
 * recording pauses when the disk is nearly full.
 */
export class AccessRecorder {
  /** Decisions that were dropped, by reason, for metrics. */
  readonly dropped = new Tally(DROP_REASONS)
  folded = 0
  readonly #options: AccessRecorderOptions
  readonly #accounts: KnownAccounts
  /** Of refusals and of admissions: neither can use up the rows of the other. */
  readonly #refusals: RowBudget
  readonly #admissions: RowBudget
  readonly #disk: DiskGuard
  /** Refusals whose repeats share a row, by `keyOf`; the oldest first. */
  readonly #open = new Map<string, { readonly row: AccessLogRow; readonly untilMs: number }>()
  readonly #fresh = new Set<AccessLogRow>()
  /** Saved rows whose count has changed since. */
  readonly #changed = new Set<AccessLogRow>()
  readonly #listeners = new Set<(noted: Noted) => void>()
  #unsure: { readonly noted: Noted; readonly atMs: number }[] = []
  #countedMs = Number.NEGATIVE_INFINITY
  #writing: Promise<void> = Promise.resolve()

  constructor(options: AccessRecorderOptions) {
    this.#options = options
    this.#accounts = new KnownAccounts(options.clock)
    this.#refusals = new RowBudget(options.limits)
    this.#admissions = new RowBudget(options.limits)
    this.#disk = new DiskGuard({ ...options, minFreeBytes: () => options.limits.minFreeMegabytes * 1_000_000 })
  }

  /** Calls `listener` with each decision that is recorded; it must not throw. Returns the function that unsubscribes. */
  watch(listener: (noted: Noted) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  get limits(): Readonly<AccessLogLimits> {
    return this.#options.limits
  }

  /** Should this decision be recorded, whatever its account says? Random at a sampling rate below 1. */
  wants(allowed: boolean): boolean {
    const { limits, random } = this.#options
    const rate = allowed ? limits.admissionRate : limits.refusalRate
    if (rate >= 1) return true
    return rate > 0 && fraction(random) < rate
  }

  /**
   * Records one decision for which `wants` was true, or an admission that its account wants. Synchronous and cheap.
   *
   * @param accountExists true when the account certainly exists, as that of a token or an API secret does
   */
  note(noted: Noted, accountExists: boolean): void {
    for (const listener of this.#listeners) listener(noted)
    if (accountExists) this.#accounts.learn(noted.accountId)
    const exists = this.#accounts.has(noted.accountId)
    const atMs = this.#options.clock.now()
    if (exists === true) this.#take(noted, atMs)
    else if (exists === false || this.#unsure.length >= UNSURE_MAX) this.dropped.add('unknown_account')
    else this.#unsure.push({ noted, atMs })
  }

  /** Call it every second: saves new rows and, less often, changed counts. Deletes old rows when the disk is almost full. */
  async reconcile(): Promise<void> {
    await this.#disk.look(this.#options.store)
    if (this.#disk.isUrgent) await this.#makeRoom()
    this.#forgetOld()
    const nowMs = this.#options.clock.monotonic()
    const isTime = nowMs - this.#countedMs >= COUNTS_MS
    if (isTime) this.#countedMs = nowMs
    await this.#write(isTime)
  }

  /** Saves all rows that wait. What cannot be saved now stays, within the bound, for later. */
  flush(): Promise<void> {
    return this.#write(true)
  }

  #take(noted: Noted, atMs: number): void {
    if (this.#disk.isLow) return this.dropped.add('disk_full')
    const nowMs = this.#options.clock.monotonic()
    const key = noted.allowed ? null : keyOf(noted)
    if (key !== null && this.#fold(key, atMs, nowMs)) return undefined
    const used = (noted.allowed ? this.#admissions : this.#refusals).take(noted, nowMs)
    if (used !== null) return this.dropped.add(used)
    const { limits, random } = this.#options
    const { bufferRows } = limits
    if (this.#fresh.size >= bufferRows) return this.dropped.add('buffer_full')
    const row = {
      ...noted,
      trace: noted.trace && bounded(noted.trace),
      id: timeOrderedId(atMs, random),
      atMs,
      count: 1,
      lastAtMs: atMs,
    }
    this.#fresh.add(row)
    if (key !== null && this.#open.size < bufferRows) this.#open.set(key, { row, untilMs: nowMs + FOLD_MS })
    return undefined
  }

  /** Counts a repeat in its row; false when there is no such row. */
  #fold(key: string, atMs: number, nowMs: number): boolean {
    const open = this.#open.get(key)
    if (open === undefined) return false
    if (nowMs >= open.untilMs) {
      this.#open.delete(key)
      return false
    }
    const { row } = open
    row.count += 1
    row.lastAtMs = Math.max(row.lastAtMs, atMs)
    this.folded += 1
    if (!this.#fresh.has(row)) this.#changed.add(row)
    return true
  }

  #forgetOld(): void {
    const nowMs = this.#options.clock.monotonic()
    for (const [key, { untilMs }] of this.#open) {
      if (nowMs < untilMs) return
      this.#open.delete(key)
    }
  }

  /** Runs writes one after another. */
  #write(withCounts: boolean): Promise<void> {
    const written = this.#writing.then(() => this.#writeNow(withCounts))
    this.#writing = written.catch(() => undefined)
    return written
  }

  async #writeNow(withCounts: boolean): Promise<void> {
    try {
      await this.#checkAccounts()
      await this.#writeAll(this.#fresh)
      if (withCounts) await this.#writeAll(this.#changed)
    } catch (error) {
      if (!isUnavailable(error)) throw error
      if (error.isDiskFull) this.#dropAll()
      else this.#options.log.warn({ waiting: this.#fresh.size }, 'the access log cannot be written now')
    }
  }

  async #checkAccounts(): Promise<void> {
    const { length } = this.#unsure
    const accountIds = new Set(this.#unsure.map(({ noted }) => noted.accountId))
    for (const accountId of [...accountIds].slice(0, LOOKS_MAX))
      await this.#accounts.look(this.#options.store, accountId)
    // The accounts of those that have come meanwhile were not looked up: they wait for the next write.
    for (const { noted, atMs } of this.#unsure.splice(0, length)) {
      if (this.#accounts.has(noted.accountId) === true) this.#take(noted, atMs)
      else this.dropped.add('unknown_account')
    }
  }

  async #writeAll(waiting: Set<AccessLogRow>): Promise<void> {
    while (waiting.size > 0) {
      const batch = firstOf(waiting)
      for (const row of batch) waiting.delete(row)
      try {
        await this.#append(batch)
      } catch (error) {
        for (const row of batch) waiting.add(row)
        throw error
      }
    }
  }

  async #append(batch: readonly AccessLogRow[]): Promise<void> {
    const { store, log } = this.#options
    // Copies, because counts may change during the write; changed ones are saved again.
    const rows = batch.map((row) => ({ ...row }))
    await workApart(rows, (part) => store.transaction((tx) => tx.accessLog.append(part)), {
      isTransient: isUnavailable,
      refuse: (row, error) => {
        this.dropped.add('not_storable')
        log.error({ id: row.id, err: error }, 'a row of the access log cannot be stored and is left out')
      },
    })
  }

  /** Deletes old rows, so that other writes have room within the file. */
  async #makeRoom(): Promise<void> {
    const beforeMs = this.#options.clock.now() - OLD_MS
    try {
      await this.#options.store.transaction((tx) => tx.accessLog.prune(beforeMs, OLD_AT_ONCE))
    } catch (error) {
      if (!isUnavailable(error)) throw error
    }
  }

  /** Drops all rows that wait: the rest of the disk is for changes that users request. */
  #dropAll(): void {
    this.#disk.full()
    this.dropped.add('disk_full', this.#fresh.size)
    this.#fresh.clear()
    this.#changed.clear()
    this.#open.clear()
    this.#options.log.warn({}, 'the disk of the database is full: the access log is not written for a minute')
  }
}

function firstOf(rows: ReadonlySet<AccessLogRow>): AccessLogRow[] {
  const first: AccessLogRow[] = []
  for (const row of rows) if (first.push(row) === BATCH) break
  return first
}

/** A detail may quote what a client has sent. */
const bounded = (trace: readonly TraceStep[]): readonly TraceStep[] =>
  trace.slice(0, STEPS_MAX).map((step) => ({ ...step, detail: step.detail.slice(0, DETAIL_MAX) }))

/** Two refusals with the same key share a row. The country follows from the address. */
const keyOf = ({
  accountId,
  source,
  action,
  protocol,
  tokenId,
  jti,
  address,
  origin,
  code,
  message,
  streamName,
}: Noted): string =>
  JSON.stringify([accountId, source, action, protocol, tokenId, jti, address, origin, code, message, streamName])
