import { sql } from 'kysely'
import type { ActiveStatus, Engine } from '../../core/channels/types.ts'
import { inSlices, statement, Verbs } from '../executor.ts'
import { columnsOf } from '../schema.ts'
import type { ChildListQuery } from '../store.ts'
import { afterKey } from './keyset.ts'
import { forgetEngineStates } from './engineStates.ts'
import { PartStatements } from './resource.ts'

const engines = new PartStatements<'engines', Engine>('engines', {
  toRow: (engine) => ({
    id: engine.id,
    account_id: engine.accountId,
    channel_id: engine.channelId,
    ingest_id: engine.ingestId,
    name: engine.name,
    region: engine.region,
    abr_ladder_id: engine.abrLadderId,
    priority: engine.priority,
    restream: JSON.stringify(engine.restream),
    target_keys_sealed: engine.targetKeysSealed,
    status: engine.status,
    status_message: engine.statusMessage,
    created_at_ms: engine.createdAtMs,
    updated_at_ms: engine.updatedAtMs,
  }),
  fromRow: (row) => ({
    id: row.id,
    accountId: row.account_id,
    channelId: row.channel_id,
    ingestId: row.ingest_id,
    name: row.name,
    region: row.region,
    abrLadderId: row.abr_ladder_id,
    priority: row.priority,
    restream: JSON.parse(row.restream) as Engine['restream'],
    targetKeysSealed: row.target_keys_sealed,
    status: row.status,
    statusMessage: row.status_message,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  }),
  unchanged: ['status', 'status_message'],
})

const unstopped = statement((db, _none: object) =>
  db
    .selectFrom('engines')
    .select(columnsOf('engines'))
    // A literal, because the planner cannot match a partial index with a parameter.
    .where('status', '<>', sql.lit('stopped' as const))
    .orderBy('created_at_ms')
    .orderBy('id'),
)

const setStatus = statement((db, p: { id: string; status: ActiveStatus; message: string | null }) =>
  db.updateTable('engines').set({ status: p.status, status_message: p.message }).where('id', '=', p.id),
)

const remove = statement((db, p: { id: string }) =>
  db.deleteFrom('engines').where('id', '=', p.id).returning('channel_id'),
)

const usingLadder = statement((db, p: { abrLadderId: string }) =>
  db
    .selectFrom('engines')
    .select(columnsOf('engines'))
    .where('abr_ladder_id', '=', p.abrLadderId)
    .orderBy('id')
    .limit(1),
)

/** The reads of engines. */
export class EngineReadVerbs extends Verbs {
  get(accountId: string, id: string): Promise<Engine | undefined> {
    return engines.get(this.executor, accountId, id)
  }

  async page(query: ChildListQuery): Promise<Engine[]> {
    const { after, limit } = query
    const rows = await this.executor.ask((db) => {
      const all = db.selectFrom('engines').select(columnsOf('engines'))
      let page =
        'ingestId' in query
          ? all.where('ingest_id', '=', query.ingestId)
          : all.where('channel_id', '=', query.channelId)
      if (after) page = page.where(afterKey(['created_at_ms', 'id'], 'desc', [after.atMs, after.id]))
      return page.orderBy('created_at_ms', 'desc').orderBy('id', 'desc').limit(limit)
    })
    return engines.read(rows)
  }

  ofChannel(channelId: string): Promise<Engine[]> {
    return engines.ofChannel(this.executor, channelId)
  }

  count(channelId: string): Promise<number> {
    return engines.count(this.executor, channelId)
  }

  async all(ids: readonly string[]): Promise<Engine[]> {
    const found: Engine[] = []
    await inSlices(ids, async (slice) => {
      const rows = await this.executor.ask((db) =>
        db.selectFrom('engines').select(columnsOf('engines')).where('id', 'in', slice),
      )
      found.push(...engines.read(rows))
    })
    return found
  }

  async unstopped(): Promise<Engine[]> {
    return engines.read(await this.executor.all(unstopped, {}))
  }
}

/** The verbs of engines in a transaction. */
export class EngineTxVerbs extends EngineReadVerbs {
  insert(...values: Engine[]): Promise<void> {
    return engines.insert(this.executor, values)
  }

  replace(value: Engine): Promise<void> {
    return engines.replace(this.executor, value)
  }

  async setStatus(id: string, status: ActiveStatus, message: string | null): Promise<void> {
    await this.executor.run(setStatus, { id, status, message })
  }

  async delete(id: string): Promise<void> {
    const engine = await this.executor.first(remove, { id })
    if (engine) await forgetEngineStates(this.executor, engine.channel_id)
  }

  async usingLadder(abrLadderId: string): Promise<Engine | undefined> {
    return engines.read(await this.executor.all(usingLadder, { abrLadderId }))[0]
  }
}
