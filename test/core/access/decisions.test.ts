import { createHmac, timingSafeEqual } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Result } from '../../../src/base/result.ts'
import { parseAddress, parseAddressRule } from '../../../src/core/access/address.ts'
import { parseCountry } from '../../../src/core/access/country.ts'
import { decide } from '../../../src/core/access/decide.ts'
import { parseOriginRule } from '../../../src/core/access/origin.ts'
import { parseSelfSigned } from '../../../src/core/access/selfSigned.ts'
import { compileStreams } from '../../../src/core/access/streamName.ts'
import type { AccessRequest, Credential, Decision, TokenSnapshot } from '../../../src/core/access/types.ts'
import { CHECKS } from '../../../web/dashboard/src/pages/access/checks.ts'
import { stepDe } from '../../../web/dashboard/src/words/traceDe.ts'
import { type DecisionCase, loadDecisions, MESSAGES, PLAIN_TOKEN, signSelfSigned } from '../../support/decisions.ts'

const NOW_MS = 1_750_000_000_000
const ID = 41
const VALUE = '0123456789abcdef'.repeat(4)
const cases = loadDecisions()
const byFile = Object.groupBy(cases, (test) => test.file)

describe('the decision table', () => {
  it('is not shorter than it was', () => expect(cases.length).toBeGreaterThanOrEqual(417))

  for (const [file, tests] of Object.entries(byFile)) {
    describe(file, () => {
      for (const test of tests ?? []) it(test.name, () => check(test))
    })
  }
})

function check(test: DecisionCase): void {
  const request = requestOf(test)
  const decision = decide(request, { rtmpIpFilters: test.policy, region: '' }, NOW_MS)
  expect(outcomeOf(decision)).toMatchObject(expectedOf(test))
  checkTrace(decision, request)
}

function expectedOf({ want }: DecisionCase): object {
  if (want.allowed) return { bind: null, stamp: null, ...want }
  return { ...want, message: want.message ?? MESSAGES[want.code ?? 'invalid_token'] }
}

function outcomeOf(decision: Decision): object {
  if (decision.allowed) {
    const { bind, stamp } = decision.effects
    return {
      allowed: true,
      trackingId: decision.trackingId,
      bind: bind?.address ?? null,
      stamp: stamp?.address ?? null,
    }
  }
  const { code, message, trace } = decision
  return { allowed: false, code, message, failedCheck: trace.at(-1)?.check }
}

/** One step per evaluated check, in order. A failure is the last one. Token values never appear. */
function checkTrace(decision: Decision, { credential }: AccessRequest): void {
  const { trace } = decision
  expect(trace.map((step) => step.check)).toEqual(CHECKS.slice(0, trace.length))
  expect(trace.filter((step) => step.outcome === 'fail').length).toBe(decision.allowed ? 0 : 1)
  expect(trace.map(({ detail }) => detail).filter((detail) => stepDe(detail) === undefined)).toEqual([])
  if (!decision.allowed) expect(trace.at(-1)?.outcome).toBe('fail')
  else expect(trace.length).toBe(credential.kind === 'none' ? 1 : CHECKS.length)
  expect(JSON.stringify(trace)).not.toContain(VALUE)
}

function requestOf(test: DecisionCase): AccessRequest {
  const { action, protocol, streamName, ip, origin, country, secured } = test.request
  const accountId = { own: 'abc123', foreign: 'zzz999', omitted: null }[test.request.accountId]
  const address = parseAddress(ip)
  if (address === null) throw new Error(`${ip} is no address`)
  const credential = credentialOf(test)
  return { action, protocol, accountId, streamName, credential, address, origin, country, streamIsSecured: secured }
}

function credentialOf(test: DecisionCase): Credential {
  switch (test.request.present) {
    case 'none':
      return { kind: 'none' }
    case 'token':
      return { kind: 'token', token: snapshotOf(test) }
    case 'selfSigned':
      return verified(test)
    case 'garbage':
    case 'unknown':
      return { kind: 'unknown', why: 'no token has this value' }
  }
}

/** The steps of the edge before the decision: parse, find the parent, verify. */
function verified(test: DecisionCase): Credential {
  const text = signSelfSigned(test, { id: ID, value: VALUE }, NOW_MS)
  const parsed = parseSelfSigned(text)
  if (!parsed.ok) return { kind: 'unknown', why: parsed.error }
  const { alg, claims, signature, signingInput } = parsed.value
  if (claims.tokenId !== ID) return { kind: 'unknown', why: 'the parent token does not exist' }
  const expected = createHmac(`sha${alg.slice(2)}`, VALUE)
    .update(signingInput)
    .digest()
  if (!timingSafeEqual(expected, signature))
    return { kind: 'unknown', why: 'the signature is not made with the parent token' }
  return { kind: 'selfSigned', token: snapshotOf(test), claims }
}

function snapshotOf({ token, revoked }: DecisionCase): TokenSnapshot {
  const inSeconds = (seconds: number | null): number | null => (seconds === null ? null : NOW_MS + seconds * 1000)
  return {
    ...PLAIN_TOKEN,
    id: ID,
    kind: token.kind,
    isActive: token.isActive,
    expiresAtMs: inSeconds(token.expiresInSeconds),
    streams: must(compileStreams(token.streams)),
    origins: token.allowedOrigins.map((text) => must(parseOriginRule(text))),
    addresses: token.allowedIpAddresses.map((text) => must(parseAddressRule(text))),
    bindLimit: token.bindIpsOnUsage,
    boundAddresses: new Set(token.bound),
    allowedCountries: new Set(token.allowedCountries.map((text) => must(parseCountry(text)))),
    deniedCountries: new Set(token.deniedCountries.map((text) => must(parseCountry(text)))),
    subscribeRequiresAuth: token.subscribeRequiresAuth,
    trackingId: token.tracking?.trackingId ?? null,
    revokedBeforeMs: inSeconds(revoked.issuedBeforeInSeconds),
    revokedJtis: new Set(revoked.jtis),
  }
}

function must<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return result.value
}
