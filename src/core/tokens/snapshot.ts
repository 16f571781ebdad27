import type { Result } from '../../base/result.ts'
import { type AccountDefaults, effectiveCountries } from './accountDefaults.ts'
import { mediaRegionsOf, regionOf } from '../clusters.ts'
import { parseAddressRule } from '../access/address.ts'
import { parseOriginRule } from '../access/origin.ts'
import { compileStreams } from '../access/streamName.ts'
import type { TokenSnapshot } from '../access/types.ts'
import { pickFlags, TOKEN_FLAGS } from './flags.ts'
import type { Token } from './types.ts'

/**
 * Compiles a stored token for decisions. Stored rules were validated when they were written, so a part that does not
 * compile means a damaged database: this throws, and the token admits no request.
 */
export function compileSnapshot(
  token: Token,
  boundAddresses: Iterable<string>,
  revokedJtis: Iterable<string>,
  account: AccountDefaults,
): TokenSnapshot {
  const { allowedCountries, deniedCountries, source } = effectiveCountries(token, account)
  return {
    id: token.id,
    kind: token.kind,
    accountId: token.accountId,
    version: token.version,
    isActive: token.isActive,
    expiresAtMs: token.expiresAtMs,
    streams: mustCompile(compileStreams(token.streams)),
    origins: token.allowedOrigins.map((text) => mustCompile(parseOriginRule(text))),
    addresses: token.allowedIpAddresses.map((text) => mustCompile(parseAddressRule(text))),
    bindLimit: token.bindIpsOnUsage,
    boundAddresses: new Set(boundAddresses),
    allowedCountries: new Set(allowedCountries),
    deniedCountries: new Set(deniedCountries),
    countrySource: source,
    accountVersion: account.version,
    originRegion: token.kind === 'publish' ? regionOf(token.originCluster, account) : null,
    mediaRegions: token.kind === 'publish' ? mediaRegionsOf(token.geoCascade, account) : null,
    ...pickFlags(TOKEN_FLAGS, token),
    priority: token.priority,
    hlsRenditions: token.hlsRenditions,
    hlsCodecs: token.hlsCodecs,
    trackingId: token.trackingId,
    maxViewers: token.maxViewers,
    revokedBeforeMs: token.revokedBeforeMs,
    revokedJtis: new Set(revokedJtis),
  }
}

function mustCompile<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(`a stored rule does not compile: ${JSON.stringify(result.error)}`)
  return result.value
}
