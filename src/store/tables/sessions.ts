import { sql } from 'kysely'
import { viewerQualityOf } from '../../core/quality/viewerQuality.ts'
import { readEndReason, type SessionEndReason } from '../../core/sessions/endReason.ts'
import type { Session, SessionScope } from '../../core/sessions/types.ts'
import type { StreamRef } from '../../core/streams/streamId.ts'
import type { DbBoolean } from '../columns.ts'
import { statement, Verbs } from '../executor.ts'
import { fieldsOf, type FieldsOf, insertion } from '../records.ts'
import { larger } from '../rowTable.ts'
import { namesWithout } from '../schema.ts'
import type { SessionAttempt, SessionEnd, SessionQuery, SessionReport, StoredSession } from '../store.ts'
import { keysetPage, matching } from './keyset.ts'
import { lockRows } from './lockRows.ts'
import { pruning } from './pruning.ts'
import { endSessions, type Total, writeQuality, writeTotals } from './sessionTotals.ts'

const insert = insertion(
  'sessions',
  namesWithout('sessions', 'feed_id', 'ended_at_ms', 'end_reason', 'kick', 'quality'),
)

/** Without what only reports of the audience say of viewers. */
const READ = namesWithout('sessions', 'device', 'browser', 'custom_viewer_data', 'spare', 'cache_bytes')

const COLUMNS = [
  ...fieldsOf('sessions', READ),
  'sessions.spare as isSpare',
  'sessions.cache_bytes as bytesFromCaches',
] as const

const byId = statement((db, p: { id: string }) => db.selectFrom('sessions').select(COLUMNS).where('id', '=', p.id))

const kicked = statement((db, p: { node: string; limit: number }) =>
  db
    .selectFrom('sessions')
    .select(['id', 'kick'])
    .where('node', '=', p.node)
    .where('ended_at_ms', 'is', null)
    .where('kick', 'is not', null)
    .limit(p.limit),
)

const attempts = statement((db, p: { tokenId: number; accountId: string; limit: number }) => {
  const read = ['action', 'protocol', 'stream_name', 'address', 'origin', 'country'] as const
  return (
    db
      .selectFrom('sessions')
      .select(fieldsOf('sessions', read))
      .where('account_id', '=', p.accountId)
      .where('token_id', '=', p.tokenId)
      .where('ended_at_ms', 'is', null)
      .where('kick', 'is', null)
      .groupBy(read)
      // Ids sort by the time of admission.
      .orderBy((eb) => eb.fn.min('id'))
      .limit(p.limit)
  )
})

const lockPublishers = statement((db, p: StreamRef, dialect) => {
  const open = db
    .selectFrom('sessions')
    .select('id')
    .where('account_id', '=', p.accountId)
    .where('stream_name', '=', p.streamName)
    .where('action', '=', 'publish')
    .where('ended_at_ms', 'is', null)
    // The order of every lock on several sessions.
    .orderBy('id')
  return lockRows(dialect, open, 'update')
})

const attach = statement((db, p: { id: string; feedId: string }) =>
  db
    .updateTable('sessions')
    .set({ feed_id: p.feedId, spare: 0 })
    .where('id', '=', p.id)
    .where('ended_at_ms', 'is', null)
    .where('kick', 'is', null)
    .returning(COLUMNS),
)

const makeSpare = statement((db, p: { id: string }) =>
  db.updateTable('sessions').set({ spare: 1 }).where('id', '=', p.id),
)

const endOfNode = statement(
  (db, p: { node: string; atMs: number; reason: SessionEndReason; limit: number }, dialect) => {
    const some = db
      .selectFrom('sessions as open')
      .select('open.id')
      .where('open.node', '=', p.node)
      .where('open.ended_at_ms', 'is', null)
      // Publishers first, so that no feed stays on the air without a session.
      .orderBy('open.action')
      .orderBy('open.id')
      .limit(p.limit)
    // The order of every lock on several sessions.
    const inOrder = db
      .selectFrom('sessions as some')
      .select('some.id')
      .where('some.id', 'in', some)
      .where('some.ended_at_ms', 'is', null)
      .orderBy('some.id')
    return db
      .updateTable('sessions')
      .set({ end_reason: p.reason, ended_at_ms: larger(sql.ref('started_at_ms'), sql`cast(${p.atMs} as bigint)`) })
      .where('id', 'in', lockRows(dialect, inOrder, 'update'))
  },
)

const kick = statement((db, p: { accountId: string; id: string; reason: SessionEndReason }) =>
  db
    .updateTable('sessions')
    .set({ kick: p.reason })
    .where('id', '=', p.id)
    .where('account_id', '=', p.accountId)
    .where('ended_at_ms', 'is', null)
    .where('kick', 'is', null)
    .returning(COLUMNS),
)

/** Spares of a source with one priority. */
interface EqualSpares {
  readonly id: string
  readonly accountId: string
  readonly streamName: string
  readonly source: string
  readonly priority: number | null
}

const replaceSpares = statement((db, p: EqualSpares, dialect) => {
  const equal = db
    .selectFrom('sessions as spare')
    .select('spare.id')
    .where('spare.account_id', '=', p.accountId)
    .where('spare.stream_name', '=', p.streamName)
    .where('spare.action', '=', 'publish')
    .where('spare.ended_at_ms', 'is', null)
    .where('spare.spare', '=', 1)
    .where('spare.kick', 'is', null)
    .where('spare.id', '<>', p.id)
    .where(sql<string>`coalesce(spare.source_id, '')`, '=', p.source)
    .where('spare.priority', 'is not distinct from', p.priority)
    // The order of every lock on several sessions.
    .orderBy('spare.id')
  return db
    .updateTable('sessions')
    .set({ kick: 'replaced' })
    .where('id', 'in', lockRows(dialect, equal, 'update'))
    .returning('id')
})

