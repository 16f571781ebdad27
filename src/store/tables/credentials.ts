import type { Kysely } from 'kysely'
import { inserted, statement, Verbs } from '../executor.ts'
import { fieldsOf, rowOf } from '../records.ts'
import type { DB } from '../schema.ts'
import type { StoredCredential } from '../store.ts'
import { lockRows } from './lockRows.ts'

const WRITTEN = ['account_id', 'name', 'key', 'scope', 'created_at_ms'] as const
const READ = ['id', ...WRITTEN, 'used_at_ms'] as const

const credentials = fieldsOf('credentials', READ)

const byKey = statement((db, p: { key: string }) =>
  db
    .selectFrom('credentials')
    .select(fieldsOf('credentials', [...READ, 'secret_hash']))
    .where('key', '=', p.key),
)

interface Named {
  readonly accountId: string
  readonly id: number
}

const named = (db: Kysely<DB>, p: Named) =>
  db.selectFrom('credentials').select(credentials).where('id', '=', p.id).where('account_id', '=', p.accountId)

const byId = statement(named)

const lock = statement((db, p: Named, dialect) => lockRows(dialect, named(db, p), 'update'))

const ofAccount = statement((db, p: { accountId: string }) =>
  db.selectFrom('credentials').select(credentials).where('account_id', '=', p.accountId).orderBy('id'),
)

const insert = statement((db, p: Omit<StoredCredential, 'id' | 'usedAtMs'> & { secretHash: Uint8Array }) =>
  db
    .insertInto('credentials')
    .values(rowOf('credentials', [...WRITTEN, 'secret_hash'], p))
    .returning(credentials),
)

const touch = statement((db, p: { id: number; atMs: number }) =>
  db
    .updateTable('credentials')
    .set({ used_at_ms: p.atMs })
    .where('id', '=', p.id)
    .where((eb) => eb.or([eb('used_at_ms', 'is', null), eb('used_at_ms', '<', p.atMs)])),
)

const remove = statement((db, p: { id: number }) => db.deleteFrom('credentials').where('id', '=', p.id))

export class CredentialReadVerbs extends Verbs {
  findByKey(key: string): Promise<(StoredCredential & { secretHash: Uint8Array }) | undefined> {
    return this.executor.first(byKey, { key })
  }

  list(accountId: string): Promise<StoredCredential[]> {
    return this.executor.all(ofAccount, { accountId })
  }
}

export class CredentialTxVerbs extends CredentialReadVerbs {
  async insert(
    credential: Omit<StoredCredential, 'id' | 'usedAtMs'> & { secretHash: Uint8Array },
  ): Promise<StoredCredential> {
    return inserted(await this.executor.all(insert, credential))
  }

  get(accountId: string, id: number): Promise<StoredCredential | undefined> {
    return this.executor.first(byId, { accountId, id })
  }

  lock(accountId: string, id: number): Promise<StoredCredential | undefined> {
    return this.executor.first(lock, { accountId, id })
  }

  async touch(id: number, atMs: number): Promise<void> {
    await this.executor.run(touch, { id, atMs })
  }

  async delete(id: number): Promise<void> {
    await this.executor.run(remove, { id })
  }
}
