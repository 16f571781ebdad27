import { type Executor, statement } from '../executor.ts'

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

/** The revoked `jti`s, in the order of revocation. */
export async function listRevocations(executor: Executor, tokenId: number): Promise<string[]> {
  return (await executor.all(list, { tokenId })).map((row) => row.jti)
}

export async function addRevocation(executor: Executor, tokenId: number, jti: string, atMs: number): Promise<void> {
  await executor.run(add, { tokenId, jti, atMs })
}

export async function countRevocations(executor: Executor, tokenId: number): Promise<number> {
  return (await executor.first(count, { tokenId }))?.n ?? 0
}

export async function clearRevocations(executor: Executor, tokenId: number): Promise<void> {
  await executor.run(clear, { tokenId })
}
