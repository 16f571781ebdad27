import type { Insertable, Kysely, Selectable } from 'kysely'
import type { DatedSpan } from '../../base/clock.ts'
import type { Cause } from '../../core/channels/runs/engine.ts'
import type { RunActorTable, RunTable } from '../runsSchema.ts'
import type { DB } from '../schema.ts'
import { type Executor, statement, Verbs } from '../executor.ts'
import type { Run, RunConfig, RunQuery, RunsWithin } from '../store.ts'
import { columnsOf } from '../tableColumns.ts'
import { afterKey } from './keyset.ts'

const ACTORS = ['start_name', 'stop_name', 'kept_by'] as const
type Row = Selectable<RunTable> & Pick<Selectable<RunActorTable>, (typeof ACTORS)[number]>

/** Runs with the names of their actors. */
const named = (db: Kysely<DB>) =>
  db.selectFrom('runs').leftJoin('run_actors', 'run_actors.run_id', 'runs.id').select(columnsOf('runs')).select(ACTORS)

const byId = statement((db, p: { id: string }) => named(db).where('id', '=', p.id))

const end = statement((db, p: DatedSpan & { id: string; type: string; by: string }) =>
  db
    .updateTable('runs')
    .set({ stop_type: p.type, stop_id: p.by, started_at_ms: p.startedAtMs, ended_at_ms: p.endedAtMs })
    .where('id', '=', p.id)
    .where('ended_at_ms', 'is', null),
)

const pruneActors = statement((db, p: { beforeMs: number; limit: number }) =>
  db.deleteFrom('run_actors').where('run_id', 'in', over(db, p)),
)

const prune = statement((db, p: { beforeMs: number; limit: number }) =>
  db.deleteFrom('runs').where('id', 'in', over(db, p)),
)

const over = (db: Kysely<DB>, p: { beforeMs: number; limit: number }) =>
  db
    .selectFrom('runs')
    .select('id')
    .where('ended_at_ms', '<', p.beforeMs)
    .orderBy('ended_at_ms')
    .orderBy('id')
    .limit(p.limit)

const ofChannel = statement((db, p: { accountId: string; channelId: string }) =>
  db
    .selectFrom('runs')
    .select('id')
    .where('channel_id', '=', p.channelId)
    .where('account_id', '=', p.accountId)
    .limit(1),
)

const ofEngine = statement((db, p: { accountId: string; engineId: string }) =>
  db.selectFrom('runs').select('id').where('engine_id', '=', p.engineId).where('account_id', '=', p.accountId).limit(1),
)

/** The runs of a channel that overlap a time range, oldest first. */
const within = statement((db, p: { channelId: string; fromMs: number; untilMs: number; limit: number }) =>
  named(db)
    .where('channel_id', '=', p.channelId)
    .where('started_at_ms', '<', p.untilMs)
    .where((eb) => eb.or([eb('ended_at_ms', 'is', null), eb('ended_at_ms', '>', p.fromMs)]))
    .orderBy('started_at_ms')
    .orderBy('id')
    .limit(p.limit),
)

/** The reads of runs. */
export class RunReadVerbs extends Verbs {
  async page(query: RunQuery): Promise<Run[]> {
    const { channelId, engineId, engineIds, startedAfterMs, endedBeforeMs, after } = query
    const rows = await this.executor.ask((db) => {
      let page = named(db)
      if (channelId !== undefined) page = page.where('channel_id', '=', channelId)
      if (engineId !== undefined) page = page.where('engine_id', '=', engineId)
      if (engineIds) page = page.where('engine_id', 'in', engineIds)
      if (startedAfterMs !== undefined) page = page.where('started_at_ms', '>', startedAfterMs)
      if (endedBeforeMs !== undefined) page = page.where('ended_at_ms', '<', endedBeforeMs)
      if (after) page = page.where(afterKey(['started_at_ms', 'id'], 'desc', [after.atMs, after.id]))
      return page.orderBy('started_at_ms', 'desc').orderBy('id', 'desc').limit(query.limit)
    })
    return rows.map(fromRow)
  }

  async within(query: RunsWithin): Promise<Run[]> {
    return (await this.executor.all(within, query)).map(fromRow)
  }

  async exist(accountId: string, of: { channelId: string } | { engineId: string }): Promise<boolean> {
    const found =
      'channelId' in of
        ? this.executor.first(ofChannel, { accountId, ...of })
        : this.executor.first(ofEngine, { accountId, ...of })
    return (await found) !== undefined
  }
}

/** The verbs of runs in a transaction. */
export class RunTxVerbs extends RunReadVerbs {
  async insert(run: Run): Promise<void> {
    await this.executor.change((db) => db.insertInto('runs').values(toRow(run)))
    const { start, stop, keptBy } = run
    await putActors(this.executor, run.id, {
      start_name: start.name,
      stop_name: stop?.name,
      kept_by: keptBy ?? undefined,
    })
  }

  async get(id: string): Promise<Run | undefined> {
    const row = await this.executor.first(byId, { id })
    return row && fromRow(row)
  }

  async end(id: string, stop: Cause, span: DatedSpan): Promise<void> {
    const ended = await this.executor.run(end, { id, type: stop.type, by: stop.id, ...span })
    if (ended > 0) await putActors(this.executor, id, { stop_name: stop.name })
  }

  keep(id: string, by: string): Promise<void> {
    return putActors(this.executor, id, { kept_by: by })
  }

  async prune(beforeMs: number, limit: number): Promise<number> {
    await this.executor.run(pruneActors, { beforeMs, limit })
    return this.executor.run(prune, { beforeMs, limit })
  }
}

/** Overwrites the names that are given; leaves the others unchanged. */
async function putActors(
  executor: Executor,
  runId: string,
  actors: { [name in (typeof ACTORS)[number]]?: string | undefined },
): Promise<void> {
  const given = Object.fromEntries(Object.entries(actors).filter(([, name]) => name !== undefined))
  if (Object.keys(given).length === 0) return
  await executor.change((db) =>
    db
      .insertInto('run_actors')
      .values({ run_id: runId, start_name: null, stop_name: null, kept_by: null, ...given })
      .onConflict((c) => c.column('run_id').doUpdateSet(given)),
  )
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

const fromRow = (row: Row): Run => ({
  id: row.id,
  accountId: row.account_id,
  channelId: row.channel_id,
  engineId: row.engine_id,
  config: JSON.parse(row.config) as RunConfig,
  start: causeOf(row.start_type, row.start_id, row.start_name),
  stop: row.stop_type === null ? null : causeOf(row.stop_type, row.stop_id ?? '', row.stop_name),
  keptBy: row.kept_by,
  startedAtMs: row.started_at_ms,
  endedAtMs: row.ended_at_ms,
  heartbeatAtMs: row.heartbeat_at_ms,
})

const causeOf = (type: string, id: string, name: string | null): Cause => ({
  type: type as Cause['type'],
  id,
  ...(name === null ? {} : { name }),
})
