import type { DatedSpan } from '../../base/clock.ts'
import type { Cause } from '../../core/channels/runs/engine.ts'
import { statement, Verbs } from '../executor.ts'
import { fieldsOf, type FieldsOf, insertion } from '../records.ts'
import { namesOf } from '../schema.ts'
import type { Run, RunConfig, RunQuery, RunsWithin } from '../store.ts'
import { matching, newestFirst } from './keyset.ts'
import { pruning } from './pruning.ts'

const insert = insertion('runs', namesOf('runs'))

const byId = statement((db, p: { id: string }) => db.selectFrom('runs').select(fieldsOf('runs')).where('id', '=', p.id))

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

/** The runs of a channel that overlap a time range, oldest first. */
const within = statement((db, p: { channelId: string; fromMs: number; untilMs: number; limit: number }) =>
  db
    .selectFrom('runs')
    .select(fieldsOf('runs'))
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
      const all = db.selectFrom('runs').select(fieldsOf('runs'))
      let page = matching(all, { channel_id: channelId, engine_id: engineId })
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
    const which = 'channelId' in of ? { channel_id: of.channelId } : { engine_id: of.engineId }
    const found = await this.executor.ask((db) =>
      matching(db.selectFrom('runs').select('id').limit(1), { account_id: accountId, ...which }),
    )
    return found.length > 0
  }
}

export class RunTxVerbs extends RunReadVerbs {
  insert(run: Run): Promise<void> {
    return insert(this.executor, [toRow(run)])
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

const toRow = ({ start, stop, ...run }: Run): FieldsOf<'runs'> => ({
  ...run,
  config: JSON.stringify(run.config),
  startType: start.type,
  startId: start.id,
  startName: start.name ?? null,
  stopType: stop?.type ?? null,
  stopId: stop?.id ?? null,
  stopName: stop?.name ?? null,
})

function fromRow({ startType, startId, startName, stopType, stopId, stopName, ...row }: FieldsOf<'runs'>): Run {
  const start = causeOf(startType, startId, startName)
  const stop = stopType === null ? null : causeOf(stopType, stopId ?? '', stopName)
  return { ...row, config: JSON.parse(row.config) as RunConfig, start, stop }
}

const causeOf = (type: string, id: string, name: string | null): Cause => ({
  type: type as Cause['type'],
  id,
  ...(name === null ? {} : { name }),
})
