import type { DatedSpan } from '../../base/clock.ts'
import type { Cause } from '../../core/channels/runs/engine.ts'
import { statement, Verbs } from '../executor.ts'
import { columnsOf, type RowOf, type NewRowOf } from '../schema.ts'
import type { Run, RunConfig, RunQuery, RunsWithin } from '../store.ts'
import { newestFirst } from './keyset.ts'
import { pruning } from './pruning.ts'

const byId = statement((db, p: { id: string }) =>
  db.selectFrom('runs').select(columnsOf('runs')).where('id', '=', p.id),
)

const end = statement((db, p: DatedSpan & { id: string; type: string; by: string; name: string | null }) =>
  db
    .updateTable('runs')
    .set({
      stop_type: p.type,
      stop_id: p.by,
      stop_name: p.name,
      started_at_ms: p.startedAtMs,
      ended_at_ms: p.endedAtMs,
    })
    .where('id', '=', p.id)
    .where('ended_at_ms', 'is', null),
)

const keep = statement((db, p: { id: string; by: string }) =>
  db.updateTable('runs').set({ kept_by: p.by }).where('id', '=', p.id),
)

const prune = pruning('runs', 'ended_at_ms', ['id'])

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
  db
    .selectFrom('runs')
    .select(columnsOf('runs'))
    .where('channel_id', '=', p.channelId)
    .where('started_at_ms', '<', p.untilMs)
    .where((eb) => eb.or([eb('ended_at_ms', 'is', null), eb('ended_at_ms', '>', p.fromMs)]))
    .orderBy('started_at_ms')
    .orderBy('id')
    .limit(p.limit),
)

export class RunReadVerbs extends Verbs {
  async page(query: RunQuery): Promise<Run[]> {
    const { channelId, engineId, engineIds, startedAfterMs, endedBeforeMs } = query
    const rows = await this.executor.ask((db) => {
      let page = db.selectFrom('runs').select(columnsOf('runs'))
      if (channelId !== undefined) page = page.where('channel_id', '=', channelId)
      if (engineId !== undefined) page = page.where('engine_id', '=', engineId)
      if (engineIds) page = page.where('engine_id', 'in', engineIds)
      if (startedAfterMs !== undefined) page = page.where('started_at_ms', '>', startedAfterMs)
      if (endedBeforeMs !== undefined) page = page.where('ended_at_ms', '<', endedBeforeMs)
      return newestFirst(page, ['started_at_ms', 'id'], query)
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

export class RunTxVerbs extends RunReadVerbs {
  async insert(run: Run): Promise<void> {
    await this.executor.change((db) => db.insertInto('runs').values(toRow(run)))
  }

  async get(id: string): Promise<Run | undefined> {
    const row = await this.executor.first(byId, { id })
    return row && fromRow(row)
  }

  async end(id: string, stop: Cause, span: DatedSpan): Promise<void> {
    await this.executor.run(end, { id, type: stop.type, by: stop.id, name: stop.name ?? null, ...span })
  }

  async keep(id: string, by: string): Promise<void> {
    await this.executor.run(keep, { id, by })
  }

  prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}

const toRow = (run: Run): NewRowOf<'runs'> => ({
  id: run.id,
  account_id: run.accountId,
  channel_id: run.channelId,
  engine_id: run.engineId,
  config: JSON.stringify(run.config),
  start_type: run.start.type,
  start_id: run.start.id,
  start_name: run.start.name ?? null,
  stop_type: run.stop?.type ?? null,
  stop_id: run.stop?.id ?? null,
  stop_name: run.stop?.name ?? null,
  kept_by: run.keptBy,
  started_at_ms: run.startedAtMs,
  ended_at_ms: run.endedAtMs,
  heartbeat_at_ms: run.heartbeatAtMs,
})

const fromRow = (row: RowOf<'runs'>): Run => ({
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
