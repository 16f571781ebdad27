import type { Engine, LiveStatus } from '../../core/live/types.ts'
import { type Session, statement } from '../session.ts'
import type { ChildListQuery } from '../store.ts'
import { beyond } from './keyset.ts'
import { forgetLives } from './lives.ts'
import { Resource } from './resource.ts'

const engines = new Resource<'engines', Engine>('engines', {
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
  kept: ['status', 'status_message'],
})

const ofChannel = statement((db, p: { channelId: string }) =>
  db.selectFrom('engines').selectAll().where('channel_id', '=', p.channelId).orderBy('created_at_ms').orderBy('id'),
)

const unstopped = statement((db, _none: object) =>
  db.selectFrom('engines').selectAll().where('status', '<>', 'stopped').orderBy('created_at_ms').orderBy('id'),
)

const setStatus = statement((db, p: { id: string; status: LiveStatus; message: string | null }) =>
  db.updateTable('engines').set({ status: p.status, status_message: p.message }).where('id', '=', p.id),
)

const usingLadder = statement((db, p: { abrLadderId: string }) =>
  db.selectFrom('engines').selectAll().where('abr_ladder_id', '=', p.abrLadderId).orderBy('id').limit(1),
)

export const getEngine = engines.get.bind(engines)
export const insertEngine = engines.insert.bind(engines)
export const replaceEngine = engines.replace.bind(engines)

export async function deleteEngine(session: Session, id: string): Promise<void> {
  const [engine] = engines.read(await session.ask((db) => db.selectFrom('engines').selectAll().where('id', '=', id)))
  await engines.delete(session, id)
  if (engine) await forgetLives(session, engine.channelId)
}

export async function enginesOf(session: Session, channelId: string): Promise<Engine[]> {
  return engines.read(await session.all(ofChannel, { channelId }))
}

export async function unstoppedEngines(session: Session): Promise<Engine[]> {
  return engines.read(await session.all(unstopped, {}))
}

export async function engineUsingLadder(session: Session, abrLadderId: string): Promise<Engine | undefined> {
  return engines.read(await session.all(usingLadder, { abrLadderId }))[0]
}

export async function setEngineStatus(
  session: Session,
  id: string,
  status: LiveStatus,
  message: string | null,
): Promise<void> {
  await session.run(setStatus, { id, status, message })
}

export async function pageEngines(session: Session, query: ChildListQuery): Promise<Engine[]> {
  const { after, limit } = query
  const rows = await session.ask((db) => {
    const all = db.selectFrom('engines').selectAll()
    let page =
      'ingestId' in query ? all.where('ingest_id', '=', query.ingestId) : all.where('channel_id', '=', query.channelId)
    if (after) page = page.where(beyond(['created_at_ms', 'id'], 'desc', [after.atMs, after.id]))
    return page.orderBy('created_at_ms', 'desc').orderBy('id', 'desc').limit(limit)
  })
  return engines.read(rows)
}
