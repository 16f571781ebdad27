import { statement, Verbs } from '../executor.ts'
import { insertion } from '../records.ts'
import { namesWithout } from '../schema.ts'

const list = statement((db, p: { tokenId: number }) =>
  db.selectFrom('restream_keys').select('key_sealed').where('token_id', '=', p.tokenId).orderBy('ord'),
)

const clear = statement((db, p: { tokenId: number }) =>
  db.deleteFrom('restream_keys').where('token_id', '=', p.tokenId),
)

const insert = insertion('restream_keys', namesWithout('restream_keys', 'id'))

export class RestreamKeyReadVerbs extends Verbs {
  async list(tokenId: number): Promise<Uint8Array[]> {
    return (await this.executor.all(list, { tokenId })).map((row) => row.key_sealed)
  }
}

export class RestreamKeyTxVerbs extends RestreamKeyReadVerbs {
  async replace(tokenId: number, keys: readonly Uint8Array[]): Promise<void> {
    await this.executor.run(clear, { tokenId })
    await insert(
      this.executor,
      keys.map((key, at) => ({ tokenId, ord: at + 1, keySealed: key })),
    )
  }
}
