import { type Kysely, sql } from 'kysely'
import type { StreamRef } from '../../core/streams/streamId.ts'
import { statement, Verbs } from '../executor.ts'
import { fieldsOf } from '../records.ts'
import type { DB } from '../schema.ts'
import { lockRows } from './lockRows.ts'

const make = statement((db, p: StreamRef) =>
  db
    .insertInto('viewing')
    .values({
      account_id: p.accountId,
      stream_name: p.streamName,
      attempt_at_ms: sql.lit(0),
      viewed: sql.lit(0 as const),
    })
    .onConflict((c) => c.doNothing()),
)

const attempt = statement((db, p: StreamRef & { atMs: number; notAfterMs: number }) =>
  db
    .updateTable('viewing')
    .set({ attempt_at_ms: p.atMs })
    .where('account_id', '=', p.accountId)
    .where('stream_name', '=', p.streamName)
    .where('attempt_at_ms', '<=', p.notAfterMs),
)

const viewed = (db: Kysely<DB>, p: StreamRef) =>
  db
    .selectFrom('viewing')
    .select('viewed')
    .where('account_id', '=', p.accountId)
    .where('stream_name', '=', p.streamName)
    .where('viewed', '=', sql.lit(1 as const))

const isViewed = statement(viewed)

/** Blocks `desert` until the viewer is stored. A share lock, so that viewers do not wait for each other. */
const lockSharedViewed = statement((db, p: StreamRef, dialect) => lockRows(dialect, viewed(db, p), 'share'))

const become = statement((db, p: StreamRef & { viewed: 0 | 1 }) =>
  db
    .updateTable('viewing')
    .set({ viewed: p.viewed })
    .where('account_id', '=', p.accountId)
    .where('stream_name', '=', p.streamName)
    .where('viewed', '<>', p.viewed),
)

const prune = statement((db, p: { beforeMs: number }) =>
  db
    .deleteFrom('viewing')
    .where('viewed', '=', sql.lit(0 as const))
    .where('attempt_at_ms', '<', p.beforeMs),
)

/**
 * The stream has no viewers, and had none since `beforeMs`. One look into the index of a stream's viewers, whose order puts those who
 * still watch first. Only that index has this order: for "the first that is found" PostgreSQL would read all sessions where most are of
 * one stream, since it expects to meet one of any stream soon.
 */
const isEmpty = (beforeMs: number) =>
  sql<boolean>`coalesce((select coalesce(sessions.ended_at_ms, ${sql.lit(Number.MAX_SAFE_INTEGER)}) from sessions
    where sessions.account_id = viewing.account_id and sessions.stream_name = viewing.stream_name and sessions.action = 'view'
    order by sessions.ended_at_ms desc nulls first limit 1), 0) <= ${beforeMs}`

export class ViewingReadVerbs extends Verbs {
  idle(beforeMs: number, limit: number): Promise<StreamRef[]> {
    return this.executor.ask((db) =>
      db
        .selectFrom('viewing')
        .select(fieldsOf('viewing', ['account_id', 'stream_name']))
        .where('viewed', '=', sql.lit(1 as const))
        .where(isEmpty(beforeMs))
        .limit(limit),
    )
  }
}

export class ViewingTxVerbs extends ViewingReadVerbs {
  async attempt(stream: StreamRef, atMs: number, quietMs: number): Promise<boolean> {
    await this.executor.run(make, stream)
    return (await this.executor.run(attempt, { ...stream, atMs, notAfterMs: atMs - quietMs })) === 1
  }

  async begin(stream: StreamRef): Promise<boolean> {
    if ((await this.executor.first(isViewed, stream)) && (await this.executor.first(lockSharedViewed, stream)))
      return false
    await this.executor.run(make, stream)
    return (await this.executor.run(become, { ...stream, viewed: 1 })) === 1
  }

  /** Updates and so locks the row first, so that the number of viewers cannot change afterwards. */
  async desert(stream: StreamRef, beforeMs: number): Promise<boolean> {
    if ((await this.executor.run(become, { ...stream, viewed: 0 })) === 0) return false
    const [empty] = await this.executor.ask((db) =>
      db
        .selectFrom('viewing')
        .select('viewed')
        .where('account_id', '=', stream.accountId)
        .where('stream_name', '=', stream.streamName)
        .where(isEmpty(beforeMs)),
    )
    if (empty) return true
    await this.executor.run(become, { ...stream, viewed: 1 })
    return false
  }

  async prune(beforeMs: number): Promise<number> {
    return this.executor.run(prune, { beforeMs })
  }
}
