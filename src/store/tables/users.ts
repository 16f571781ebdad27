import type { Kysely } from 'kysely'
import type { UserRole } from '../../core/users/types.ts'
import { inserted, statement, Verbs } from '../executor.ts'
import { columnsOf, type DB, type RowOf } from '../schema.ts'
import type { User } from '../store.ts'
import { lockRows } from './lockRows.ts'

const users = (db: Kysely<DB>) => db.selectFrom('users').select(columnsOf('users'))

const named = (db: Kysely<DB>, p: { accountId: string; id: number }) =>
  users(db).where('id', '=', p.id).where('account_id', '=', p.accountId)

const byId = statement(named)

const byEmail = statement((db, p: { email: string }) => users(db).where('email', '=', p.email))

const ofAccount = statement((db, p: { accountId: string }) =>
  users(db).where('account_id', '=', p.accountId).orderBy('id'),
)

const any = statement((db) => db.selectFrom('users').select('id').limit(1))

const lock = statement((db, p: { accountId: string; id: number }, dialect) => lockRows(dialect, named(db, p), 'update'))

const lockById = statement((db, p: { id: number }, dialect) =>
  lockRows(dialect, users(db).where('id', '=', p.id), 'update'),
)

const lockAccount = statement((db, p: { accountId: string }, dialect) =>
  lockRows(dialect, db.selectFrom('accounts').select('id').where('id', '=', p.accountId), 'update'),
)

const insert = statement((db, p: Omit<User, 'id'>) =>
  db
    .insertInto('users')
    .values({
      account_id: p.accountId,
      email: p.email,
      password_hash: p.passwordHash,
      role: p.role,
      created_at_ms: p.createdAtMs,
    })
    .returning(columnsOf('users')),
)

const setRole = statement((db, p: { id: number; role: UserRole }) =>
  db.updateTable('users').set({ role: p.role }).where('id', '=', p.id),
)

const setPassword = statement((db, p: { id: number; passwordHash: string }) =>
  db.updateTable('users').set({ password_hash: p.passwordHash }).where('id', '=', p.id),
)

const remove = statement((db, p: { id: number }) => db.deleteFrom('users').where('id', '=', p.id))

export class UserReadVerbs extends Verbs {
  async get(accountId: string, id: number): Promise<User | undefined> {
    const row = await this.executor.first(byId, { accountId, id })
    return row && userFrom(row)
  }

  async findByEmail(email: string): Promise<User | undefined> {
    const row = await this.executor.first(byEmail, { email })
    return row && userFrom(row)
  }

  async list(accountId: string): Promise<User[]> {
    return (await this.executor.all(ofAccount, { accountId })).map(userFrom)
  }

  async exist(): Promise<boolean> {
    return (await this.executor.first(any, {})) !== undefined
  }
}

export class UserTxVerbs extends UserReadVerbs {
  async insert(user: Omit<User, 'id'>): Promise<User> {
    const row = inserted(await this.executor.all(insert, user))
    return userFrom(row)
  }

  async lock(accountId: string, id: number): Promise<User | undefined> {
    const row = await this.executor.first(lock, { accountId, id })
    return row && userFrom(row)
  }

  async lockById(id: number): Promise<User | undefined> {
    const row = await this.executor.first(lockById, { id })
    return row && userFrom(row)
  }

  async lockAccount(accountId: string): Promise<void> {
    await this.executor.first(lockAccount, { accountId })
  }

  async setRole(id: number, role: UserRole): Promise<void> {
    await this.executor.run(setRole, { id, role })
  }

  async setPassword(id: number, passwordHash: string): Promise<void> {
    await this.executor.run(setPassword, { id, passwordHash })
  }

  /** Also deletes passkeys and sessions of the dashboard (`on delete cascade`). */
  async delete(id: number): Promise<void> {
    await this.executor.run(remove, { id })
  }
}

export function userFrom(row: RowOf<'users'>): User {
  return {
    id: row.id,
    accountId: row.account_id,
    email: row.email,
    passwordHash: row.password_hash,
    role: row.role,
    createdAtMs: row.created_at_ms,
  }
}
