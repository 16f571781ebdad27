import { type ExpressionBuilder, type Kysely, type SqlBool, type Expression, sql } from 'kysely'
import type { DB } from '../schema.ts'
import { type DialectName, type Executor, type Statement, statement } from '../executor.ts'
import type { StoredToken, TokenListQuery } from '../store.ts'
import { countAll } from './tokenCounts.ts'
import { fromTokenRow, type TokenRow } from './tokenRow.ts'

type Match = NonNullable<TokenListQuery['match']>
type Filter = (eb: ExpressionBuilder<DB, 'tokens'>) => Expression<SqlBool>

/** The index to scan, and from which of its ends. */
interface Scan {
  key: 'label' | 'added_at_ms'
  order: 'asc' | 'desc'
  fromEnd: boolean
}

type Page = Pick<TokenListQuery, 'accountId' | 'kind' | 'offset' | 'limit'>

/**
 * One page. A page past the middle is read from the other end and reversed, so that the last page costs what the first one
 * costs.
 */
export async function listTokens(executor: Executor, query: TokenListQuery): Promise<StoredToken[]> {
  const { match } = query
  const fromEnd = await isNearTheEnd(executor, query)
  const order = query.descending === fromEnd ? 'asc' : 'desc'
  const scan: Scan = { key: query.sortBy === 'Name' ? 'label' : 'added_at_ms', order, fromEnd }
  const rows = match
    ? await executor.ask((db, engine) => page(db, query, scan, (eb) => matches(eb, engine, match)))
    : await executor.all(preparedPage(scan), query)
  const tokens = rows.map(fromTokenRow)
  return fromEnd ? tokens.reverse() : tokens
}

const prepared = new Map<string, Statement<Page, TokenRow>>()

/** The eight pages without `match`: two orders, two directions, two ends. */
function preparedPage(scan: Scan): Statement<Page, TokenRow> {
  const name = `${scan.key} ${scan.order} ${scan.fromEnd}`
  const query = prepared.get(name) ?? statement((db, p: Page) => page(db, p, scan))
  prepared.set(name, query)
  return query
}

/** The number of tokens in the list, in constant time without `match`. */
export async function countTokens(
  executor: Executor,
  query: Pick<TokenListQuery, 'accountId' | 'kind' | 'match'>,
): Promise<number> {
  const { match } = query
  if (!match) return countAll(executor, query.accountId, query.kind)
  const rows = await executor.ask((db, engine) =>
    db
      .selectFrom('tokens')
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .where('account_id', '=', query.accountId)
      .where('kind', '=', query.kind)
      .where((eb) => matches(eb, engine, match)),
  )
  return rows[0]?.n ?? 0
}

/** Counts only where a scan from the start would be long. Never with `match`, where the total is expensive. */
async function isNearTheEnd(executor: Executor, query: TokenListQuery): Promise<boolean> {
  if (query.match || query.offset <= query.limit) return false
  return query.offset > (await countAll(executor, query.accountId, query.kind)) / 2
}

/** The inner query reads only ids, from the index with the order; the outer one reads only the rows of the page. */
function page(db: Kysely<DB>, p: Page, { key, order, fromEnd }: Scan, filter?: Filter) {
  const matching = db.selectFrom('tokens').select('id').where('account_id', '=', p.accountId).where('kind', '=', p.kind)
  const ids = (filter ? matching.where(filter) : matching).orderBy(key, order).orderBy('id', order)
  const { limit, offset } = fromEnd ? countedFromEnd(p) : p
  return db
    .selectFrom(ids.limit(limit).offset(offset).as('page'))
    .innerJoin('tokens', 'tokens.id', 'page.id')
    .selectAll('tokens')
    .orderBy(`tokens.${key}`, order)
    .orderBy('tokens.id', order)
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

/** `like` ignores the case of ASCII letters in SQLite, `ilike` in PostgreSQL (under the collation "C"). */
function matches(
  eb: ExpressionBuilder<DB, 'tokens'>,
  engine: DialectName,
  { text, in: where }: Match,
): Expression<SqlBool> {
  const like = sql.raw(engine === 'postgres' ? 'ilike' : 'like')
  const part = `%${text.replace(/[\\%_]/g, String.raw`\$&`)}%`
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
