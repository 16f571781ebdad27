import type { Insertable, Selectable } from 'kysely'
import type { EngineLifeTable } from '../runsSchema.ts'
import { type Session, statement } from '../session.ts'
import type { StoredLife } from '../store.ts'

const byId = statement((db, p: { engineId: string }) =>
  db.selectFrom('engine_lives').selectAll().where('engine_id', '=', p.engineId),
)

const busy = statement((db, _none: object) =>
  db
    .selectFrom('engine_lives')
    .selectAll()
    // Two short ranges, which SQLite reads only when nobody asks for an order, and for `is not null` not at all: without
    // them all engines that ever ran would be read every second. No node has an empty name.
    .where((eb) => eb.or([eb('wanted', '=', 1), eb('node', '>', '')])),
)

const remove = statement((db, p: { engineId: string }) =>
  db.deleteFrom('engine_lives').where('engine_id', '=', p.engineId),
)

const beatLives = statement((db, p: { node: string; aliveUntilMs: number }) =>
  db.updateTable('engine_lives').set({ alive_until_ms: p.aliveUntilMs }).where('node', '=', p.node),
)

const beatRuns = statement((db, p: { node: string; nowMs: number }) =>
  db
    .updateTable('runs')
    .set({ heartbeat_at_ms: p.nowMs })
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('engine_lives')
        .select((of) => of.ref('engine_lives.run_id').$notNull().as('run_id'))
        .where('node', '=', p.node)
        .where('run_id', 'is not', null),
    ),
)

const forget = statement((db, p: { channelId: string }) =>
  db
    .deleteFrom('engine_lives')
    .where('channel_id', '=', p.channelId)
    .where('wanted', '=', 0)
    .where('node', 'is', null)
    .where('engine_id', 'not in', (eb) => eb.selectFrom('engines').select('id').where('channel_id', '=', p.channelId)),
)

/** Of engines of a channel that are gone. What a node still holds, or would bring up again, is left for it to close. */
export async function forgetLives(session: Session, channelId: string): Promise<void> {
  await session.run(forget, { channelId })
}

export async function getLife(session: Session, engineId: string): Promise<StoredLife | undefined> {
  const row = await session.first(byId, { engineId })
  return row && fromRow(row)
}

export async function busyLives(session: Session): Promise<StoredLife[]> {
  const rows = (await session.all(busy, {})).map(fromRow)
  return rows.sort((a, b) => (a.engineId < b.engineId ? -1 : 1))
}

export async function putLife(session: Session, life: StoredLife): Promise<void> {
  const row = toRow(life)
  const { engine_id: _id, ...columns } = row
  await session.change((db) =>
    db
      .insertInto('engine_lives')
      .values(row)
      .onConflict((c) => c.column('engine_id').doUpdateSet(columns)),
  )
}

export async function deleteLife(session: Session, engineId: string): Promise<void> {
  await session.run(remove, { engineId })
}

export async function beatNode(session: Session, node: string, nowMs: number, aliveUntilMs: number): Promise<void> {
  await session.run(beatLives, { node, aliveUntilMs })
  await session.run(beatRuns, { node, nowMs })
}

const toRow = (life: StoredLife): Insertable<EngineLifeTable> => ({
  engine_id: life.engineId,
  account_id: life.accountId,
  channel_id: life.channelId,
  wanted: life.wanted ? 1 : 0,
  idle_since_ms: life.idleSinceMs,
  failures: life.failures,
  retry_at_ms: life.retryAtMs,
  node: life.node,
  alive_until_ms: life.aliveUntilMs,
  run_id: life.runId,
})

const fromRow = (row: Selectable<EngineLifeTable>): StoredLife => ({
  engineId: row.engine_id,
  accountId: row.account_id,
  channelId: row.channel_id,
  wanted: row.wanted === 1,
  idleSinceMs: row.idle_since_ms,
  failures: row.failures,
  retryAtMs: row.retry_at_ms,
  node: row.node,
  aliveUntilMs: row.alive_until_ms,
  runId: row.run_id,
})
