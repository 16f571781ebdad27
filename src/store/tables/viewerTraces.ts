import { type Kysely, sql } from 'kysely'
import { type Executor, statement, Verbs } from '../executor.ts'
import type { ViewerTraces } from '../store.ts'
import { lockRows } from './lockRows.ts'
import { addToHours, takeHours } from './usage.ts'

/** In place of an address that was forgotten. */
export const NO_ADDRESS = '0.0.0.0'

/** Tables whose rows name a viewer. Only these columns matter here. */
type TraceTable = 'sessions' | 'access_log' | 'usage' | 'node_usage' | 'distribution_bytes'
type AnyTable = Kysely<{
  traces: { id: string; account_id: string; address: string; tracking_id: string; ended_at_ms: number | null }
}>

interface Viewer {
  readonly accountId: string
  /** The address or the tracking id. */
  readonly value: string
}

const tracesIn = (db: unknown, table: TraceTable, column: 'address' | 'tracking_id', p: Viewer) =>
  (db as AnyTable)
    .selectFrom(table as 'traces')
    .where('account_id', '=', p.accountId)
    .where(column, '=', p.value)

const counting = (table: TraceTable, column: 'address' | 'tracking_id') =>
  statement((db, p: Viewer) => tracesIn(db, table, column, p).select(({ fn }) => fn.countAll<number>().as('count')))

const countSessions = counting('sessions', 'address')
const countTracked = counting('sessions', 'tracking_id')
const countLog = counting('access_log', 'address')
/** Hours: those of days and months are the same. */
const countUsage = statement((db, p: Viewer) =>
  tracesIn(db, 'usage', 'tracking_id', p)
    .where('tracking_id', '<>', '')
    .where(sql`span`, '=', 'hour')
    .select(({ fn }) => fn.countAll<number>().as('count')),
)
/** Of sessions that are open, or that ended a moment ago: their node adds these rows to the sums. */
const countNodeUsage = counting('node_usage', 'tracking_id')
const countServed = counting('distribution_bytes', 'tracking_id')

const countBindings = statement((db, p: Viewer) =>
  db
    .selectFrom('bindings')
    .innerJoin('tokens', 'tokens.id', 'bindings.token_id')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('tokens.account_id', '=', p.accountId)
    .where('bindings.address', '=', p.value),
)

const ended = (column: 'address' | 'tracking_id') =>
  statement((db, p: Viewer & { limit: number }) =>
    tracesIn(db, 'sessions', column, p).select('id').where('ended_at_ms', 'is not', null).limit(p.limit),
  )

const endedSessions = ended('address')
const endedTracked = ended('tracking_id')

const deleteLog = statement((db, p: Viewer & { limit: number }) =>
  db
    .deleteFrom('access_log')
    .where('account_id', '=', p.accountId)
    .where('address', '=', p.value)
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('access_log as old')
        .select('old.id')
        .where('old.account_id', '=', p.accountId)
        .where('old.address', '=', p.value)
        .limit(p.limit),
    ),
)

const boundTokens = statement((db, p: Viewer & { limit: number }) =>
  db
    .selectFrom('bindings')
    .innerJoin('tokens', 'tokens.id', 'bindings.token_id')
    .select('tokens.id')
    .where('tokens.account_id', '=', p.accountId)
    .where('bindings.address', '=', p.value)
    .orderBy('tokens.id')
    .limit(p.limit),
)

/** The place stays taken, so that a token for N addresses does not admit one more. */
const clearBinding = statement((db, p: { tokenId: number; value: string }) =>
  db
    .updateTable('bindings')
    .set({ address: sql<string>`'forgotten-' || cast(ord as text)` })
    .where('token_id', '=', p.tokenId)
    .where('address', '=', p.value),
)

const firstServed = statement((db, p: Viewer) =>
  db
    .selectFrom('distribution_bytes')
    .select('slot_ms as atMs')
    .where('account_id', '=', p.accountId)
    .where('tracking_id', '=', p.value)
    .orderBy('slot_ms')
    .limit(sql.lit(1)),
)

