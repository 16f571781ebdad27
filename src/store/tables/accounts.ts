import type { Account } from '../store.ts'
import { statement, Verbs } from '../executor.ts'
import { columnsOf } from '../schema.ts'

type Row = { id: string; name: string; created_at_ms: number }

const get = statement((db, p: { id: string }) =>
  db.selectFrom('accounts').select(columnsOf('accounts')).where('id', '=', p.id),
)

const list = statement((db) =>
  db.selectFrom('accounts').select(columnsOf('accounts')).orderBy('created_at_ms').orderBy('id'),
)

const insert = statement((db, p: Row) =>
  db.insertInto('accounts').values({ id: p.id, name: p.name, created_at_ms: p.created_at_ms }),
)

/** The reads of accounts. */
export class AccountReadVerbs extends Verbs {
  async get(id: string): Promise<Account | undefined> {
    const row = await this.executor.first(get, { id })
    return row && fromRow(row)
  }

  async list(): Promise<Account[]> {
    return (await this.executor.all(list, {})).map(fromRow)
  }
}

/** The verbs of accounts in a transaction. */
export class AccountTxVerbs extends AccountReadVerbs {
  async insert(account: Account): Promise<void> {
    await this.executor.run(insert, { id: account.id, name: account.name, created_at_ms: account.createdAtMs })
  }
}

function fromRow(row: Row): Account {
  return { id: row.id, name: row.name, createdAtMs: row.created_at_ms }
}
