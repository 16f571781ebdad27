import type { Account } from '../store.ts'
import { type Executor, statement } from '../executor.ts'
import { columnsOf } from '../tableColumns.ts'

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

export async function getAccount(executor: Executor, id: string): Promise<Account | undefined> {
  const row = await executor.first(get, { id })
  return row && fromRow(row)
}

export async function listAccounts(executor: Executor): Promise<Account[]> {
  return (await executor.all(list, {})).map(fromRow)
}

export async function insertAccount(executor: Executor, account: Account): Promise<void> {
  await executor.run(insert, { id: account.id, name: account.name, created_at_ms: account.createdAtMs })
}

function fromRow(row: Row): Account {
  return { id: row.id, name: row.name, createdAtMs: row.created_at_ms }
}
