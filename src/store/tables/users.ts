import type { Selectable } from 'kysely'
import type { DB } from '../schema.ts'
import { type Executor, statement } from '../executor.ts'
import type { User } from '../store.ts'

const byEmail = statement((db, p: { email: string }) => db.selectFrom('users').selectAll().where('email', '=', p.email))

const insert = statement((db, p: Omit<User, 'id'>) =>
  db
    .insertInto('users')
    .values({
      account_id: p.accountId,
      email: p.email,
      password_hash: p.passwordHash,
      created_at_ms: p.createdAtMs,
    })
    .returningAll(),
)

export async function findUser(executor: Executor, email: string): Promise<User | undefined> {
  const row = await executor.first(byEmail, { email })
  return row && fromRow(row)
}

export async function insertUser(executor: Executor, user: Omit<User, 'id'>): Promise<User> {
  const [row] = await executor.all(insert, user)
  if (!row) throw new Error('insert returned no row')
  return fromRow(row)
}

function fromRow(row: Selectable<DB['users']>): User {
  return {
    id: row.id,
    accountId: row.account_id,
    email: row.email,
    passwordHash: row.password_hash,
    createdAtMs: row.created_at_ms,
  }
}
