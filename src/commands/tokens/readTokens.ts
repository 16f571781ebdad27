import type { TokenKind } from '../../core/tokens/types.ts'
import { compilePattern } from '../../core/access/streamName.ts'
import { invalid, notFound, type Failure } from '../../core/errors.ts'
import {
  readListByClusterQuery,
  readListByNameQuery,
  readTokenListQuery,
  type ListRequest,
} from '../../core/tokens/listQuery.ts'
import { toListedRecord, type ListedTokenRecord, type TokenRecord, withDefaults } from '../../core/tokens/record.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { inTurns } from '../../base/turns.ts'
import type { StoredToken, TokenFilter, TokenListQuery } from '../../store/store.ts'
import type { AccessContext } from '../context.ts'
import { regionsNow } from '../regions/regions.ts'
import { shownToken, shownWithDefaults } from './tokenValue.ts'

/** The refusal for a token id that this account does not have. Another account's token gets exactly the same refusal. */
export const noToken = (kind: TokenKind, id: number | string): Failure =>
  notFound('tokenId', `No ${kind} token with id: ${String(id).slice(0, 32)}`)

export async function readToken(
  ctx: AccessContext,
  accountId: string,
  kind: TokenKind,
  id: number,
): Promise<Result<TokenRecord, Failure>> {
  const token = await ctx.store.read.tokens.get(id)
  if (!token || token.accountId !== accountId || token.kind !== kind) return err(noToken(kind, id))
  return ok(await shownWithDefaults(ctx, token))
}

export interface TokenPage {
  records: ListedTokenRecord[]
  /** Of all that match, for `X-Total-Count`. */
  total: number
  page: number
  itemsOnPage: number
}

/** One page of tokens by page number, as the interface defines it. Ties are sorted by id. */
export async function listTokens(
  ctx: AccessContext,
  accountId: string,
  kind: TokenKind,
  query: Record<string, unknown>,
): Promise<Result<TokenPage, Failure>> {
  const read = readTokenListQuery(query)
  return read.ok ? ok(await page(ctx, accountId, kind, read.value)) : err(invalid(read.error))
}

/** As `listTokens`, for the publish tokens of a region, or of all (`auto`). The account says it for those that do not. */
export async function listTokensByCluster(
  ctx: AccessContext,
  accountId: string,
  query: Record<string, unknown>,
): Promise<Result<TokenPage, Failure>> {
  const read = readListByClusterQuery(query, await regionsNow(ctx))
  if (!read.ok) return err(invalid(read.error))
  const { cluster } = read.value
  const { defaultCluster } = await ctx.cache.accountDefaults(accountId)
  const clusters = cluster === defaultCluster ? [cluster, null] : [cluster]
  return ok(await page(ctx, accountId, 'publish', read.value, { clusters }))
}

/** As `listTokens`, for tokens whose label or exact stream name contains a text. */
export async function listTokensByName(
  ctx: AccessContext,
  accountId: string,
  kind: TokenKind,
  query: Record<string, unknown>,
): Promise<Result<TokenPage, Failure>> {
  const read = readListByNameQuery(query)
  if (!read.ok) return err(invalid(read.error))
  const { name, filterBy } = read.value
  return ok(await page(ctx, accountId, kind, read.value, { match: { text: name, in: filterBy } }))
}

async function page(
  ctx: AccessContext,
  accountId: string,
  kind: TokenKind,
  query: ListRequest,
  { match, clusters }: Pick<TokenListQuery, 'match'> & Pick<TokenFilter, 'clusters'> = {},
): Promise<TokenPage> {
  const only = filterOf({ ...query, clusters }, ctx.clock.now())
  const filter = { accountId, kind, ...(match ? { match } : {}), ...(only ? { only } : {}) }
  const [account, total, tokens] = await Promise.all([
    ctx.cache.accountDefaults(accountId),
    ctx.store.read.tokens.count(filter),
    ctx.store.read.tokens.list({
      ...filter,
      sortBy: query.sortBy,
      descending: query.descending,
      offset: (query.page - 1) * query.itemsOnPage,
      limit: query.itemsOnPage,
    }),
  ])
  const toRecord = (token: StoredToken) => (query.withoutValues ? toListedRecord(token) : shownToken(ctx, token))
  const records = tokens.map((token) => withDefaults(toRecord(token), account))
  return { records, total, page: query.page, itemsOnPage: query.itemsOnPage }
}

function filterOf(
  { state, expiresBeforeMs, clusters }: ListRequest & { clusters: TokenFilter['clusters'] },
  nowMs: number,
): TokenFilter | undefined {
  if (state === undefined && expiresBeforeMs === undefined && clusters === undefined) return undefined
  return {
    nowMs,
    ...(state ? { state } : {}),
    ...(expiresBeforeMs === undefined ? {} : { expiresBeforeMs }),
    ...(clusters ? { clusters } : {}),
  }
}

/** Ids of the publish tokens that are on the air now, at any node; on one stream, or on any. Ascending. */
export const activeTokenIds = (ctx: AccessContext, accountId: string, streamName?: string): Promise<number[]> =>
  ctx.store.read.feeds.tokenIds(accountId, streamName)

/** Ids of the publish tokens that could publish a stream now: active, not expired and covering its name. Ascending. */
export async function usableTokenIds(ctx: AccessContext, accountId: string, streamName: string): Promise<number[]> {
  return inTurns(idsCovering(await ctx.store.read.tokens.usable(accountId, ctx.clock.now(), streamName), streamName))
}

type Usable = Awaited<ReturnType<AccessContext['store']['read']['tokens']['usable']>>[number]

function* idsCovering(usable: readonly Usable[], streamName: string): Generator<undefined, number[]> {
  const ids: number[] = []
  for (const { id, exact, patterns } of usable) {
    if (exact || anyMatches(patterns, streamName)) ids.push(id)
    yield
  }
  return ids
}

/** Whether a feed of this stream that starts now would be secured: any usable publish token that covers it decides so. */
export const streamWouldBeSecured = (ctx: AccessContext, accountId: string, streamName: string): Promise<boolean> =>
  ctx.cache.secured.cover(accountId, streamName)

function anyMatches(patterns: readonly string[], streamName: string): boolean {
  return patterns.some((text) => {
    const pattern = compilePattern(text)
    return pattern.ok && pattern.value.matches(streamName)
  })
}
