import { sql } from 'kysely'
import type { RecordedTrack, RecordingState } from '../../core/recordings/types.ts'
import { saidColumn, saidFrom } from '../said.ts'
import { insertion, statement, Verbs } from '../executor.ts'
import { columnsOf, namesOf, type RowOf } from '../schema.ts'
import type { RecordingQuery, StoredRecording } from '../store.ts'
import { containsText } from './containsText.ts'
import { lockRows } from './lockRows.ts'

type Row = RowOf<'recordings'>

const insert = insertion('recordings', namesOf('recordings'))

const lock = statement((db, p: { id: string }, dialect) => {
  const row = db.selectFrom('recordings').select(columnsOf('recordings')).where('id', '=', p.id)
  return lockRows(dialect, row, 'update')
})

const replace = statement((db, p: Row) =>
  db
    .updateTable('recordings')
    .set({
      state: p.state,
      started_at_ms: p.started_at_ms,
      ended_at_ms: p.ended_at_ms,
      bytes: p.bytes,
      duration_ms: p.duration_ms,
      tracks: p.tracks,
      problem: p.problem,
      node: p.node,
      expires_at_ms: p.expires_at_ms,
    })
    .where('id', '=', p.id),
)

const remove = statement((db, p: { id: string }) => db.deleteFrom('recordings').where('id', '=', p.id))

const byId = statement((db, p: { accountId: string; id: string }) =>
  db
    .selectFrom('recordings')
    .select(columnsOf('recordings'))
    .where('id', '=', p.id)
    .where('account_id', '=', p.accountId)
    .where('state', '!=', 'deleting'),
)

// Literals, because the planner cannot match a partial index with parameters.
const unfinished = statement((db, p: { hostKey: string }) =>
  db
    .selectFrom('recordings')
    .select(columnsOf('recordings'))
    .where('host_key', '=', p.hostKey)
    .where(sql<boolean>`state in ('recording', 'processing', 'deleting')`)
    .orderBy('id'),
)

const expired = statement((db, p: { nowMs: number; limit: number }) =>
  db
    .selectFrom('recordings')
    .select(columnsOf('recordings'))
    .where(sql<boolean>`expires_at_ms is not null and state in ('completed', 'error')`)
    .where('expires_at_ms', '<=', p.nowMs)
    .orderBy('expires_at_ms')
    .limit(p.limit),
)

export class RecordingReadVerbs extends Verbs {
  async get(accountId: string, id: string): Promise<StoredRecording | undefined> {
    const row = await this.executor.first(byId, { accountId, id })
    return row && fromRow(row)
  }

  async page(query: RecordingQuery): Promise<StoredRecording[]> {
    const rows = await this.executor.ask((db) => {
      let page = db
        .selectFrom('recordings')
        .select(columnsOf('recordings'))
        .where('account_id', '=', query.accountId)
        .where('state', '!=', 'deleting')
      if (query.streamName !== undefined) page = page.where('stream_name', '=', query.streamName)
      if (query.search !== undefined) page = page.where(containsText('stream_name', query.search))
      if (query.tokenId !== undefined) page = page.where('token_id', '=', query.tokenId)
      if (query.after !== undefined) page = page.where('id', '<', query.after)
      return page.orderBy('id', 'desc').limit(query.limit)
    })
    return rows.map(fromRow)
  }

  async usage(accountId: string): Promise<{ count: number; bytes: number }> {
    return (await this.executor.first(usage, { accountId })) ?? { count: 0, bytes: 0 }
  }

  async unfinished(hostKey: string): Promise<StoredRecording[]> {
    return (await this.executor.all(unfinished, { hostKey })).map(fromRow)
  }

  async expired(nowMs: number, limit: number): Promise<StoredRecording[]> {
    return (await this.executor.all(expired, { nowMs, limit })).map(fromRow)
  }
}

export class RecordingTxVerbs extends RecordingReadVerbs {
  async insert(recording: StoredRecording): Promise<void> {
    await insert(this.executor, [toRow(recording)])
  }

  async lock(id: string): Promise<StoredRecording | undefined> {
    const row = await this.executor.first(lock, { id })
    return row && fromRow(row)
  }

  async replace(recording: StoredRecording): Promise<void> {
    await this.executor.run(replace, toRow(recording))
  }

  async delete(id: string): Promise<void> {
    await this.executor.run(remove, { id })
  }
}

const toRow = (recording: StoredRecording): Row => ({
  id: recording.id,
  account_id: recording.accountId,
  stream_name: recording.streamName,
  token_id: recording.tokenId,
  feed_id: recording.feedId,
  state: recording.state,
  started_at_ms: recording.startedAtMs,
  ended_at_ms: recording.endedAtMs,
  bytes: recording.bytes,
  duration_ms: recording.durationMs,
  tracks: JSON.stringify(recording.tracks),
  problem: recording.problem && saidColumn(recording.problem),
  host_key: recording.hostKey,
  node: recording.node,
  expires_at_ms: recording.expiresAtMs,
})

const fromRow = (row: Row): StoredRecording => ({
  id: row.id,
  accountId: row.account_id,
  streamName: row.stream_name,
  tokenId: row.token_id,
  feedId: row.feed_id,
  state: row.state as RecordingState,
  startedAtMs: row.started_at_ms,
  endedAtMs: row.ended_at_ms,
  bytes: row.bytes,
  durationMs: row.duration_ms,
  tracks: JSON.parse(row.tracks) as RecordedTrack[],
  problem: saidFrom(row.problem),
  hostKey: row.host_key,
  node: row.node,
  expiresAtMs: row.expires_at_ms,
})

const usage = statement((db, p: { accountId: string }) =>
  db
    .selectFrom('recordings')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .select(sql<number>`cast(coalesce(sum(bytes), 0) as bigint)`.as('bytes'))
    .where('account_id', '=', p.accountId)
    .where('state', '=', sql.lit('completed')),
)
