import type { StreamEntry } from '../../core/access/streamName.ts'
import type { FeedRendition } from '../../core/hls/feedRungs.ts'
import { mapFlagColumns, mapFlags, TOKEN_FLAGS } from '../../core/tokens/flags.ts'
import type { RestreamTarget } from '../../core/tokens/types.ts'
import { dbFlag } from '../columns.ts'
import type { StoredToken } from '../store.ts'
import type { RowOf, NewRowOf } from '../schema.ts'

/** `last_used_at_ms` is of the table `token_uses`; absent where it was not read. */
export type TokenRow = RowOf<'tokens'> & { last_used_at_ms?: number | null }

/** All columns but the id, which the database assigns. */
export type TokenValues = Required<Omit<NewRowOf<'tokens'>, 'id'>>

export function toTokenValues(token: Omit<StoredToken, 'id'>): TokenValues {
  return {
    account_id: token.accountId,
    kind: token.kind,
    label: token.label,
    streams: JSON.stringify(token.streams),
    has_patterns: dbFlag(token.streams.some((entry) => entry.isRegex)),
    is_active: dbFlag(token.isActive),
    allowed_origins: JSON.stringify(token.allowedOrigins),
    allowed_ip_addresses: JSON.stringify(token.allowedIpAddresses),
    bind_ips_on_usage: token.bindIpsOnUsage,
    allowed_countries: JSON.stringify(token.allowedCountries),
    denied_countries: JSON.stringify(token.deniedCountries),
    ...mapFlagColumns((name) => dbFlag(token[name])),
    origin_cluster: token.originCluster || null,
    geo_cascade: token.geoCascade && JSON.stringify(token.geoCascade),
    priority: token.priority,
    renditions: JSON.stringify(token.hlsRenditions),
    hls_codecs: token.hlsCodecs,
    restream: JSON.stringify(token.restream),
    tracking_id: token.trackingId,
    max_viewers: token.maxViewers,
    recording_days: token.recordingDays,
    added_at_ms: token.addedAtMs,
    expires_at_ms: token.expiresAtMs,
    version: token.version,
    revoked_before_ms: token.revokedBeforeMs,
    value_hash: token.valueHash,
    value_sealed: token.valueSealed,
  }
}

export function fromTokenRow(row: TokenRow): StoredToken {
  return {
    id: row.id,
    kind: row.kind as StoredToken['kind'],
    accountId: row.account_id,
    label: row.label,
    streams: JSON.parse(row.streams) as StreamEntry[],
    isActive: row.is_active === 1,
    allowedOrigins: list<string>(row.allowed_origins),
    allowedIpAddresses: list<string>(row.allowed_ip_addresses),
    bindIpsOnUsage: row.bind_ips_on_usage,
    allowedCountries: list<string>(row.allowed_countries),
    deniedCountries: list<string>(row.denied_countries),
    ...mapFlags(TOKEN_FLAGS, (name) => row[TOKEN_FLAGS[name].column] === 1),
    originCluster: row.origin_cluster ?? '',
    geoCascade: row.geo_cascade === null ? null : list<string>(row.geo_cascade),
    priority: row.priority,
    hlsRenditions: list<FeedRendition>(row.renditions),
    hlsCodecs: row.hls_codecs,
    restream: list<RestreamTarget>(row.restream),
    trackingId: row.tracking_id,
    maxViewers: row.max_viewers,
    recordingDays: row.recording_days,
    addedAtMs: row.added_at_ms,
    expiresAtMs: row.expires_at_ms,
    version: row.version,
    revokedBeforeMs: row.revoked_before_ms,
    ...(row.last_used_at_ms ? { lastUsedAtMs: row.last_used_at_ms } : {}),
    valueHash: row.value_hash,
    valueSealed: row.value_sealed,
  }
}

/** Parses a JSON list. Most lists are empty. */
function list<T>(json: string): T[] {
  return json === '[]' ? [] : (JSON.parse(json) as T[])
}
