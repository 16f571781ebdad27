import { inserted, statement, Verbs } from '../executor.ts'
import type { RowOf } from '../schema.ts'
import type { ApiSecret } from '../store.ts'

type Row = Omit<RowOf<'secrets'>, 'hash'>

const columns = ['id', 'account_id', 'name', 'hint', 'created_at_ms', 'refreshed_at_ms', 'used_at_ms'] as const

const byHash = statement((db, p: { hash: Uint8Array }) =>
  db.selectFrom('secrets').select(columns).where('hash', '=', p.hash),
)

const byId = statement((db, p: { accountId: string; id: number }) =>
  db.selectFrom('secrets').select(columns).where('id', '=', p.id).where('account_id', '=', p.accountId),
)

const ofAccount = statement((db, p: { accountId: string }) =>
  db.selectFrom('secrets').select(columns).where('account_id', '=', p.accountId).orderBy('id'),
)

const insert = statement((db, p: Omit<ApiSecret, 'id' | 'usedAtMs'> & { hash: Uint8Array }) =>
  db
    .insertInto('secrets')
    .values({
      account_id: p.accountId,
      name: p.name,
      hash: p.hash,
      hint: p.hint,
      created_at_ms: p.createdAtMs,
      refreshed_at_ms: p.refreshedAtMs,
    })
    .returning(columns),
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
  async get(accountId: string, id: number): Promise<ApiSecret | undefined> {
    const row = await this.executor.first(byId, { accountId, id })
    return row && fromRow(row)
  }

  async findByHash(hash: Uint8Array): Promise<ApiSecret | undefined> {
    const row = await this.executor.first(byHash, { hash })
    return row && fromRow(row)
  }

  async list(accountId: string): Promise<ApiSecret[]> {
    return (await this.executor.all(ofAccount, { accountId })).map(fromRow)
  }
}

export class SecretTxVerbs extends SecretReadVerbs {
  async insert(secret: Omit<ApiSecret, 'id' | 'usedAtMs'> & { hash: Uint8Array }): Promise<ApiSecret> {
    const row = inserted(await this.executor.all(insert, secret))
    return fromRow(row)
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

function fromRow(row: Row): ApiSecret {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    hint: row.hint,
    createdAtMs: row.created_at_ms,
    refreshedAtMs: row.refreshed_at_ms,
    usedAtMs: row.used_at_ms,
  }
}
