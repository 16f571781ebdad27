import { inserted, statement } from '../executor.ts'
import { fieldsOf, rowOf } from '../records.ts'
import type { ApiSecret } from '../store.ts'
import { NumberedTable, NumberedVerbs } from './resource.ts'

const WRITTEN = ['account_id', 'name', 'hint', 'created_at_ms', 'refreshed_at_ms'] as const

const fields = fieldsOf('secrets', ['id', ...WRITTEN, 'used_at_ms'])

const secrets = new NumberedTable('secrets', fields, (row: ApiSecret) => row)

const byHash = statement((db, p: { hash: Uint8Array }) =>
  db.selectFrom('secrets').select(fields).where('hash', '=', p.hash),
)

const insert = statement((db, p: Omit<ApiSecret, 'id' | 'usedAtMs'> & { hash: Uint8Array }) =>
  db
    .insertInto('secrets')
    .values(rowOf('secrets', [...WRITTEN, 'hash'], p))
    .returning(fields),
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

export class SecretReadVerbs extends NumberedVerbs<ApiSecret> {
  protected override readonly table = secrets

  findByHash(hash: Uint8Array): Promise<ApiSecret | undefined> {
    return this.executor.first(byHash, { hash })
  }
}

export class SecretTxVerbs extends SecretReadVerbs {
  async insert(secret: Omit<ApiSecret, 'id' | 'usedAtMs'> & { hash: Uint8Array }): Promise<ApiSecret> {
    return inserted(await this.executor.all(insert, secret))
  }

  async replace(id: number, hash: Uint8Array, hint: string, atMs: number): Promise<void> {
    await this.executor.run(replace, { id, hash, hint, atMs })
  }

  async touch(id: number, atMs: number): Promise<void> {
    await this.executor.run(touch, { id, atMs })
  }
}
