import type { Clock } from '../base/clock.ts'
import { MINUTE_MS } from '../base/time.ts'
import type { SessionRegistry } from '../media/sessionRegistry.ts'
import type { AccountCount } from '../media/streamCounts.ts'
import type { Store, StoredMinute } from '../store/store.ts'

/** Minutes that may wait while the store is unavailable; the oldest are dropped. */
const WAITING_MAX = 10_000

/**
 * Viewers and bytes of each account by minute, at this node. Costs one step for each account, however many sessions there
 * are. Rows hold totals of their minute, so that a write whose answer was lost may be repeated.
 */
export class AccountMinutes {
  readonly #clock: Clock
  readonly #sessions: SessionRegistry
  readonly #before = new Map<string, Pick<AccountCount, 'bytesIn' | 'bytesOut'>>()
  /** By account: its minute in progress. */
  readonly #current = new Map<string, StoredMinute>()
  /** Rows that changed since they were written, by account, minute and node. */
  readonly #changed = new Map<string, StoredMinute>()

  constructor({ clock, sessions }: { readonly clock: Clock; readonly sessions: SessionRegistry }) {
    this.#clock = clock
    this.#sessions = sessions
  }

  /** Takes the current counts. Call it every two seconds. */
  sample(): void {
    if (this.#sessions.node === '') return
    for (const [accountId, count] of this.#sessions.streams.accounts()) this.#sampleOne(accountId, count)
  }

  /** Writes the rows that have changed, in one transaction. */
  async write(store: Store): Promise<void> {
    const written = [...this.#changed]
    if (written.length === 0) return
    await store.transaction((tx) => tx.minutes.put(written.map(([, row]) => row)))
    // A row that changed meanwhile is another object.
    for (const [key, row] of written) if (this.#changed.get(key) === row) this.#changed.delete(key)
  }

  #sampleOne(accountId: string, { viewers, bytesIn, bytesOut }: Readonly<AccountCount>): void {
    const before = this.#before.get(accountId) ?? { bytesIn: 0, bytesOut: 0 }
    this.#before.set(accountId, { bytesIn, bytesOut })
    const row = this.#rowOf(accountId)
    const next = {
      ...row,
      viewers: Math.max(row.viewers, viewers),
      bytesIn: row.bytesIn + bytesIn - before.bytesIn,
      bytesOut: row.bytesOut + bytesOut - before.bytesOut,
    }
    if (isSame(row, next)) return
    this.#current.set(accountId, next)
    const [oldest] = this.#changed.size >= WAITING_MAX ? this.#changed.keys() : []
    if (oldest !== undefined) this.#changed.delete(oldest)
    this.#changed.set(`${accountId} ${next.minuteMs} ${next.node}`, next)
  }

  /** The row of the minute in progress. */
  #rowOf(accountId: string): StoredMinute {
    const nowMs = this.#clock.now()
    const [minuteMs, { node }] = [nowMs - (nowMs % MINUTE_MS), this.#sessions]
    const current = this.#current.get(accountId)
    if (current?.minuteMs === minuteMs && current.node === node) return current
    return { accountId, minuteMs, node, viewers: 0, bytesIn: 0, bytesOut: 0 }
  }
}

const isSame = (a: StoredMinute, b: StoredMinute): boolean =>
  a.viewers === b.viewers && a.bytesIn === b.bytesIn && a.bytesOut === b.bytesOut
