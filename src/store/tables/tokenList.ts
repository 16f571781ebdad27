import {
  type AliasedSelectQueryBuilder,
  type Expression,
  type ExpressionBuilder,
  type Kysely,
  sql,
  type SqlBool,
} from 'kysely'
import { type DialectName, type Executor, type Statement, statement } from '../executor.ts'
import type { DB } from '../schema.ts'
import { EXPIRING_MS, type TokenState } from '../../core/tokens/types.ts'
import type { StoredToken, TokenFilter, TokenListQuery } from '../store.ts'
import { containing } from './containsText.ts'
import { countAll } from './tokenCounts.ts'
import { fromTokenRow, TOKEN_COLUMNS, type TokenRow } from './tokenRow.ts'
import { lastUse } from './tokenUses.ts'

type Match = NonNullable<TokenListQuery['match']>
type Filter = (eb: ExpressionBuilder<DB, 'tokens'>) => Expression<SqlBool>
type Filters = Pick<TokenListQuery, 'accountId' | 'match' | 'only'>

const KEYS = { Name: 'label', AddedOn: 'added_at_ms', LastUsedOn: 'last_used_at_ms' } as const

/** The index to scan, and from which of its ends. */
interface Scan {
  key: (typeof KEYS)[TokenListQuery['sortBy']]
  order: 'asc' | 'desc'
  fromEnd: boolean
}

type Page = Pick<TokenListQuery, 'accountId' | 'kind' | 'offset' | 'limit'>

/**
 * One page. A page past the middle is read from the other end and reversed, so that the last page costs what the first one
 * costs.
 */
export async function listTokens(executor: Executor, query: TokenListQuery): Promise<StoredToken[]> {
  const fromEnd = await isNearTheEnd(executor, query)
  const order = query.descending === fromEnd ? 'asc' : 'desc'
  const scan: Scan = { key: KEYS[query.sortBy], order, fromEnd }
  const rows = isFiltered(query)
    ? await executor.ask((db, dialect) => page(db, query, scan, (eb) => passes(eb, dialect, query)))
    : await executor.all(preparedPage(scan), query)
  const tokens = rows.map(fromTokenRow)
  return fromEnd ? tokens.reverse() : tokens
}

const prepared = new Map<string, Statement<Page, TokenRow>>()

/** The twelve pages without a filter: three orders, two directions, two ends. */
function preparedPage(scan: Scan): Statement<Page, TokenRow> {
  const name = `${scan.key} ${scan.order} ${scan.fromEnd}`
  const query = prepared.get(name) ?? statement((db, p: Page) => page(db, p, scan))
  prepared.set(name, query)
  return query
}

const isFiltered = ({ match, only }: Filters): boolean => match !== undefined || only !== undefined

/** The number of tokens in the list, in constant time without a filter. */
export async function countTokens(
  executor: Executor,
  query: Pick<TokenListQuery, 'accountId' | 'kind' | 'match' | 'only'>,
): Promise<number> {
  if (!isFiltered(query)) return countAll(executor, query.accountId, query.kind)
  const rows = await executor.ask((db, dialect) =>
    db
      .selectFrom('tokens')
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .where('account_id', '=', query.accountId)
      .where('kind', '=', query.kind)
      .where((eb) => passes(eb, dialect, query)),
  )
  return rows[0]?.n ?? 0
}

/** Counts only where a scan from the start would be long. Never with a filter, where the total is expensive. */
async function isNearTheEnd(executor: Executor, query: TokenListQuery): Promise<boolean> {
  if (isFiltered(query) || query.offset <= query.limit) return false
  return query.offset > (await countAll(executor, query.accountId, query.kind)) / 2
}

/** The inner query reads only ids, from the index with the order; the outer one reads only the rows of the page. */
function page(db: Kysely<DB>, p: Page, scan: Scan, filter?: Filter) {
  const { key, order } = scan
  const rows = db
    .selectFrom(idsOf(db, p, scan, filter))
    .innerJoin('tokens', 'tokens.id', 'page.id')
    .select(TOKEN_COLUMNS)
    .select(lastUse)
  const sorted = key === 'last_used_at_ms' ? rows.orderBy('lastUsedAtMs', order) : rows.orderBy(`tokens.${key}`, order)
  return sorted.orderBy('tokens.id', order)
}

function idsOf(
  db: Kysely<DB>,
  p: Page,
  { key, order, fromEnd }: Scan,
  filter: Filter | undefined,
): AliasedSelectQueryBuilder<{ id: number }, 'page'> {
  const { limit, offset } = fromEnd ? countedFromEnd(p) : p
  return key === 'last_used_at_ms'
    ? idsByUse(db, p, order, filter).limit(limit).offset(offset).as('page')
    : idsBy(db, p, { key, order }, filter).limit(limit).offset(offset).as('page')
}

type Order = Pick<Scan, 'order'> & { key: Exclude<Scan['key'], 'last_used_at_ms'> }