const pruneSessions = pruning('sessions', 'ended_at_ms', ['id'])

const pruneFeeds = pruning('feeds', 'ended_at_ms', ['id'])

export class SessionReadVerbs extends Verbs {
  async get(id: string): Promise<StoredSession | undefined> {
    const row = await this.executor.first(byId, { id })
    return row && fromRow(row)
  }

  async page(query: SessionQuery): Promise<StoredSession[]> {
    const { accountId, tokenId, streamName, protocol, action, address, after, limit } = query
    const rows = await this.executor.ask((db) => {
      const open = matching(db.selectFrom('sessions').select(COLUMNS).where('ended_at_ms', 'is', null), {
        account_id: accountId,
        token_id: tokenId,
        stream_name: streamName,
        protocol,
        action,
        address,
      })
      return keysetPage(open, { by: ['id'], order: 'desc', after: after === undefined ? after : [after], limit })
    })
    return rows.map(fromRow)
  }

  async count({ accountId, streamName, tokenId }: SessionScope): Promise<number> {
    const [row] = await this.executor.ask((db) => {
      const open = db.selectFrom('sessions').where('ended_at_ms', 'is', null)
      const found = matching(open, { account_id: accountId, stream_name: streamName, token_id: tokenId })
      return found.select((eb) => eb.fn.countAll<number>().as('n'))
    })
    return row?.n ?? 0
  }

  async kicked(node: string, limit: number): Promise<{ id: string; reason: SessionEndReason }[]> {
    const rows = await this.executor.all(kicked, { node, limit })
    return rows.map((row) => ({ id: row.id, reason: readEndReason(row.kick ?? '') }))
  }
}

export class SessionTxVerbs extends Verbs {
  attempts({ id, accountId }: { id: number; accountId: string }, limit: number): Promise<SessionAttempt[]> {
    return this.executor.all(attempts, { tokenId: id, accountId, limit })
  }

  insert(live: Session, node: string, priority: number | null = null): Promise<void> {
    const { client, customViewerData = null } = live
    const viewer = { device: client?.device ?? null, browser: client?.browser ?? null, customViewerData }
    const row = { ...live, ...viewer, priority, spare: 0 as const, node, bytesIn: 0, bytesOut: 0, cacheBytes: 0 }
    return insert(this.executor, [row])
  }

  async lockPublishers({ accountId, streamName }: StreamRef): Promise<void> {
    if (this.executor.dialect.name === 'postgres') await this.executor.all(lockPublishers, { accountId, streamName })
  }

  async attach(id: string, feedId: string): Promise<StoredSession | undefined> {
    const row = await this.executor.first(attach, { id, feedId })
    return row && fromRow(row)
  }

  async makeSpare(id: string): Promise<void> {
    await this.executor.run(makeSpare, { id })
  }

  async replaceSpares(
    { id, accountId, streamName, sourceId }: Pick<Session, 'id' | 'accountId' | 'streamName' | 'sourceId'>,
    priority: number | null,
  ): Promise<string[]> {
    const source = sourceId ?? ''
    const rows = await this.executor.all(replaceSpares, { id, accountId, streamName, source, priority })
    return rows.map((row) => row.id)
  }

  end(ends: readonly SessionEnd[]): Promise<void> {
    return endSessions(this.executor, ends)
  }

  endOfNode(node: string, end: { atMs: number; reason: SessionEndReason; limit: number }): Promise<number> {
    return this.executor.run(endOfNode, { node, ...end })
  }

  async kick(which: { accountId: string; id: string }, reason: SessionEndReason): Promise<StoredSession | undefined> {
    const row = await this.executor.first(kick, { ...which, reason })
    return row && fromRow(row)
  }

  kickAll({ accountId, streamName, tokenId }: SessionScope, reason: SessionEndReason, limit: number): Promise<number> {
    return this.executor.change((db, dialect) => {
      const open = db
        .selectFrom('sessions as open')
        .select('open.id')
        .where('open.ended_at_ms', 'is', null)
        .where('open.kick', 'is', null)
        // The order of every lock on several sessions.
        .orderBy('open.id')
        .limit(limit)
      const some = matching(open, {
        'open.account_id': accountId,
        'open.stream_name': streamName,
        'open.token_id': tokenId,
      })
      return db
        .updateTable('sessions')
        .set({ kick: reason })
        .where('id', 'in', lockRows(dialect, some, 'update'))
    })
  }

  count(totals: readonly Total[]): Promise<string[]> {
    return writeTotals(this.executor, totals)
  }

  report(qualities: readonly SessionReport[]): Promise<void> {
    return writeQuality(this.executor, qualities)
  }

  async prune(beforeMs: number, limit: number): Promise<number> {
    const sessions = await this.executor.run(pruneSessions, { beforeMs, limit })
    return sessions + (await this.executor.run(pruneFeeds, { beforeMs, limit }))
  }
}

interface Row extends FieldsOf<'sessions', (typeof READ)[number]> {
  readonly isSpare: DbBoolean
  readonly bytesFromCaches: number
}

const fromRow = (row: Row): StoredSession => ({
  ...row,
  isSpare: row.isSpare === 1,
  endReason: row.endReason === null ? null : readEndReason(row.endReason),
  kick: row.kick === null ? null : readEndReason(row.kick),
  quality: viewerQualityOf(row.quality),
})
