import { type Kysely, sql } from 'kysely'
import type { Token, TokenKind } from '../../core/tokens/types.ts'
import { type Executor, inserted, statement, Verbs } from '../executor.ts'
import { dbFlag } from '../columns.ts'
import { fieldsOf, insertion, rowOf } from '../records.ts'
import { type DB, namesOf, namesWithout } from '../schema.ts'
import type { StoredToken, TokenListQuery } from '../store.ts'
import { lockRows } from './lockRows.ts'
import { addToCount } from './tokenCounts.ts'
import { lastUse } from './tokenUses.ts'
import { fromTokenRow, TOKEN_COLUMNS, type TokenValues, toTokenValues } from './tokenRow.ts'
import { countTokens, listTokens } from './tokenList.ts'
import { securedByName, securedByPattern, type Usable, usableTokens } from './tokenUsable.ts'

const named = (db: Kysely<DB>, p: { id: number }) =>
  db.selectFrom('tokens').select(TOKEN_COLUMNS).select(lastUse).where('id', '=', p.id)

const byId = statement(named)

const byHash = statement((db, p: { hash: Uint8Array }) =>
  db.selectFrom('tokens').select(TOKEN_COLUMNS).where('value_hash', '=', p.hash),
)

const lock = statement((db, p: { accountId: string; kind: TokenKind; id: number }, dialect) => {
  const row = named(db, p).where('account_id', '=', p.accountId).where('kind', '=', p.kind)
  return lockRows(dialect, row, 'update')
})

const lockShared = statement((db, p: { id: number }, dialect) => {
  const row = db
    .selectFrom('tokens')
    .select(fieldsOf('tokens', ['version', 'value_hash']))
    .where('id', '=', p.id)
  return lockRows(dialect, row, 'share')
})

const WRITTEN = namesWithout('tokens', 'id')

const insert = statement((db, p: TokenValues) =>
  db
    .insertInto('tokens')
    .values(rowOf('tokens', WRITTEN, p))
    .returning('id'),
)

const replace = statement((db, p: TokenValues & { id: number; previousVersion: number }) =>
  db
    .updateTable('tokens')
    .set(rowOf('tokens', WRITTEN, p))
    .where('id', '=', p.id)
    .where('version', '=', p.previousVersion),
)

const remove = statement((db, p: Pick<Token, 'id' | 'accountId' | 'kind'>) =>
  db.deleteFrom('tokens').where('id', '=', p.id).where('account_id', '=', p.accountId).where('kind', '=', p.kind),
)

const insertStreamRows = insertion('token_streams', namesOf('token_streams'))

const removeStreams = statement((db, p: { id: number }) => db.deleteFrom('token_streams').where('token_id', '=', p.id))

const touch = statement((db, p: { id: number; atMs: number }) =>
  db
    .updateTable('token_uses')
    .set({ last_used_at_ms: p.atMs })
    .where('token_id', '=', p.id)
    .where('last_used_at_ms', '<', p.atMs),
)

export class TokenReadVerbs extends Verbs {
  async get(id: number): Promise<StoredToken | undefined> {
    const row = await this.executor.first(byId, { id })
    return row && fromTokenRow(row)
  }

  async findByHash(hash: Uint8Array): Promise<StoredToken | undefined> {
    const row = await this.executor.first(byHash, { hash })
    return row && fromTokenRow(row)
  }

  list(query: TokenListQuery): Promise<StoredToken[]> {
    return listTokens(this.executor, query)
  }

  count(query: Pick<TokenListQuery, 'accountId' | 'kind' | 'match' | 'only'>): Promise<number> {
    return countTokens(this.executor, query)
  }

  usable(accountId: string, nowMs: number, streamName: string): Promise<Usable[]> {
    return usableTokens(this.executor, accountId, nowMs, streamName)
  }

  async isNameSecured(accountId: string, nowMs: number, streamName: string): Promise<boolean> {
    return (await this.executor.first(securedByName, { accountId, nowMs, streamName })) !== undefined
  }

