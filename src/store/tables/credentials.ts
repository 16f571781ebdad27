import type { Selectable } from 'kysely'
import type { DB } from '../schema.ts'
import { type Executor, statement } from '../executor.ts'
import type { StoredCredential } from '../store.ts'

type Row = Omit<Selectable<DB['credentials']>, 'secret_hash'>

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

export async function findCredential(
  executor: Executor,
  key: string,
): Promise<(StoredCredential & { secretHash: Uint8Array }) | undefined> {
  const row = await executor.first(byKey, { key })
  return row && { ...fromRow(row), secretHash: row.secret_hash }
}

export async function getCredential(
  executor: Executor,
  accountId: string,
  id: number,
): Promise<StoredCredential | undefined> {
  const row = await executor.first(byId, { accountId, id })
  return row && fromRow(row)
}

export async function listCredentials(executor: Executor, accountId: string): Promise<StoredCredential[]> {
  return (await executor.all(ofAccount, { accountId })).map(fromRow)
}

export async function insertCredential(
  executor: Executor,
  credential: Omit<StoredCredential, 'id' | 'usedAtMs'> & { secretHash: Uint8Array },
): Promise<StoredCredential> {
  const [row] = await executor.all(insert, credential)
  if (!row) throw new Error('insert returned no row')
  return fromRow(row)
}

export async function touchCredential(executor: Executor, id: number, atMs: number): Promise<void> {
  await executor.run(touch, { id, atMs })
}

export async function deleteCredential(executor: Executor, id: number): Promise<void> {
  await executor.run(remove, { id })
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
