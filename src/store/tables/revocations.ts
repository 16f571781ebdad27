import { statement, Verbs } from '../executor.ts'

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

export class RevocationReadVerbs extends Verbs {
  /** The revoked `jti`s, in the order of revocation. */
  async list(tokenId: number): Promise<string[]> {
    return (await this.executor.all(list, { tokenId })).map((row) => row.jti)
  }
}

export class RevocationTxVerbs extends RevocationReadVerbs {
  async add(tokenId: number, jti: string, atMs: number): Promise<void> {
    await this.executor.run(add, { tokenId, jti, atMs })
  }

  async count(tokenId: number): Promise<number> {
    return (await this.executor.first(count, { tokenId }))?.n ?? 0
  }

  async clear(tokenId: number): Promise<void> {
    await this.executor.run(clear, { tokenId })
  }
}
