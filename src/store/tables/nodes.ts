import type { Selectable } from 'kysely'
import type { DB } from '../schema.ts'
import { type Session, statement } from '../session.ts'
import type { Node } from '../store.ts'

const insert = statement((db, p: Node) =>
  db.insertInto('nodes').values({
    id: p.id,
    place: p.place,
    pid: p.pid,
    seen_at_ms: p.seenAtMs,
    alive_until_ms: p.aliveUntilMs,
    url: p.url,
  }),
)

const beat = statement((db, p: Pick<Node, 'id' | 'seenAtMs' | 'aliveUntilMs'>) =>
  db.updateTable('nodes').set({ seen_at_ms: p.seenAtMs, alive_until_ms: p.aliveUntilMs }).where('id', '=', p.id),
)

/** A key share lock keeps the row from being deleted, and lets signs of life be written. */
const hold = statement((db, p: { id: string }, engine) => {
  const row = db.selectFrom('nodes').select('id').where('id', '=', p.id)
  return engine === 'postgres' ? row.forKeyShare() : row
})

const lockDead = statement((db, p: Pick<Node, 'id' | 'aliveUntilMs'>, engine) => {
  const row = db.selectFrom('nodes').select('id').where('id', '=', p.id).where('alive_until_ms', '=', p.aliveUntilMs)
  return engine === 'postgres' ? row.forUpdate() : row
})

const remove = statement((db, p: { id: string }) => db.deleteFrom('nodes').where('id', '=', p.id))

const list = statement((db) => db.selectFrom('nodes').selectAll().orderBy('id'))

export async function insertNode(session: Session, node: Node): Promise<void> {
  await session.run(insert, node)
}

export async function beatNode(session: Session, id: string, seenAtMs: number, aliveUntilMs: number): Promise<boolean> {
  return (await session.run(beat, { id, seenAtMs, aliveUntilMs })) === 1
}

export async function holdNode(session: Session, id: string): Promise<boolean> {
  return (await session.first(hold, { id })) !== undefined
}

export async function lockDeadNode(session: Session, node: Node): Promise<boolean> {
  return (await session.first(lockDead, node)) !== undefined
}

export async function deleteNode(session: Session, id: string): Promise<void> {
  await session.run(remove, { id })
}

export async function listNodes(session: Session): Promise<Node[]> {
  return (await session.all(list, {})).map(fromRow)
}

const fromRow = (row: Selectable<DB['nodes']>): Node => ({
  id: row.id,
  place: row.place,
  pid: row.pid,
  seenAtMs: row.seen_at_ms,
  aliveUntilMs: row.alive_until_ms,
  url: row.url,
})
