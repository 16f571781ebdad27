import { type Session, statement } from '../session.ts'

const list = statement((db, p: { tokenId: number }) =>
  db.selectFrom('revocations').select('jti').where('token_id', '=', p.tokenId).orderBy('at_ms').orderBy('jti'),
)

const add = statement((db, p: { tokenId: number; jti: string; atMs: number }) =>
  db
    .insertInto('revocations')
    .values({ token_id: p.tokenId, jti: p.jti, at_ms: p.atMs })
    .onConflict((c) => c.doNothing()),
)

const count = statement((db, p: { tokenId: number }) =>
  db
    .selectFrom('revocations')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('token_id', '=', p.tokenId),
)

const clear = statement((db, p: { tokenId: number }) => db.deleteFrom('revocations').where('token_id', '=', p.tokenId))

/** The `jti`s, in the order in which they were revoked. */
export async function listRevocations(session: Session, tokenId: number): Promise<string[]> {
  return (await session.all(list, { tokenId })).map((row) => row.jti)
}

export async function addRevocation(session: Session, tokenId: number, jti: string, atMs: number): Promise<void> {
  await session.run(add, { tokenId, jti, atMs })
}

export async function countRevocations(session: Session, tokenId: number): Promise<number> {
  return (await session.first(count, { tokenId }))?.n ?? 0
}

export async function clearRevocations(session: Session, tokenId: number): Promise<void> {
  await session.run(clear, { tokenId })
}
