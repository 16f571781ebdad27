import { pruning } from './pruning.ts'
import { inserted, statement, Verbs } from '../executor.ts'
import type { RowOf } from '../schema.ts'
import type { DashboardSession, User } from '../store.ts'
import { userFrom } from './users.ts'

type Row = Omit<RowOf<'dashboard_sessions'>, 'hash'>

const columns = ['id', 'user_id', 'created_at_ms', 'seen_at_ms', 'expires_at_ms', 'address', 'user_agent'] as const

const byHash = statement((db, p: { hash: Uint8Array }) =>
  db
    .selectFrom('dashboard_sessions as s')
    .innerJoin('users as u', 'u.id', 's.user_id')
    .select([
      's.id',
      's.user_id',
      's.created_at_ms',
      's.seen_at_ms',
      's.expires_at_ms',
      's.address',
      's.user_agent',
      'u.account_id',
      'u.email',
      'u.password_hash',
      'u.role',
      'u.created_at_ms as user_created_at_ms',
    ])
    .where('s.hash', '=', p.hash),
)

const ofUser = statement((db, p: { userId: number }) =>
  db.selectFrom('dashboard_sessions').select(columns).where('user_id', '=', p.userId).orderBy('id', 'desc'),
)

const insert = statement((db, p: Omit<DashboardSession, 'id'> & { hash: Uint8Array }) =>
  db
    .insertInto('dashboard_sessions')
    .values({
      hash: p.hash,
      user_id: p.userId,
      created_at_ms: p.createdAtMs,
      seen_at_ms: p.seenAtMs,
      expires_at_ms: p.expiresAtMs,
      address: p.address,
      user_agent: p.userAgent,
    })
    .returning(columns),
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
    return (
      row && {
        session: fromRow(row),
        user: userFrom({ ...row, id: row.user_id, created_at_ms: row.user_created_at_ms }),
      }
    )
  }

  async list(userId: number): Promise<DashboardSession[]> {
    return (await this.executor.all(ofUser, { userId })).map(fromRow)
  }
}

export class DashboardSessionTxVerbs extends DashboardSessionReadVerbs {
  async insert(session: Omit<DashboardSession, 'id'> & { hash: Uint8Array }): Promise<DashboardSession> {
    const row = inserted(await this.executor.all(insert, session))
    return fromRow(row)
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

function fromRow(row: Row): DashboardSession {
  return {
    id: row.id,
    userId: row.user_id,
    createdAtMs: row.created_at_ms,
    seenAtMs: row.seen_at_ms,
    expiresAtMs: row.expires_at_ms,
    address: row.address,
    userAgent: row.user_agent,
  }
}
