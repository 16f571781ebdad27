import type { Insertable, Selectable } from 'kysely'
import type { Cause } from '../../core/life/engine.ts'
import type { RunTable } from '../runsSchema.ts'
import { type Session, statement } from '../session.ts'
import type { Run, RunConfig, RunQuery, RunsWithin } from '../store.ts'
import { beyond } from './keyset.ts'

const byId = statement((db, p: { id: string }) => db.selectFrom('runs').selectAll().where('id', '=', p.id))

const end = statement((db, p: { id: string; type: string; by: string; atMs: number }) =>
  db
    .updateTable('runs')
    .set({ stop_type: p.type, stop_id: p.by, ended_at_ms: p.atMs })
    .where('id', '=', p.id)
    .where('ended_at_ms', 'is', null),
)

const prune = statement((db, p: { beforeMs: number; limit: number }) =>
  db
    .deleteFrom('runs')
    .where(
      'id',
      'in',
      db.selectFrom('runs').select('id').where('ended_at_ms', '<', p.beforeMs).orderBy('ended_at_ms').limit(p.limit),
    ),
)

/** Of a channel, those that were open at some moment of a time; oldest first. */
const within = statement((db, p: { channelId: string; fromMs: number; untilMs: number; limit: number }) =>
  db
    .selectFrom('runs')
    .selectAll()
    .where('channel_id', '=', p.channelId)
    .where('started_at_ms', '<', p.untilMs)
    .where((eb) => eb.or([eb('ended_at_ms', 'is', null), eb('ended_at_ms', '>', p.fromMs)]))
    .orderBy('started_at_ms')
    .orderBy('id')
    .limit(p.limit),
)

export async function getRun(session: Session, id: string): Promise<Run | undefined> {
  const row = await session.first(byId, { id })
  return row && fromRow(row)
}

export async function insertRun(session: Session, run: Run): Promise<void> {
  await session.change((db) => db.insertInto('runs').values(toRow(run)))
}

export async function endRun(session: Session, id: string, stop: Cause, atMs: number): Promise<void> {
  await session.run(end, { id, type: stop.type, by: stop.id, atMs })
}

export const pruneRuns = (session: Session, beforeMs: number, limit: number): Promise<number> =>
  session.run(prune, { beforeMs, limit })

export async function runsWithin(session: Session, query: RunsWithin): Promise<Run[]> {
  return (await session.all(within, query)).map(fromRow)
}

export async function pageRuns(session: Session, query: RunQuery): Promise<Run[]> {
  const { channelId, engineId, engineIds, startedAfterMs, endedBeforeMs, after } = query
  const rows = await session.ask((db) => {
    let page = db.selectFrom('runs').selectAll()
    if (channelId !== undefined) page = page.where('channel_id', '=', channelId)
    if (engineId !== undefined) page = page.where('engine_id', '=', engineId)
    if (engineIds) page = page.where('engine_id', 'in', engineIds)
    if (startedAfterMs !== undefined) page = page.where('started_at_ms', '>', startedAfterMs)
    if (endedBeforeMs !== undefined) page = page.where('ended_at_ms', '<', endedBeforeMs)
    if (after) page = page.where(beyond(['started_at_ms', 'id'], 'desc', [after.atMs, after.id]))
    return page.orderBy('started_at_ms', 'desc').orderBy('id', 'desc').limit(query.limit)
  })
  return rows.map(fromRow)
}

const toRow = (run: Run): Insertable<RunTable> => ({
  id: run.id,
  account_id: run.accountId,
  channel_id: run.channelId,
  engine_id: run.engineId,
  config: JSON.stringify(run.config),
  start_type: run.start.type,
  start_id: run.start.id,
  stop_type: run.stop?.type ?? null,
  stop_id: run.stop?.id ?? null,
  started_at_ms: run.startedAtMs,
  ended_at_ms: run.endedAtMs,
  heartbeat_at_ms: run.heartbeatAtMs,
})

const fromRow = (row: Selectable<RunTable>): Run => ({
  id: row.id,
  accountId: row.account_id,
  channelId: row.channel_id,
  engineId: row.engine_id,
  config: JSON.parse(row.config) as RunConfig,
  start: { type: row.start_type as Cause['type'], id: row.start_id },
  stop: row.stop_type === null ? null : { type: row.stop_type as Cause['type'], id: row.stop_id ?? '' },
  startedAtMs: row.started_at_ms,
  endedAtMs: row.ended_at_ms,
  heartbeatAtMs: row.heartbeat_at_ms,
})
