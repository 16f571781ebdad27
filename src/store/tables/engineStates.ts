import { type RawBuilder, sql } from 'kysely'
import { dbFlag } from '../columns.ts'
import { type DialectName, type Executor, statement, Verbs } from '../executor.ts'
import { fieldsOf, type FieldsOf, rowOf } from '../records.ts'
import { namesOf } from '../schema.ts'
import type { EngineStateRecord, StoredEngineState } from '../store.ts'
import { lockRows } from './lockRows.ts'
import { databaseTime, isLeaseOver, leaseEnd } from './now.ts'

const isExpired = (dialect: DialectName): RawBuilder<number> =>
  sql<number>`case when ${isLeaseOver(dialect, 'alive_until_ms')} then 1 else 0 end`

/** All but the lease. */
const STATE = [
  'engine_id',
  'account_id',
  'channel_id',
  'wanted',
  'idle_since_ms',
  'failures',
  'retry_at_ms',
  'node',
  'run_id',
] as const
type StateRow = FieldsOf<'engine_states', (typeof STATE)[number]>

const states = fieldsOf('engine_states', STATE)

const byId = statement((db, p: { engineId: string }, dialect) =>
  db
    .selectFrom('engine_states')
    .select(states)
    .select(isExpired(dialect).as('expired'))
    .where('engine_id', '=', p.engineId),
)

const ofChannel = statement((db, p: { channelId: string }, dialect) =>
  db
    .selectFrom('engines')
    .innerJoin('engine_states', 'engine_states.engine_id', 'engines.id')
    .select(states)
    .select(isExpired(dialect).as('expired'))
    .where('engines.channel_id', '=', p.channelId),
)

const busy = statement((db, _none: object, dialect) =>
  db
    .selectFrom('engine_states')
    .select(states)
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

// A start or stop of several engines locks one after another. A renewal that waited for one of them with others locked would be a
// deadlock, so it leaves out what is locked: the next one comes in two seconds.

export const engineRenewal = statement((db, p: { id: string; leaseMs: number }, dialect) => {
  const own = db.selectFrom('engine_states as own').select('own.engine_id').where('own.node', '=', p.id)
  return db
    .updateTable('engine_states')
    .set({ alive_until_ms: leaseEnd(dialect, p.leaseMs) })
    .where('engine_id', 'in', lockRows(dialect, own, 'update skip locked'))
})

/** Renews the heartbeats of the runs of a node's engines. */
export const runRenewal = statement((db, p: { id: string }, dialect) => {
  const own = db
    .selectFrom('runs as own')
    .select('own.id')
    .where('own.id', 'in', (eb) =>
      eb
        .selectFrom('engine_states')
        .select((of) => of.ref('engine_states.run_id').$notNull().as('run_id'))
        .where('node', '=', p.id)
        .where('run_id', 'is not', null),
    )
  return db
    .updateTable('runs')
    .set({ heartbeat_at_ms: databaseTime(dialect) })
    .where('id', 'in', lockRows(dialect, own, 'update skip locked'))
})

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
    const all = namesOf('engine_states')
    const row = rowOf('engine_states', all, toRow(state))
    const changed = rowOf('engine_states', state.node === null ? all : STATE, toRow(state))
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

const toRow = (state: EngineStateRecord) => ({ ...state, wanted: dbFlag(state.wanted), aliveUntilMs: null })

const fromRow = ({ expired, ...row }: StateRow & { expired: number }): StoredEngineState => ({
  ...row,
  wanted: row.wanted === 1,
  isExpired: expired === 1,
})
