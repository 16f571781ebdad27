import * as api from '#api/tokens.ts'
import { call, callRows, type Operation, type Rows } from '../../api/call.ts'
import { refusalWords } from '../../words/refusalWords.ts'
import type { StoredToken, TokenKind } from './tokenForm.ts'

/** Another server that gets what is published. Of its key the end alone, unless it is being set. */
export interface RestreamTarget {
  /** Of a target of an engine. */
  readonly id?: string
  readonly url: string
  readonly key: string
  readonly label: string
  readonly enabled: boolean
  readonly transcode: boolean
}

/** A token as the pages use it, of either kind. */
export interface TokenRecord extends StoredToken {
  readonly id: number
  /** Absent in lists, which leave the values out. */
  readonly token?: string | undefined
  /** Absent unless the token displays it. */
  readonly srtPassphrase?: string | undefined
  readonly addedOn: string
  readonly expiresOn?: string | undefined
  readonly lastUsedOn?: string | undefined
  readonly isActive: boolean
  /** Of publish tokens. */
  readonly restream?: readonly RestreamTarget[] | undefined
}

export type SortBy = 'Name' | 'AddedOn' | 'LastUsedOn'
export type TokenState = 'live' | 'ready' | 'expiring' | 'off' | 'expired'

interface ListQuery {
  readonly sortBy?: SortBy
  readonly isDescending?: boolean
  readonly page?: number
  readonly itemsOnPage?: number
  readonly state?: TokenState | undefined
  readonly includeValue?: boolean
}

type ById = { readonly path: { readonly tokenId: string } }
type WithBody = { readonly body: Readonly<Record<string, unknown>> }

interface BoundAddress {
  readonly address: string
  readonly firstUsedOn: string
  readonly lastUsedOn: string
}

interface Operations {
  readonly list: Operation<{ readonly query: ListQuery }, readonly TokenRecord[]>
  readonly listByName: Operation<{ readonly query: ListQuery & { readonly name: string } }, readonly TokenRecord[]>
  readonly create: Operation<WithBody, TokenRecord>
  readonly read: Operation<ById, TokenRecord>
  readonly update: Operation<ById & WithBody, TokenRecord>
  readonly remove: Operation<ById, unknown>
  readonly boundAddresses: Operation<ById, readonly BoundAddress[]>
  readonly clearBound: Operation<ById, unknown>
  readonly enable: Operation<SwitchBody, Switched>
  readonly disable: Operation<SwitchBody, Switched>
}

type SwitchBody = { readonly body: { readonly tokenIds: readonly number[] } }

interface Switched {
  readonly failedTokens: readonly { readonly tokenId: number; readonly errorMessage: string }[]
}

/** The same operations exist for both kinds, each with its own path. The forms of both kinds are checked by the server. */
const OPERATIONS = {
  publish: {
    list: api.listPublishTokens,
    listByName: api.listPublishTokensByName,
    create: api.createPublishToken,
    read: api.readPublishToken,
    update: api.updatePublishToken,
    remove: api.deletePublishToken,
    boundAddresses: api.listPublishTokenBoundIps,
    clearBound: api.clearPublishTokenBoundIps,
    enable: api.enablePublishTokens,
    disable: api.disablePublishTokens,
  },
  subscribe: {
    list: api.listSubscribeTokens,
    listByName: api.listSubscribeTokensByName,
    create: api.createSubscribeToken,
    read: api.readSubscribeToken,
    update: api.updateSubscribeToken,
    remove: api.deleteSubscribeToken,
    boundAddresses: api.listSubscribeTokenBoundIps,
    clearBound: api.clearSubscribeTokenBoundIps,
    enable: api.enableSubscribeTokens,
    disable: api.disableSubscribeTokens,
  },
} as unknown as Readonly<Record<TokenKind, Operations>>

export interface TokenQuery extends ListQuery {
  /** In labels and names of streams. */
  readonly search: string
}

/** One page of a list, without the values of the tokens. */
export function listTokens(
  kind: TokenKind,
  { search, ...query }: TokenQuery,
  signal?: AbortSignal,
): Promise<Rows<readonly TokenRecord[]>> {
  const { list, listByName } = OPERATIONS[kind]
  const options = signal ? { signal } : {}
  const all = { ...query, includeValue: false }
  return search === ''
    ? callRows(list, { query: all }, options)
    : callRows(listByName, { query: { ...all, name: search } }, options)
}

const LIVE_PER_PAGE = 100
const LIVE_PAGES_MOST = 20

/** The ids of the tokens of a kind that are live: that someone uses now. */
export async function liveTokens(kind: TokenKind, signal: AbortSignal): Promise<ReadonlySet<number>> {
  const query = { search: '', state: 'live', itemsOnPage: LIVE_PER_PAGE, sortBy: 'AddedOn' } as const
  const { rows, total } = await listTokens(kind, query, signal)
  const pages = Math.min(Math.ceil(total / LIVE_PER_PAGE), LIVE_PAGES_MOST)
  const further = Array.from({ length: Math.max(0, pages - 1) }, (_, at) =>
    listTokens(kind, { ...query, page: at + 2 }, signal),
  )
  return new Set([...rows, ...(await Promise.all(further)).flatMap((page) => page.rows)].map(({ id }) => id))
}

const byId = (id: number): ById => ({ path: { tokenId: String(id) } })

export const createToken = (kind: TokenKind, body: Readonly<Record<string, unknown>>): Promise<TokenRecord> =>
  call(OPERATIONS[kind].create, { body })

export const readToken = (kind: TokenKind, id: number, signal: AbortSignal): Promise<TokenRecord> =>
  call(OPERATIONS[kind].read, byId(id), { signal })

export const updateToken = (
  kind: TokenKind,
  id: number,
  body: Readonly<Record<string, unknown>>,
): Promise<TokenRecord> => call(OPERATIONS[kind].update, { ...byId(id), body })

export const deleteToken = (kind: TokenKind, id: number): Promise<unknown> => call(OPERATIONS[kind].remove, byId(id))

export const listBoundAddresses = (
  kind: TokenKind,
  id: number,
  signal: AbortSignal,
): Promise<readonly BoundAddress[]> => call(OPERATIONS[kind].boundAddresses, byId(id), { signal })

export const clearBoundAddresses = (kind: TokenKind, id: number): Promise<unknown> =>
  call(OPERATIONS[kind].clearBound, byId(id))

/** Switches tokens on or off in one call. Returns why some stayed as they were, or null. */
export async function setActive(kind: TokenKind, ids: readonly number[], isActive: boolean): Promise<string | null> {
  const { enable, disable } = OPERATIONS[kind]
  const { failedTokens } = await call(isActive ? enable : disable, { body: { tokenIds: ids } })
  const [failed] = failedTokens
  return failed ? (await refusalWords())(failed.errorMessage) : null
}