  async securedPatterns(accountId: string, nowMs: number, limit: number): Promise<string[]> {
    const rows = await this.executor.all(securedByPattern, { accountId, nowMs, limit })
    return rows.map((row) => row.stream_name)
  }
}

export class TokenTxVerbs extends TokenReadVerbs {
  async insert(token: Omit<StoredToken, 'id' | 'version'>, id?: number): Promise<StoredToken> {
    const values = toTokenValues({ ...token, version: 1 })
    const rows = id === undefined ? await this.executor.all(insert, values) : await this.#insertAs(id, values)
    const stored = { ...token, id: inserted(rows).id, version: 1 }
    await insertStreams(this.executor, stored)
    await addToCount(this.executor, stored, 1)
    return stored
  }

  async #insertAs(id: number, values: TokenValues): Promise<{ id: number }[]> {
    await passId(this.executor, id)
    return this.executor.ask((db) =>
      db
        .insertInto('tokens')
        .values({ id, ...rowOf('tokens', WRITTEN, values) })
        .returning('id'),
    )
  }

  async lock(accountId: string, kind: TokenKind, id: number): Promise<StoredToken | undefined> {
    const row = await this.executor.first(lock, { accountId, kind, id })
    return row && fromTokenRow(row)
  }

  lockShared(id: number): Promise<Pick<StoredToken, 'version' | 'valueHash'> | undefined> {
    return this.executor.first(lockShared, { id })
  }

  /** @throws Error when the row has another version than the one that was read, because it was not locked */
  async replace(token: StoredToken, before: Pick<StoredToken, 'streams'>): Promise<StoredToken> {
    const next = { ...token, version: token.version + 1 }
    const values = toTokenValues(next)
    if ((await this.executor.run(replace, { ...values, id: token.id, previousVersion: token.version })) === 0) {
      throw new Error(`token ${token.id} is gone or was changed: replace needs the locked row`)
    }
    if (JSON.stringify(before.streams) !== values.streams) {
      await this.executor.run(removeStreams, { id: token.id })
      await insertStreams(this.executor, next)
    }
    return next
  }

  /** Also deletes streams, bindings and revocations (`on delete cascade`). */
  async delete(token: Pick<Token, 'id' | 'accountId' | 'kind'>): Promise<void> {
    const { id, accountId, kind } = token
    if ((await this.executor.run(remove, { id, accountId, kind })) > 0) await addToCount(this.executor, token, -1)
  }

  /** Not a change of the token, whose row is not even locked. */
  async touch(uses: readonly { id: number; atMs: number }[]): Promise<void> {
    // Every node uses the same order, so that two that update the same rows cannot deadlock.
    for (const use of uses.toSorted((a, b) => a.id - b.id)) await this.executor.run(touch, use)
  }
}

/**
 * Lets later tokens get larger ids than this one. SQLite does so on its own (`autoincrement`). In PostgreSQL others that write
 * tokens wait until the commit: one of them could take this id, or set the sequence back. A rolled back transaction leaves
 * a gap.
 */
async function passId(executor: Executor, id: number): Promise<void> {
  if (executor.dialect.name === 'sqlite') return
  await executor.change(() => sql`lock table tokens in share row exclusive mode`)
  await executor.ask(
    () => sql`select setval(ids, greatest(cast(${id} as bigint), pg_sequence_last_value(ids)))
      from (select cast(pg_get_serial_sequence('tokens', 'id') as regclass) as ids) as sequence`,
  )
}

function insertStreams(executor: Executor, { id, accountId, kind, streams }: StoredToken): Promise<void> {
  const rows = streams.map(({ streamName, isRegex }, at) => {
    return { tokenId: id, ord: at + 1, accountId, kind, streamName, isRegex: dbFlag(isRegex) }
  })
  return insertStreamRows(executor, rows)
}
