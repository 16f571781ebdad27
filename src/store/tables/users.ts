import type { Kysely } from 'kysely'
import type { UserRole } from '../../core/users/types.ts'
import { inserted, statement } from '../executor.ts'
import { fieldsOf, rowOf } from '../records.ts'
import { type DB, namesWithout } from '../schema.ts'
import type { User } from '../store.ts'
import { lockRows } from './lockRows.ts'
import { NumberedTable, NumberedVerbs } from './resource.ts'

const users = new NumberedTable('users', fieldsOf('users'), (row: User) => row)

const all = (db: Kysely<DB>) => db.selectFrom('users').select(fieldsOf('users'))

const byEmail = statement((db, p: { email: string }) => all(db).where('email', '=', p.email))

const any = statement((db) => db.selectFrom('users').select('id').limit(1))

const lockById = statement((db, p: { id: number }, dialect) =>
  lockRows(dialect, all(db).where('id', '=', p.id), 'update'),
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

export class UserReadVerbs extends NumberedVerbs<User> {
  protected override readonly table = users

  findByEmail(email: string): Promise<User | undefined> {
    return this.executor.first(byEmail, { email })
  }

  async exist(): Promise<boolean> {
    return (await this.executor.first(any, {})) !== undefined
  }
}

export class UserTxVerbs extends UserReadVerbs {
  async insert(user: Omit<User, 'id'>): Promise<User> {
    return inserted(await this.executor.all(insert, user))
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
}
