import { pruning } from './pruning.ts'
import { inserted, statement, Verbs } from '../executor.ts'
import { fieldsOf, rowOf } from '../records.ts'
import type { DashboardSession, User } from '../store.ts'

const WRITTEN = ['user_id', 'created_at_ms', 'seen_at_ms', 'expires_at_ms', 'address', 'user_agent'] as const

const sessions = fieldsOf('dashboard_sessions', ['id', ...WRITTEN])

const byHash = statement((db, p: { hash: Uint8Array }) =>
  db
    .selectFrom('dashboard_sessions')
    .innerJoin('users', 'users.id', 'dashboard_sessions.user_id')
    .select(sessions)
    .select(fieldsOf('users', ['account_id', 'email', 'password_hash', 'role']))
    .select('users.created_at_ms as userCreatedAtMs')
    .where('dashboard_sessions.hash', '=', p.hash),
)

const ofUser = statement((db, p: { userId: number }) =>
  db.selectFrom('dashboard_sessions').select(sessions).where('user_id', '=', p.userId).orderBy('id', 'desc'),
)

const insert = statement((db, p: Omit<DashboardSession, 'id'> & { hash: Uint8Array }) =>
  db
    .insertInto('dashboard_sessions')
    .values(rowOf('dashboard_sessions', ['hash', ...WRITTEN], p))
    .returning(sessions),
)

const touch = statement((db, p: { id: number; atMs: number }) =>
  db
    .updateTable('dashboard_sessions')
    .set({ seen_at_ms: p.atMs })
    .where('id', '=', p.id)
    .where('seen_at_ms', '<', p.atMs),
)

const remove = statement((db, p: { userId: number; id: number }) =>
  db.deleteFrom('dashboard_sessions').where('user_id', '=', p.userId).where('id', '=', p.id),
)

const removeOf = statement((db, p: { userId: number }) =>
  db.deleteFrom('dashboard_sessions').where('user_id', '=', p.userId),
)

const prune = pruning('dashboard_sessions', 'seen_at_ms', ['id'])

export class DashboardSessionReadVerbs extends Verbs {
  async find(hash: Uint8Array): Promise<{ session: DashboardSession; user: User } | undefined> {
    const row = await this.executor.first(byHash, { hash })
    if (!row) return undefined
    const { accountId, email, passwordHash, role, userCreatedAtMs: createdAtMs, ...session } = row
    return { session, user: { id: session.userId, accountId, email, passwordHash, role, createdAtMs } }
  }

  list(userId: number): Promise<DashboardSession[]> {
    return this.executor.all(ofUser, { userId })
  }
}

export class DashboardSessionTxVerbs extends DashboardSessionReadVerbs {
  async insert(session: Omit<DashboardSession, 'id'> & { hash: Uint8Array }): Promise<DashboardSession> {
    return inserted(await this.executor.all(insert, session))
  }

  async touch(id: number, atMs: number): Promise<void> {
    await this.executor.run(touch, { id, atMs })
  }

  async delete(userId: number, id: number): Promise<boolean> {
    return (await this.executor.run(remove, { userId, id })) > 0
  }

  deleteOf(userId: number): Promise<number> {
    return this.executor.run(removeOf, { userId })
  }

  async prune(beforeMs: number, limit: number): Promise<number> {
    return this.executor.run(prune, { beforeMs, limit })
  }
}
