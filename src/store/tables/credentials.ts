import { inserted, statement } from '../executor.ts'
import { fieldsOf, rowOf } from '../records.ts'
import type { StoredCredential } from '../store.ts'
import { NumberedTable, NumberedVerbs } from './resource.ts'

const WRITTEN = ['account_id', 'name', 'key', 'scope', 'created_at_ms'] as const
const READ = ['id', ...WRITTEN, 'used_at_ms'] as const

const fields = fieldsOf('credentials', READ)

const credentials = new NumberedTable('credentials', fields, (row: StoredCredential) => row)

const byKey = statement((db, p: { key: string }) =>
  db
    .selectFrom('credentials')
    .select(fieldsOf('credentials', [...READ, 'secret_hash']))
    .where('key', '=', p.key),
)

const insert = statement((db, p: Omit<StoredCredential, 'id' | 'usedAtMs'> & { secretHash: Uint8Array }) =>
  db
    .insertInto('credentials')
    .values(rowOf('credentials', [...WRITTEN, 'secret_hash'], p))
    .returning(fields),
)

const touch = statement((db, p: { id: number; atMs: number }) =>
  db
    .updateTable('credentials')
    .set({ used_at_ms: p.atMs })
    .where('id', '=', p.id)
    .where((eb) => eb.or([eb('used_at_ms', 'is', null), eb('used_at_ms', '<', p.atMs)])),
)

export class CredentialReadVerbs extends NumberedVerbs<StoredCredential> {
  protected override readonly table = credentials

  findByKey(key: string): Promise<(StoredCredential & { secretHash: Uint8Array }) | undefined> {
    return this.executor.first(byKey, { key })
  }
}

export class CredentialTxVerbs extends CredentialReadVerbs {
  async insert(
    credential: Omit<StoredCredential, 'id' | 'usedAtMs'> & { secretHash: Uint8Array },
  ): Promise<StoredCredential> {
    return inserted(await this.executor.all(insert, credential))
  }

  async touch(id: number, atMs: number): Promise<void> {
    await this.executor.run(touch, { id, atMs })
  }
}
