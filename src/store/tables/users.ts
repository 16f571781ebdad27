import type { Kysely } from 'kysely'
import type { UserRole } from '../../core/users/types.ts'
import { inserted, statement, Verbs } from '../executor.ts'
import { fieldsOf, rowOf } from '../records.ts'
import { type DB, namesWithout } from '../schema.ts'
import type { User } from '../store.ts'
import { lockRows } from './lockRows.ts'

const users = (db: Kysely<DB>) => db.selectFrom('users').select(fieldsOf('users'))

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

const insert = statement((db, p: Omit<User, 'id'>) =>
  db
    .insertInto('users')
    .values(rowOf('users', namesWithout('users', 'id'), p))
    .returning(fieldsOf('users')),
)

const setRole = statement((db, p: { id: number; role: UserRole }) =>
  db.updateTable('users').set({ role: p.role }).where('id', '=', p.id),
)

const setPassword = statement((db, p: { id: number; passwordHash: string }) =>
  db.updateTable('users').set({ password_hash: p.passwordHash }).where('id', '=', p.id),
)

const remove = statement((db, p: { id: number }) => db.deleteFrom('users').where('id', '=', p.id))

export class UserReadVerbs extends Verbs {
  get(accountId: string, id: number): Promise<User | undefined> {
    return this.executor.first(byId, { accountId, id })
  }

  findByEmail(email: string): Promise<User | undefined> {
    return this.executor.first(byEmail, { email })
  }

  list(accountId: string): Promise<User[]> {
    return this.executor.all(ofAccount, { accountId })
  }

  async exist(): Promise<boolean> {
    return (await this.executor.first(any, {})) !== undefined
  }
}

export class UserTxVerbs extends UserReadVerbs {
  async insert(user: Omit<User, 'id'>): Promise<User> {
    return inserted(await this.executor.all(insert, user))
  }

  lock(accountId: string, id: number): Promise<User | undefined> {
    return this.executor.first(lock, { accountId, id })
  }

  lockById(id: number): Promise<User | undefined> {
    return this.executor.first(lockById, { id })
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
