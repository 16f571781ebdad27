import type { Selectable } from 'kysely'
import type { DB } from '../schema.ts'
import { statement, Verbs } from '../executor.ts'
import type { OutboxEvent } from '../store.ts'
import { columnsOf } from '../tableColumns.ts'
import { lockRows } from './lockRows.ts'

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
  db.selectFrom('outbox').select(columnsOf('outbox')).orderBy('id').limit(p.limit),
)

/** Skips rows that another node is taking. SQLite has only one writer, so there are none. */
const take = statement((db, p: { limit: number }, engine) => {
  const oldest = db.selectFrom('outbox as waiting').select('waiting.id').orderBy('waiting.id').limit(p.limit)
  const mine = lockRows(engine, oldest, 'update skip locked')
  return db.deleteFrom('outbox').where('id', 'in', mine).returning(columnsOf('outbox'))
})

/** The reads of outbox. */
export class OutboxReadVerbs extends Verbs {
  async pending(limit: number): Promise<(OutboxEvent & { id: number })[]> {
    return (await this.executor.all(pending, { limit })).map(fromRow)
  }
}

/** The verbs of outbox in a transaction. */
export class OutboxTxVerbs extends OutboxReadVerbs {
  async append(event: OutboxEvent): Promise<number> {
    const row = await this.executor.first(append, event)
    if (!row) throw new Error('insert returned no row')
    return row.id
  }

  async take(limit: number): Promise<(OutboxEvent & { id: number })[]> {
    const rows = await this.executor.all(take, { limit })
    return rows.toSorted((a, b) => a.id - b.id).map(fromRow)
  }
}

function fromRow(row: Selectable<DB['outbox']>): OutboxEvent & { id: number } {
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
