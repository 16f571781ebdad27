import type { StreamEntry } from '../../core/access/streamName.ts'
import type { FeedRendition } from '../../core/hls/feedRungs.ts'
import { mapFlags, TOKEN_FLAGS } from '../../core/tokens/flags.ts'
import type { RestreamTarget } from '../../core/tokens/types.ts'
import { type DbBoolean, dbFlag } from '../columns.ts'
import type { StoredToken } from '../store.ts'
import { fieldsOf, type FieldsOf } from '../records.ts'
import { type DB, namesWithout } from '../schema.ts'

const SAME = namesWithout('tokens', 'has_patterns', 'renditions', 'enable_utc_insertion')

/** What a token is read with, under the names of its fields. */
export const TOKEN_COLUMNS = [
  ...fieldsOf('tokens', SAME),
  'tokens.renditions as hlsRenditions',
  'tokens.enable_utc_insertion as enableUTCInsertion',
] as const

export interface TokenRow extends FieldsOf<'tokens', (typeof SAME)[number]> {
  readonly hlsRenditions: string
  readonly enableUTCInsertion: DbBoolean
  /** Of the table `token_uses`; absent where it was not read. */
  readonly lastUsedAtMs?: number | null
}

/** All columns but the id, which the database assigns. */
export type TokenValues = FieldsOf<'tokens', Exclude<keyof DB['tokens'], 'id'>>

export function toTokenValues(token: Omit<StoredToken, 'id'>): TokenValues {
  return {
    ...token,
    ...mapFlags(TOKEN_FLAGS, (name) => dbFlag(token[name])),
    enableUtcInsertion: dbFlag(token.enableUTCInsertion),
    streams: JSON.stringify(token.streams),
    hasPatterns: dbFlag(token.streams.some((entry) => entry.isRegex)),
    isActive: dbFlag(token.isActive),
    allowedOrigins: JSON.stringify(token.allowedOrigins),
    allowedIpAddresses: JSON.stringify(token.allowedIpAddresses),
    allowedCountries: JSON.stringify(token.allowedCountries),
    deniedCountries: JSON.stringify(token.deniedCountries),
    originCluster: token.originCluster || null,
    geoCascade: token.geoCascade && JSON.stringify(token.geoCascade),
    renditions: JSON.stringify(token.hlsRenditions),
    restream: JSON.stringify(token.restream),
  }
}

export const fromTokenRow = (row: TokenRow): StoredToken => ({
  ...row,
  kind: row.kind as StoredToken['kind'],
  streams: JSON.parse(row.streams) as StreamEntry[],
  isActive: row.isActive === 1,
  allowedOrigins: list<string>(row.allowedOrigins),
  allowedIpAddresses: list<string>(row.allowedIpAddresses),
  allowedCountries: list<string>(row.allowedCountries),
  deniedCountries: list<string>(row.deniedCountries),
  ...mapFlags(TOKEN_FLAGS, (name) => row[name] === 1),
  originCluster: row.originCluster ?? '',
  geoCascade: row.geoCascade === null ? null : list<string>(row.geoCascade),
  hlsRenditions: list<FeedRendition>(row.hlsRenditions),
  restream: list<RestreamTarget>(row.restream),
  lastUsedAtMs: row.lastUsedAtMs || undefined,
})

/** Parses a JSON list. Most lists are empty. */
function list<T>(json: string): T[] {
  return json === '[]' ? [] : (JSON.parse(json) as T[])
}
