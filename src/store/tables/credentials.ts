import type { Selectable } from 'kysely'
import type { DB } from '../schema.ts'
import { type Session, statement } from '../session.ts'
import type { Credential } from '../store.ts'

type Row = Omit<Selectable<DB['credentials']>, 'secret_hash'>

const columns = ['id', 'account_id', 'name', 'key', 'scope', 'created_at_ms'] as const

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

const insert = statement((db, p: Omit<Credential, 'id'> & { secretHash: Uint8Array }) =>
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

const remove = statement((db, p: { id: number }) => db.deleteFrom('credentials').where('id', '=', p.id))

export async function findCredential(
  session: Session,
  key: string,
): Promise<(Credential & { secretHash: Uint8Array }) | undefined> {
  const row = await session.first(byKey, { key })
  return row && { ...fromRow(row), secretHash: row.secret_hash }
}

export async function getCredential(session: Session, accountId: string, id: number): Promise<Credential | undefined> {
  const row = await session.first(byId, { accountId, id })
  return row && fromRow(row)
}

export async function listCredentials(session: Session, accountId: string): Promise<Credential[]> {
  return (await session.all(ofAccount, { accountId })).map(fromRow)
}

export async function insertCredential(
  session: Session,
  credential: Omit<Credential, 'id'> & { secretHash: Uint8Array },
): Promise<Credential> {
  const [row] = await session.all(insert, credential)
  if (!row) throw new Error('insert returned no row')
  return fromRow(row)
}

export async function deleteCredential(session: Session, id: number): Promise<void> {
  await session.run(remove, { id })
}

function fromRow(row: Row): Credential {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    key: row.key,
    scope: row.scope,
    createdAtMs: row.created_at_ms,
  }
}
