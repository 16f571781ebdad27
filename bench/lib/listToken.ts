import { randomBytes } from 'node:crypto'
import type { StoredToken } from '../../src/store/store.ts'

/** The `n`th token of a long list. Every tenth is off, and every fourth expires at some time around `nowMs`. */
export function listToken(accountId: string, n: number, nowMs = Date.now()): Omit<StoredToken, 'id' | 'version'> {
  return {
    kind: 'publish',
    accountId,
    label: `camera ${randomBytes(6).toString('hex')}`,
    streams: [{ streamName: `stage-${n}`, isRegex: false }],
    isActive: n % 10 !== 0,
    allowedOrigins: [],
    allowedIpAddresses: [],
    bindIpsOnUsage: 0,
    allowedCountries: [],
    deniedCountries: [],
    endSessionsOnUpdate: true,
    subscribeRequiresAuth: false,
    record: false,
    enableThumbnails: false,
    multisource: true,
    priority: null,
    trackingId: null,
    addedAtMs: 1_750_000_000_000 + n,
    expiresAtMs: n % 4 === 0 ? nowMs + (n - 50_000) * 60_000 : null,
    revokedBeforeMs: null,
    valueHash: randomBytes(32),
    valueSealed: randomBytes(60),
  }
}
