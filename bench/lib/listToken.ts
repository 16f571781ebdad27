import { randomBytes } from 'node:crypto'
import { newToken, type NewToken } from '../../test/conformance/store.samples.ts'

/** The `n`th token of a long list. Every tenth is off, and every fourth expires at some time around `nowMs`. */
export const listToken = (accountId: string, n: number, nowMs = Date.now()): NewToken =>
  newToken({
    accountId,
    label: `camera ${randomBytes(6).toString('hex')}`,
    streams: [{ streamName: `stage-${n}`, isRegex: false }],
    isActive: n % 10 !== 0,
    addedAtMs: 1_750_000_000_000 + n,
    expiresAtMs: n % 4 === 0 ? nowMs + (n - 50_000) * 60_000 : null,
    valueSealed: randomBytes(60),
  })
