import { type Kysely, sql } from 'kysely'
import { type Executor, statement } from '../executor.ts'
import type { DB } from '../schema.ts'

export interface Usable {
  id: number
  secured: boolean
  exact: boolean
  patterns: string[]
}

/**
 * The names, or the patterns, of publish tokens that are active and not expired. With literals, because the planner cannot match the
 * partial index of `token_streams` with parameters.
 */
const usable = (db: Kysely<DB>, p: { accountId: string; nowMs: number }, isRegex: 0 | 1) =>
  db
    .selectFrom('tokens')
    .innerJoin('token_streams', 'token_streams.token_id', 'tokens.id')
    .select('token_streams.stream_name')
    .where('tokens.account_id', '=', p.accountId)
    .where('tokens.kind', '=', sql.lit('publish'))
    .where('tokens.is_active', '=', sql.lit(1 as const))
    .where((eb) => eb.or([eb('tokens.expires_at_ms', 'is', null), eb('tokens.expires_at_ms', '>', p.nowMs)]))
    .where('token_streams.account_id', '=', p.accountId)
    .where('token_streams.kind', '=', sql.lit('publish'))
    .where('token_streams.is_regex', '=', sql.lit(isRegex))

const named = (db: Kysely<DB>, p: { accountId: string; nowMs: number }, isRegex: 0 | 1) =>
  usable(db, p, isRegex).select([
    'tokens.id',
    'tokens.subscribe_requires_auth as secured',
    'token_streams.is_regex',
    'token_streams.ord',
  ])

const forStream = statement((db, p: { accountId: string; nowMs: number; streamName: string }) =>
  named(db, p, 0)
    .where('token_streams.stream_name', '=', p.streamName)
    .unionAll(named(db, p, 1))
    .orderBy('id')
    .orderBy('ord'),
)

const secured = (db: Kysely<DB>, p: { accountId: string; nowMs: number }, isRegex: 0 | 1) =>
  usable(db, p, isRegex).where('tokens.subscribe_requires_auth', '=', sql.lit(1 as const))

/** See `Reads.tokens.isNameSecured`. */
export const securedByName = statement((db, p: { accountId: string; nowMs: number; streamName: string }) =>
  secured(db, p, 0).where('token_streams.stream_name', '=', p.streamName).limit(1),
)

/** See `Reads.tokens.securedPatterns`. */
export const securedByPattern = statement((db, p: { accountId: string; nowMs: number; limit: number }) =>
  secured(db, p, 1).limit(p.limit),
)

/** See `Reads.tokens.usable`. */
export async function usableTokens(
  executor: Executor,
  accountId: string,
  nowMs: number,
  streamName: string,
): Promise<Usable[]> {
  const found = new Map<number, Usable>()
  for (const row of await executor.all(forStream, { accountId, nowMs, streamName })) {
    const token = found.get(row.id) ?? { id: row.id, secured: row.secured === 1, exact: false, patterns: [] }
    if (row.is_regex === 1) token.patterns.push(row.stream_name)
    else token.exact = true
    found.set(row.id, token)
  }
  return [...found.values()]
}
