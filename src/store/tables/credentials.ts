import { inserted, statement, Verbs } from '../executor.ts'
import type { RowOf } from '../schema.ts'
import type { StoredCredential } from '../store.ts'

type Row = Omit<RowOf<'credentials'>, 'secret_hash'>

const columns = ['id', 'account_id', 'name', 'key', 'scope', 'created_at_ms', 'used_at_ms'] as const

const byKey = statement((db, p: { key: string }) =>
  db
    .selectFrom('credentials')
    .select([...columns, 'secret_hash'])
    .where('key', '=', p.key),
)

const byId = statement((db, p: { accountId: string; id: number }) =>
  db.selectFrom('credentials').select(columns).where('id', '=', p.id).where('account_id', '=', p.accountId),
)

const ofAccount = statement((db, p: { accountId: string }) =>
  db.selectFrom('credentials').select(columns).where('account_id', '=', p.accountId).orderBy('id'),
)

const insert = statement((db, p: Omit<StoredCredential, 'id' | 'usedAtMs'> & { secretHash: Uint8Array }) =>
  db
    .insertInto('credentials')
    .values({
      account_id: p.accountId,
      name: p.name,
      key: p.key,
      secret_hash: p.secretHash,
      scope: p.scope,
      created_at_ms: p.createdAtMs,
    })
    .returning(columns),
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
  async findByKey(key: string): Promise<(StoredCredential & { secretHash: Uint8Array }) | undefined> {
    const row = await this.executor.first(byKey, { key })
    return row && { ...fromRow(row), secretHash: row.secret_hash }
  }

  async list(accountId: string): Promise<StoredCredential[]> {
    return (await this.executor.all(ofAccount, { accountId })).map(fromRow)
  }
}

export class CredentialTxVerbs extends CredentialReadVerbs {
  async insert(
    credential: Omit<StoredCredential, 'id' | 'usedAtMs'> & { secretHash: Uint8Array },
  ): Promise<StoredCredential> {
    const row = inserted(await this.executor.all(insert, credential))
    return fromRow(row)
  }

  async get(accountId: string, id: number): Promise<StoredCredential | undefined> {
    const row = await this.executor.first(byId, { accountId, id })
    return row && fromRow(row)
  }

  async touch(id: number, atMs: number): Promise<void> {
    await this.executor.run(touch, { id, atMs })
  }

  async delete(id: number): Promise<void> {
    await this.executor.run(remove, { id })
  }
}

function fromRow(row: Row): StoredCredential {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    key: row.key,
    scope: row.scope,
    createdAtMs: row.created_at_ms,
    usedAtMs: row.used_at_ms,
  }
}
