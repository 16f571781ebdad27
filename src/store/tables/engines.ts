import type { ActiveStatus, Engine } from '../../core/channels/types.ts'
import { statement, Verbs } from '../executor.ts'
import type { ChildListQuery } from '../store.ts'
import { columnsOf } from '../tableColumns.ts'
import { afterKey } from './keyset.ts'
import { forgetEngineStates } from './engineStates.ts'
import { ResourceStatements } from './resource.ts'

const engines = new ResourceStatements<'engines', Engine>('engines', {
  toRow: (engine) => ({
    id: engine.id,
    account_id: engine.accountId,
    channel_id: engine.channelId,
    ingest_id: engine.ingestId,
    name: engine.name,
    region: engine.region,
    abr_ladder_id: engine.abrLadderId,
    priority: engine.priority,
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
    status: row.status,
    statusMessage: row.status_message,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  }),
  unchanged: ['status', 'status_message'],
})

const ofChannel = statement((db, p: { channelId: string }) =>
  db
    .selectFrom('engines')
    .select(columnsOf('engines'))
    .where('channel_id', '=', p.channelId)
    .orderBy('created_at_ms')
    .orderBy('id'),
)

const unstopped = statement((db, _none: object) =>
  db
    .selectFrom('engines')
    .select(columnsOf('engines'))
    .where('status', '<>', 'stopped')
    .orderBy('created_at_ms')
    .orderBy('id'),
)

const setStatus = statement((db, p: { id: string; status: ActiveStatus; message: string | null }) =>
  db.updateTable('engines').set({ status: p.status, status_message: p.message }).where('id', '=', p.id),
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

  async ofChannel(channelId: string): Promise<Engine[]> {
    return engines.read(await this.executor.all(ofChannel, { channelId }))
  }

  async unstopped(): Promise<Engine[]> {
    return engines.read(await this.executor.all(unstopped, {}))
  }
}

/** The verbs of engines in a transaction. */
export class EngineTxVerbs extends EngineReadVerbs {
  insert(value: Engine): Promise<void> {
    return engines.insert(this.executor, value)
  }

  replace(value: Engine): Promise<void> {
    return engines.replace(this.executor, value)
  }

  async setStatus(id: string, status: ActiveStatus, message: string | null): Promise<void> {
    await this.executor.run(setStatus, { id, status, message })
  }

  async delete(id: string): Promise<void> {
    const [engine] = engines.read(
      await this.executor.ask((db) => db.selectFrom('engines').select(columnsOf('engines')).where('id', '=', id)),
    )
    await engines.delete(this.executor, id)
    if (engine) await forgetEngineStates(this.executor, engine.channelId)
  }

  async usingLadder(abrLadderId: string): Promise<Engine | undefined> {
    return engines.read(await this.executor.all(usingLadder, { abrLadderId }))[0]
  }
}
