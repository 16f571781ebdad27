import { insertion, statement, Verbs } from '../executor.ts'
import { columnsOf, namesWithoutId, type RowOf, type NewRowOf } from '../schema.ts'
import type { OutboxEvent } from '../store.ts'
import { lockRows } from './lockRows.ts'

const insert = insertion('outbox', namesWithoutId('outbox'))

const pending = statement((db, p: { limit: number }) =>
  db.selectFrom('outbox').select(columnsOf('outbox')).orderBy('id').limit(p.limit),
)

/** Skips rows that another node is taking. SQLite has only one writer, so there are none. */
const take = statement((db, p: { limit: number }, dialect) => {
  const oldest = db.selectFrom('outbox as waiting').select('waiting.id').orderBy('waiting.id').limit(p.limit)
  const mine = lockRows(dialect, oldest, 'update skip locked')
  return db.deleteFrom('outbox').where('id', 'in', mine).returning(columnsOf('outbox'))
})

export class OutboxReadVerbs extends Verbs {
  async pending(limit: number): Promise<(OutboxEvent & { id: number })[]> {
    return (await this.executor.all(pending, { limit })).map(fromRow)
  }
}

export class OutboxTxVerbs extends OutboxReadVerbs {
  append(...events: OutboxEvent[]): Promise<void> {
    return insert(this.executor, events.map(toRow))
  }

  async take(limit: number): Promise<(OutboxEvent & { id: number })[]> {
    const rows = await this.executor.all(take, { limit })
    return rows.toSorted((a, b) => a.id - b.id).map(fromRow)
  }
}

const toRow = (event: OutboxEvent): NewRowOf<'outbox'> => ({
  account_id: event.accountId,
  type: event.type,
  event: event.event,
  subject: event.subject,
  data: event.data,
  created_at_ms: event.createdAtMs,
})

function fromRow(row: RowOf<'outbox'>): OutboxEvent & { id: number } {
  return {
    id: row.id,
    accountId: row.account_id,
    type: row.type,
    event: row.event,
    subject: row.subject,
    data: row.data,
    createdAtMs: row.created_at_ms,
  }
}
