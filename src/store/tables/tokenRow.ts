import type { StreamEntry } from '../../core/access/streamName.ts'
import type { FeedRendition } from '../../core/hls/feedRungs.ts'
import type { DbBoolean } from '../columns.ts'
import type { StoredToken } from '../store.ts'
import type { RowOf, NewRowOf } from '../schema.ts'

/** `last_used_at_ms` is of the table `token_uses`; absent where it was not read. */
export type TokenRow = RowOf<'tokens'> & { last_used_at_ms?: number | null }

/** All columns but the id, which the database assigns. */
export type TokenValues = Required<Omit<NewRowOf<'tokens'>, 'id'>>

const flag = (value: boolean): DbBoolean => (value ? 1 : 0)

export function toTokenValues(token: Omit<StoredToken, 'id'>): TokenValues {
  return {
    account_id: token.accountId,
    kind: token.kind,
    label: token.label,
    streams: JSON.stringify(token.streams),
    has_patterns: flag(token.streams.some((entry) => entry.isRegex)),
    is_active: flag(token.isActive),
    allowed_origins: JSON.stringify(token.allowedOrigins),
    allowed_ip_addresses: JSON.stringify(token.allowedIpAddresses),
    bind_ips_on_usage: token.bindIpsOnUsage,
    allowed_countries: JSON.stringify(token.allowedCountries),
    denied_countries: JSON.stringify(token.deniedCountries),
    end_sessions_on_update: flag(token.endSessionsOnUpdate),
    end_at_expiry: flag(token.endAtExpiry),
    subscribe_requires_auth: flag(token.subscribeRequiresAuth),
    record: flag(token.record),
    enable_thumbnails: flag(token.enableThumbnails),
    multisource: flag(token.multisource),
    priority: token.priority,
    renditions: JSON.stringify(token.hlsRenditions),
    tracking_id: token.trackingId,
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
    endSessionsOnUpdate: row.end_sessions_on_update === 1,
    endAtExpiry: row.end_at_expiry === 1,
    subscribeRequiresAuth: row.subscribe_requires_auth === 1,
    record: row.record === 1,
    enableThumbnails: row.enable_thumbnails === 1,
    multisource: row.multisource === 1,
    priority: row.priority,
    hlsRenditions: list<FeedRendition>(row.renditions),
    trackingId: row.tracking_id,
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
