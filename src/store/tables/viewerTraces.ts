import { sql } from 'kysely'
import { type Executor, statement, Verbs } from '../executor.ts'
import type { ViewerTraces } from '../store.ts'

/** In place of an address that was forgotten. */
export const NO_ADDRESS = '0.0.0.0'

const countSessions = statement((db, p: { accountId: string; value: string }) =>
  db
    .selectFrom('sessions')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', p.accountId)
    .where('address', '=', p.value),
)

const countTracked = statement((db, p: { accountId: string; value: string }) =>
  db
    .selectFrom('sessions')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', p.accountId)
    .where('tracking_id', '=', p.value),
)

const countLog = statement((db, p: { accountId: string; value: string }) =>
  db
    .selectFrom('access_log')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', p.accountId)
    .where('address', '=', p.value),
)

const countBindings = statement((db, p: { accountId: string; value: string }) =>
  db
    .selectFrom('bindings')
    .innerJoin('tokens', 'tokens.id', 'bindings.token_id')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('tokens.account_id', '=', p.accountId)
    .where('bindings.address', '=', p.value),
)

const countUsage = statement((db, p: { accountId: string; value: string }) =>
  db
    .selectFrom('usage_hourly')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', p.accountId)
    .where('tracking_id', '=', p.value),
)

/** Of sessions that are open, or that ended a moment ago: their node adds these rows to the sums. */
const countNodeUsage = statement((db, p: { accountId: string; value: string }) =>
  db
    .selectFrom('node_usage')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', p.accountId)
    .where('tracking_id', '=', p.value),
)

const countServed = statement((db, p: { accountId: string; value: string }) =>
  db
    .selectFrom('distribution_bytes')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', p.accountId)
    .where('tracking_id', '=', p.value),
)

const endedSessions = statement((db, p: { accountId: string; value: string; limit: number }) =>
  db
    .selectFrom('sessions')
    .select('id')
    .where('account_id', '=', p.accountId)
    .where('address', '=', p.value)
    .where('ended_at_ms', 'is not', null)
    .limit(p.limit),
)

const endedTracked = statement((db, p: { accountId: string; value: string; limit: number }) =>
  db
    .selectFrom('sessions')
    .select('id')
    .where('account_id', '=', p.accountId)
    .where('tracking_id', '=', p.value)
    .where('ended_at_ms', 'is not', null)
    .limit(p.limit),
)

const deleteLog = statement((db, p: { accountId: string; value: string; limit: number }) =>
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

const boundTokens = statement((db, p: { accountId: string; value: string; limit: number }) =>
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

const firstUsage = statement((db, p: { accountId: string; value: string }) =>
  db
    .selectFrom('usage_hourly')
    .select('hour_ms as atMs')
    .where('account_id', '=', p.accountId)
    .where('tracking_id', '=', p.value)
    .orderBy('hour_ms')
    .limit(sql.lit(1)),
)

const firstServed = statement((db, p: { accountId: string; value: string }) =>
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
    await this.executor.change((db) => db.updateTable('sessions').set(nothing).where('id', 'in', ids))
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

  /** Adds one hour and one slot of a tracking id to the sums without one. Returns the number of rows; 0: there are no more. */
  async forgetUsage(accountId: string, value: string): Promise<number> {
    const hour = await this.executor.first(firstUsage, { accountId, value })
    const slot = await this.executor.first(firstServed, { accountId, value })
    const hours = hour === undefined ? 0 : await mergeHour(this.executor, { accountId, value, atMs: hour.atMs })
    return hours + (slot === undefined ? 0 : await mergeSlot(this.executor, { accountId, value, atMs: slot.atMs }))
  }
}

interface At {
  readonly accountId: string
  readonly value: string
  readonly atMs: number
}

async function mergeHour(executor: Executor, { accountId, value, atMs }: At): Promise<number> {
  const of = sql`account_id = ${accountId} and tracking_id = ${value} and hour_ms = ${atMs}`
  const columns = ['account_id', 'hour_ms', 'stream_name', 'protocol', 'token_id']
  await run(
    executor,
    sql`insert into usage_hourly (${refs(columns)}, tracking_id, country, bytes_in, bytes_out, cache_bytes)
      select ${refs(columns)}, '', country, bytes_in, bytes_out, cache_bytes from usage_hourly where ${of}
      on conflict (${refs(columns)}, tracking_id, country) do update set
        bytes_in = usage_hourly.bytes_in + excluded.bytes_in, bytes_out = usage_hourly.bytes_out + excluded.bytes_out,
        cache_bytes = usage_hourly.cache_bytes + excluded.cache_bytes`,
  )
  return run(executor, sql`delete from usage_hourly where ${of}`)
}

async function mergeSlot(executor: Executor, { accountId, value, atMs }: At): Promise<number> {
  const of = sql`account_id = ${accountId} and tracking_id = ${value} and slot_ms = ${atMs}`
  const key = ['distribution_id', 'slot_ms', 'country']
  const rest = ['account_id', 'channel_id', 'bytes_out', 'viewed_ms', 'cache_bytes']
  await run(
    executor,
    sql`insert into distribution_bytes (${refs(key)}, tracking_id, ${refs(rest)})
      select ${refs(key)}, '', ${refs(rest)} from distribution_bytes where ${of}
      on conflict (${refs(key)}, tracking_id) do update set
        bytes_out = distribution_bytes.bytes_out + excluded.bytes_out,
        viewed_ms = distribution_bytes.viewed_ms + excluded.viewed_ms,
        cache_bytes = distribution_bytes.cache_bytes + excluded.cache_bytes`,
  )
  return run(executor, sql`delete from distribution_bytes where ${of}`)
}

const refs = (names: readonly string[]) => sql.join(names.map((name) => sql.ref(name)))

const run = async (executor: Executor, query: ReturnType<typeof sql>): Promise<number> =>
  (await executor.execute(query.compile(executor.engine.db))).changed
