import type { Kysely } from 'kysely'
import { inserted, statement, Verbs } from '../executor.ts'
import { fieldsOf, rowOf } from '../records.ts'
import type { DB } from '../schema.ts'
import type { ApiSecret } from '../store.ts'
import { lockRows } from './lockRows.ts'

const WRITTEN = ['account_id', 'name', 'hint', 'created_at_ms', 'refreshed_at_ms'] as const

const secrets = fieldsOf('secrets', ['id', ...WRITTEN, 'used_at_ms'])

const byHash = statement((db, p: { hash: Uint8Array }) =>
  db.selectFrom('secrets').select(secrets).where('hash', '=', p.hash),
)

interface Named {
  readonly accountId: string
  readonly id: number
}

const named = (db: Kysely<DB>, p: Named) =>
  db.selectFrom('secrets').select(secrets).where('id', '=', p.id).where('account_id', '=', p.accountId)

const byId = statement(named)

const lock = statement((db, p: Named, dialect) => lockRows(dialect, named(db, p), 'update'))

const ofAccount = statement((db, p: { accountId: string }) =>
  db.selectFrom('secrets').select(secrets).where('account_id', '=', p.accountId).orderBy('id'),
)

const insert = statement((db, p: Omit<ApiSecret, 'id' | 'usedAtMs'> & { hash: Uint8Array }) =>
  db
    .insertInto('secrets')
    .values(rowOf('secrets', [...WRITTEN, 'hash'], p))
    .returning(secrets),
)

const replace = statement((db, p: { id: number; hash: Uint8Array; hint: string; atMs: number }) =>
  db.updateTable('secrets').set({ hash: p.hash, hint: p.hint, refreshed_at_ms: p.atMs }).where('id', '=', p.id),
)

const touch = statement((db, p: { id: number; atMs: number }) =>
  db
    .updateTable('secrets')
    .set({ used_at_ms: p.atMs })
    .where('id', '=', p.id)
    .where((eb) => eb.or([eb('used_at_ms', 'is', null), eb('used_at_ms', '<', p.atMs)])),
)

const remove = statement((db, p: { id: number }) => db.deleteFrom('secrets').where('id', '=', p.id))

export class SecretReadVerbs extends Verbs {
  get(accountId: string, id: number): Promise<ApiSecret | undefined> {
    return this.executor.first(byId, { accountId, id })
  }

  findByHash(hash: Uint8Array): Promise<ApiSecret | undefined> {
    return this.executor.first(byHash, { hash })
  }

  list(accountId: string): Promise<ApiSecret[]> {
    return this.executor.all(ofAccount, { accountId })
  }
}

export class SecretTxVerbs extends SecretReadVerbs {
  async insert(secret: Omit<ApiSecret, 'id' | 'usedAtMs'> & { hash: Uint8Array }): Promise<ApiSecret> {
    return inserted(await this.executor.all(insert, secret))
  }

  lock(accountId: string, id: number): Promise<ApiSecret | undefined> {
    return this.executor.first(lock, { accountId, id })
  }

  async replace(id: number, hash: Uint8Array, hint: string, atMs: number): Promise<void> {
    await this.executor.run(replace, { id, hash, hint, atMs })
  }

  async touch(id: number, atMs: number): Promise<void> {
    await this.executor.run(touch, { id, atMs })
  }

  async delete(id: number): Promise<void> {
    await this.executor.run(remove, { id })
  }
}