export class ViewerTraceReadVerbs extends Verbs {
  async count(accountId: string, by: 'address' | 'trackingId', value: string): Promise<ViewerTraces> {
    const count = async (query: typeof countSessions) =>
      (await this.executor.first(query, { accountId, value }))?.count ?? 0
    const none = { sessions: 0, accessLog: 0, bindings: 0, usage: 0 }
    if (by === 'trackingId') {
      const usage = (await count(countUsage)) + (await count(countNodeUsage)) + (await count(countServed))
      return { ...none, sessions: await count(countTracked), usage }
    }
    return {
      ...none,
      sessions: await count(countSessions),
      accessLog: await count(countLog),
      bindings: await count(countBindings),
    }
  }
}

export class ViewerTraceTxVerbs extends ViewerTraceReadVerbs {
  /** Ended sessions only: a running one still writes. */
  async forgetSessions(
    { accountId, by, value }: { accountId: string; by: 'address' | 'trackingId'; value: string },
    limit: number,
  ): Promise<number> {
    const found = by === 'address' ? endedSessions : endedTracked
    const ids = (await this.executor.all(found, { accountId, value, limit })).map(({ id }) => id)
    if (ids.length === 0) return 0
    const identity = { address: NO_ADDRESS, tracking_id: null, jti: null, custom_viewer_data: null }
    const nothing = { ...identity, origin: null, country: null, device: null, browser: null, quality: null }
    await this.executor.change((db, dialect) => {
      // The order of every lock on several sessions.
      const own = db.selectFrom('sessions as own').select('own.id').where('own.id', 'in', ids).orderBy('own.id')
      return db
        .updateTable('sessions')
        .set(nothing)
        .where('id', 'in', lockRows(dialect, own, 'no key update'))
    })
    return ids.length
  }

  forgetAccessLog(accountId: string, value: string, limit: number): Promise<number> {
    return this.executor.run(deleteLog, { accountId, value, limit })
  }

  /** Returns the tokens, so that caches drop them. */
  async forgetBindings(accountId: string, value: string, limit: number): Promise<number[]> {
    const ids = (await this.executor.all(boundTokens, { accountId, value, limit })).map(({ id }) => id)
    for (const tokenId of ids) await this.executor.run(clearBinding, { tokenId, value })
    return ids
  }

  /** Adds hours and one slot of a tracking id to the sums without one. Returns the number of rows; 0: there are no more. */
  async forgetUsage(accountId: string, value: string, limit: number): Promise<number> {
    const slot = await this.executor.first(firstServed, { accountId, value })
    const slots = slot === undefined ? 0 : await mergeSlot(this.executor, { accountId, value, atMs: slot.atMs })
    const chosen = sql`old.account_id = ${accountId} and old.tracking_id = ${value} and old.tracking_id <> ''`
    const hours = await takeHours(this.executor, chosen, limit)
    const anonymous = hours.map((hour) => ({ ...hour, trackingId: '' }))
    await addToHours(this.executor, anonymous)
    return slots + hours.length
  }
}

interface At extends Viewer {
  readonly atMs: number
}

async function mergeSlot(executor: Executor, { accountId, value, atMs }: At): Promise<number> {
  const of = sql`account_id = ${accountId} and tracking_id = ${value} and slot_ms = ${atMs}`
  const key = ['distribution_id', 'slot_ms', 'country']
  const rest = ['account_id', 'channel_id', 'bytes_out', 'viewed_ms', 'cache_bytes']
  await executor.change(
    () => sql`insert into distribution_bytes (${refs(key)}, tracking_id, ${refs(rest)})
      select ${refs(key)}, '', ${refs(rest)} from distribution_bytes where ${of} order by ${refs(key)}
      on conflict (${refs(key)}, tracking_id) do update set
        bytes_out = distribution_bytes.bytes_out + excluded.bytes_out,
        viewed_ms = distribution_bytes.viewed_ms + excluded.viewed_ms,
        cache_bytes = distribution_bytes.cache_bytes + excluded.cache_bytes`,
  )
  return executor.change(() => sql`delete from distribution_bytes where ${of}`)
}

const refs = (names: readonly string[]) => sql.join(names.map((name) => sql.ref(name)))
