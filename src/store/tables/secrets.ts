import type { Selectable } from 'kysely'
import type { DB } from '../schema.ts'
import { type Session, statement } from '../session.ts'
import type { ApiSecret } from '../store.ts'

type Row = Omit<Selectable<DB['secrets']>, 'hash'>

const columns = ['id', 'account_id', 'name', 'hint', 'created_at_ms', 'refreshed_at_ms'] as const

const byHash = statement((db, p: { hash: Uint8Array }) =>
  db.selectFrom('secrets').select(columns).where('hash', '=', p.hash),
)

const byId = statement((db, p: { accountId: string; id: number }) =>
  db.selectFrom('secrets').select(columns).where('id', '=', p.id).where('account_id', '=', p.accountId),
)

const ofAccount = statement((db, p: { accountId: string }) =>
  db.selectFrom('secrets').select(columns).where('account_id', '=', p.accountId).orderBy('id'),
)

const insert = statement((db, p: Omit<ApiSecret, 'id'> & { hash: Uint8Array }) =>
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

const remove = statement((db, p: { id: number }) => db.deleteFrom('secrets').where('id', '=', p.id))

export async function findSecret(session: Session, hash: Uint8Array): Promise<ApiSecret | undefined> {
  const row = await session.first(byHash, { hash })
  return row && fromRow(row)
}

export async function getSecret(session: Session, accountId: string, id: number): Promise<ApiSecret | undefined> {
  const row = await session.first(byId, { accountId, id })
  return row && fromRow(row)
}

export async function listSecrets(session: Session, accountId: string): Promise<ApiSecret[]> {
  return (await session.all(ofAccount, { accountId })).map(fromRow)
}

export async function insertSecret(
  session: Session,
  secret: Omit<ApiSecret, 'id'> & { hash: Uint8Array },
): Promise<ApiSecret> {
  const [row] = await session.all(insert, secret)
  if (!row) throw new Error('insert returned no row')
  return fromRow(row)
}

export async function replaceSecret(
  session: Session,
  id: number,
  hash: Uint8Array,
  hint: string,
  atMs: number,
): Promise<void> {
  await session.run(replace, { id, hash, hint, atMs })
}

export async function deleteSecret(session: Session, id: number): Promise<void> {
  await session.run(remove, { id })
}

function fromRow(row: Row): ApiSecret {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    hint: row.hint,
    createdAtMs: row.created_at_ms,
    refreshedAtMs: row.refreshed_at_ms,
  }
}
