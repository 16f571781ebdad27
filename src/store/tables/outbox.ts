import { type Session, statement } from '../session.ts'
import type { OutboxEvent } from '../store.ts'

const append = statement((db, p: OutboxEvent) =>
  db
    .insertInto('outbox')
    .values({
      account_id: p.accountId,
      type: p.type,
      event: p.event,
      subject: p.subject,
      data: p.data,
      created_at_ms: p.createdAtMs,
    })
    .returning('id'),
)

const pending = statement((db, p: { limit: number }) =>
  db.selectFrom('outbox').selectAll().orderBy('id').limit(p.limit),
)

export async function appendOutbox(session: Session, event: OutboxEvent): Promise<number> {
  const row = await session.first(append, event)
  if (!row) throw new Error('insert returned no row')
  return row.id
}

export async function pendingOutbox(session: Session, limit: number): Promise<(OutboxEvent & { id: number })[]> {
  const rows = await session.all(pending, { limit })
  return rows.map((row) => ({
    id: row.id,
    accountId: row.account_id,
    type: row.type,
    event: row.event,
    subject: row.subject,
    data: row.data,
    createdAtMs: row.created_at_ms,
  }))
}
