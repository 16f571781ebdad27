import { statement, Verbs } from '../executor.ts'
import { fieldsOf, insertion } from '../records.ts'
import { namesWithout } from '../schema.ts'
import type { OutboxEvent } from '../store.ts'
import { lockRows } from './lockRows.ts'

const insert = insertion('outbox', namesWithout('outbox', 'id'))

const pending = statement((db, p: { limit: number }) =>
  db.selectFrom('outbox').select(fieldsOf('outbox')).orderBy('id').limit(p.limit),
)

/** Skips rows that another node is taking. SQLite has only one writer, so there are none. */
const take = statement((db, p: { limit: number }, dialect) => {
  const oldest = db.selectFrom('outbox as waiting').select('waiting.id').orderBy('waiting.id').limit(p.limit)
  const mine = lockRows(dialect, oldest, 'update skip locked')
  return db.deleteFrom('outbox').where('id', 'in', mine).returning(fieldsOf('outbox'))
})

export class OutboxReadVerbs extends Verbs {
  pending(limit: number): Promise<(OutboxEvent & { id: number })[]> {
    return this.executor.all(pending, { limit })
  }
}

export class OutboxTxVerbs extends OutboxReadVerbs {
  append(...events: OutboxEvent[]): Promise<void> {
    return insert(this.executor, events)
  }

  async take(limit: number): Promise<(OutboxEvent & { id: number })[]> {
    const rows = await this.executor.all(take, { limit })
    return rows.toSorted((a, b) => a.id - b.id)
  }
}