function idsBy(db: Kysely<DB>, p: Page, { key, order }: Order, filter: Filter | undefined) {
  const matching = db.selectFrom('tokens').select('id').where('account_id', '=', p.accountId).where('kind', '=', p.kind)
  return (filter ? matching.where(filter) : matching).orderBy(key, order).orderBy('id', order)
}

/** Without a filter it reads the index of the uses alone. */
function idsByUse(db: Kysely<DB>, p: Page, order: Scan['order'], filter: Filter | undefined) {
  const used = db
    .selectFrom('token_uses')
    .select('token_uses.token_id as id')
    .where('token_uses.account_id', '=', p.accountId)
    .where('token_uses.kind', '=', p.kind)
  // The filter sees only `tokens`.
  const passing = filter
    ? used.where((eb) =>
        eb.exists(
          eb.selectFrom('tokens').select('tokens.id').whereRef('tokens.id', '=', 'token_uses.token_id').where(filter),
        ),
      )
    : used
  return passing.orderBy('token_uses.last_used_at_ms', order).orderBy('token_uses.token_id', order)
}

/**
 * Offset and limit of the same page, counted from the other end. The statement of the page also reads the total, so that a
 * token created in between cannot shift it.
 */
function countedFromEnd({ accountId, kind, offset, limit }: Page) {
  const total = sql<number>`(select cast(coalesce(sum(n), 0) as bigint) from token_counts
    where account_id = ${accountId} and kind = ${kind})`
  const left = sql<number>`(${total} - cast(${offset} as bigint))`
  const size = sql<number>`cast(${limit} as bigint)`
  return {
    limit: sql<number>`case when ${left} < 0 then 0 when ${left} < ${size} then ${left} else ${size} end`,
    offset: sql<number>`case when ${left} < ${size} then 0 else ${left} - ${size} end`,
  }
}

/** What a filtered list shows. */
function passes(
  eb: ExpressionBuilder<DB, 'tokens'>,
  dialect: DialectName,
  { accountId, match, only }: Filters,
): Expression<SqlBool> {
  const conditions = match ? [matches(eb, dialect, match)] : []
  if (only) conditions.push(...passesOnly(eb, accountId, only))
  return eb.and(conditions)
}

function passesOnly(
  eb: ExpressionBuilder<DB, 'tokens'>,
  accountId: string,
  { nowMs, state, expiresBeforeMs, clusters }: TokenFilter,
): Expression<SqlBool>[] {
  const conditions: Expression<SqlBool>[] = []
  if (expiresBeforeMs !== undefined) conditions.push(eb('expires_at_ms', '<', expiresBeforeMs))
  if (state !== undefined) conditions.push(isInState(eb, accountId, nowMs, state))
  if (clusters !== undefined)
    conditions.push(eb.or(clusters.map((one) => eb('origin_cluster', one === null ? 'is' : '=', one))))
  return conditions
}

function isInState(
  eb: ExpressionBuilder<DB, 'tokens'>,
  accountId: string,
  nowMs: number,
  state: TokenState,
): Expression<SqlBool> {
  const inUse = eb
    .selectFrom('sessions')
    .select('token_id')
    .where('account_id', '=', accountId)
    .where('ended_at_ms', 'is', null)
    .where('token_id', 'is not', null)
  const lasts = eb.or([eb('expires_at_ms', 'is', null), eb('expires_at_ms', '>', nowMs)])
  // Literals: they are few, and a planner knows more with them.
  const [on, off] = [sql<SqlBool>`is_active = 1`, sql<SqlBool>`is_active = 0`]
  switch (state) {
    case 'live':
      return eb('tokens.id', 'in', inUse)
    case 'ready':
      return eb.and([on, lasts, eb('tokens.id', 'not in', inUse)])
    case 'expiring':
      return eb.and([on, eb('expires_at_ms', '>', nowMs), eb('expires_at_ms', '<=', nowMs + EXPIRING_MS)])
    case 'off':
      return eb.and([off, lasts])
    case 'expired':
      return eb('expires_at_ms', '<=', nowMs)
  }
}

/** `like` ignores the case of ASCII letters in SQLite, `ilike` in PostgreSQL (under the collation "C"). */
function matches(
  eb: ExpressionBuilder<DB, 'tokens'>,
  dialect: DialectName,
  { text, in: where }: Match,
): Expression<SqlBool> {
  const like = sql.raw(dialect === 'postgres' ? 'ilike' : 'like')
  const part = containing(text)
  const label = sql<SqlBool>`tokens.label ${like} ${part} escape '\\'`
  const stream = eb.exists(
    eb
      .selectFrom('token_streams')
      .select('token_streams.ord')
      .whereRef('token_streams.token_id', '=', 'tokens.id')
      .where(sql<SqlBool>`token_streams.stream_name ${like} ${part} escape '\\'`),
  )
  const condition = { TokenName: label, StreamName: stream, TokenOrStreamName: eb.or([label, stream]) }[where]
  return eb.and([eb('tokens.has_patterns', '=', 0), condition])
}
