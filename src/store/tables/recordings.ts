import { sql } from 'kysely'
import type { RecordedTrack } from '../../core/recordings/types.ts'
import { inSlices, statement, Verbs } from '../executor.ts'
import { fieldsOf, type FieldsOf, insertion, rowOf } from '../records.ts'
import { saidColumn, saidFrom } from '../said.ts'
import { namesOf } from '../schema.ts'
import type { RecordingQuery, StoredRecording, UnfinishedRecording } from '../store.ts'
import { containsText } from './containsText.ts'
import { keysetPage, matching } from './keyset.ts'
import { lockRows } from './lockRows.ts'

type Row = FieldsOf<'recordings'>

/** A recording stays what it is of; `adopt` says where its files are. */
const FIXED = new Set<string>(['id', 'account_id', 'stream_name', 'token_id', 'feed_id', 'host_key'])
const CHANGING = namesOf('recordings').filter((column) => !FIXED.has(column))

const insert = insertion('recordings', namesOf('recordings'))

const lock = statement((db, p: { id: string }, dialect) => {
  const row = db.selectFrom('recordings').select(fieldsOf('recordings')).where('id', '=', p.id)
  return lockRows(dialect, row, 'update')
})

const replace = statement((db, p: Row) =>
  db
    .updateTable('recordings')
    .set(rowOf('recordings', CHANGING, p))
    .where('id', '=', p.id),
)

const remove = statement((db, p: { id: string }) => db.deleteFrom('recordings').where('id', '=', p.id))

const byId = statement((db, p: { accountId: string; id: string }) =>
  db
    .selectFrom('recordings')
    .select(fieldsOf('recordings'))
    .where('id', '=', p.id)
    .where('account_id', '=', p.accountId)
    .where('state', '!=', 'deleting'),
)

// Literals, because the planner cannot match a partial index with parameters.
const WITH_FILES = sql<boolean>`state in ('recording', 'processing', 'deleting')`

const unfinished = statement((db, p: { hostKey: string }) =>
  db
    .selectFrom('recordings')
    .select(['id', 'account_id as accountId', 'node'])
    .where('host_key', '=', p.hostKey)
    .where(WITH_FILES)
    .where(sql<boolean>`state <> 'deleting'`)
    .orderBy('id'),
)

const deleting = statement((db, p: { hostKey: string }) =>
  db
    .selectFrom('recordings')
    .select('id')
    .where('host_key', '=', p.hostKey)
    .where(WITH_FILES)
    .where(sql<boolean>`state = 'deleting'`)
    .orderBy('id'),
)

const UNDER_WAY = { state: 'recording', ended_at_ms: null, problem: null, expires_at_ms: null } as const
/** For want of files. */
const FAILED = sql<boolean>`state = 'error'
  and (problem like '%"recording_away"%' or problem like '%"recording_restored"%')`

const expired = statement((db, p: { nowMs: number; limit: number }) =>
  db
    .selectFrom('recordings')
    .select(fieldsOf('recordings'))
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
    const { accountId, streamName, tokenId, search, after, limit } = query
    const rows = await this.executor.ask((db) => {
      const all = db.selectFrom('recordings').select(fieldsOf('recordings')).where('state', '!=', 'deleting')
      const named = matching(all, { account_id: accountId, stream_name: streamName, token_id: tokenId })
      const found = search === undefined ? named : named.where(containsText('stream_name', search))
      return keysetPage(found, { by: ['id'], order: 'desc', after: after === undefined ? after : [after], limit })
    })
    return rows.map(fromRow)
  }

  async usage(accountId: string): Promise<{ count: number; bytes: number }> {
    return (await this.executor.first(usage, { accountId })) ?? { count: 0, bytes: 0 }
  }

  unfinished(hostKey: string): Promise<UnfinishedRecording[]> {
    return this.executor.all(unfinished, { hostKey })
  }

  async deleting(hostKey: string): Promise<string[]> {
    return (await this.executor.all(deleting, { hostKey })).map(({ id }) => id)
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

  async adopt(ids: readonly string[], hostKey: string): Promise<void> {
    await inSlices(ids, async (slice) => {
      await this.executor.change((db) =>
        db
          .updateTable('recordings')
          .set({ host_key: hostKey })
          .where('id', 'in', slice)
          .where('host_key', '!=', hostKey),
      )
      await this.executor.change((db) =>
        db.updateTable('recordings').set(UNDER_WAY).where('id', 'in', slice).where(FAILED),
      )
    })
  }

  async delete(id: string): Promise<void> {
    await this.executor.run(remove, { id })
  }
}

const toRow = (recording: StoredRecording): Row => ({
  ...recording,
  tracks: JSON.stringify(recording.tracks),
  problem: recording.problem && saidColumn(recording.problem),
})

const fromRow = (row: Row): StoredRecording => ({
  ...row,
  tracks: JSON.parse(row.tracks) as RecordedTrack[],
  problem: saidFrom(row.problem),
})

const usage = statement((db, p: { accountId: string }) =>
  db
    .selectFrom('recordings')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .select(sql<number>`cast(coalesce(sum(bytes), 0) as bigint)`.as('bytes'))
    .where('account_id', '=', p.accountId)
    .where('state', '=', sql.lit('completed')),
)
