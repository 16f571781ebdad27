import { type RawBuilder, sql } from 'kysely'
import { type DialectName, type Executor, statement, Verbs } from '../executor.ts'
import { columnsOf, type RowOf, type NewRowOf } from '../schema.ts'
import type { EngineStateRecord, StoredEngineState } from '../store.ts'
import { databaseTime, leaseEnd } from './now.ts'

const isExpired = (dialect: DialectName): RawBuilder<number> =>
  sql<number>`case when coalesce(alive_until_ms, 0) < ${databaseTime(dialect)} then 1 else 0 end`

const byId = statement((db, p: { engineId: string }, dialect) =>
  db
    .selectFrom('engine_states')
    .select(columnsOf('engine_states'))
    .select(isExpired(dialect).as('expired'))
    .where('engine_id', '=', p.engineId),
)

const ofChannel = statement((db, p: { channelId: string }, dialect) =>
  db
    .selectFrom('engines')
    .innerJoin('engine_states', 'engine_states.engine_id', 'engines.id')
    .select(columnsOf('engine_states'))
    .select(isExpired(dialect).as('expired'))
    .where('engines.channel_id', '=', p.channelId),
)

const busy = statement((db, _none: object, dialect) =>
  db
    .selectFrom('engine_states')
    .select(columnsOf('engine_states'))
    .select(isExpired(dialect).as('expired'))
    // Two short index ranges. SQLite uses them only without an `order by`, and never for `is not null`; otherwise it would
    // read all engines that ever ran, every second. No node has an empty name.
    .where((eb) => eb.or([eb('wanted', '=', sql.lit(1 as const)), eb('node', '>', '')])),
)

const remove = statement((db, p: { engineId: string }) =>
  db.deleteFrom('engine_states').where('engine_id', '=', p.engineId),
)

const take = statement((db, p: { engineId: string; node: string; leaseMs: number }, dialect) =>
  db
    .updateTable('engine_states')
    .set({ node: p.node, alive_until_ms: leaseEnd(dialect, p.leaseMs) })
    .where('engine_id', '=', p.engineId),
)

export const engineRenewal = statement((db, p: { id: string; leaseMs: number }, dialect) =>
  db
    .updateTable('engine_states')
    .set({ alive_until_ms: leaseEnd(dialect, p.leaseMs) })
    .where('node', '=', p.id),
)

/** Renews the heartbeats of the runs of a node's engines. */
export const runRenewal = statement((db, p: { id: string }, dialect) =>
  db
    .updateTable('runs')
    .set({ heartbeat_at_ms: databaseTime(dialect) })
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('engine_states')
        .select((of) => of.ref('engine_states.run_id').$notNull().as('run_id'))
        .where('node', '=', p.id)
        .where('run_id', 'is not', null),
    ),
)

const forget = statement((db, p: { channelId: string }) =>
  db
    .deleteFrom('engine_states')
    .where('channel_id', '=', p.channelId)
    .where('wanted', '=', 0)
    .where('node', 'is', null)
    .where('engine_id', 'not in', (eb) => eb.selectFrom('engines').select('id').where('channel_id', '=', p.channelId)),
)

/** Deletes states of a channel's deleted engines. Leaves those that a node holds or would resume, for it to close. */
export async function forgetEngineStates(executor: Executor, channelId: string): Promise<void> {
  await executor.run(forget, { channelId })
}

export class EngineStateReadVerbs extends Verbs {
  async busy(): Promise<StoredEngineState[]> {
    const rows = (await this.executor.all(busy, {})).map(fromRow)
    return rows.sort((a, b) => (a.engineId < b.engineId ? -1 : 1))
  }

  async get(engineId: string): Promise<StoredEngineState | undefined> {
    const row = await this.executor.first(byId, { engineId })
    return row && fromRow(row)
  }
}

export class EngineStateTxVerbs extends EngineStateReadVerbs {
  async ofChannel(channelId: string): Promise<StoredEngineState[]> {
    return (await this.executor.all(ofChannel, { channelId })).map(fromRow)
  }

  /** Leaves the lease unchanged, because a renewal may run at the same time. Clears it when there is no node. */
  async put(state: EngineStateRecord): Promise<void> {
    const row = toRow(state)
    const { engine_id: _id, alive_until_ms, ...columns } = row
    const changed = state.node === null ? { ...columns, alive_until_ms } : columns
    await this.executor.change((db) =>
      db
        .insertInto('engine_states')
        .values(row)
        .onConflict((c) => c.column('engine_id').doUpdateSet(changed)),
    )
  }

  async take(engineId: string, node: string, leaseMs: number): Promise<void> {
    await this.executor.run(take, { engineId, node, leaseMs })
  }

  async delete(engineId: string): Promise<void> {
    await this.executor.run(remove, { engineId })
  }
}

const toRow = (state: EngineStateRecord): NewRowOf<'engine_states'> => ({
  engine_id: state.engineId,
  account_id: state.accountId,
  channel_id: state.channelId,
  wanted: state.wanted ? 1 : 0,
  idle_since_ms: state.idleSinceMs,
  failures: state.failures,
  retry_at_ms: state.retryAtMs,
  node: state.node,
  alive_until_ms: null,
  run_id: state.runId,
})

const fromRow = (row: RowOf<'engine_states'> & { expired: number }): StoredEngineState => ({
  engineId: row.engine_id,
  accountId: row.account_id,
  channelId: row.channel_id,
  wanted: row.wanted === 1,
  idleSinceMs: row.idle_since_ms,
  failures: row.failures,
  retryAtMs: row.retry_at_ms,
  node: row.node,
  isExpired: row.expired === 1,
  runId: row.run_id,
})
