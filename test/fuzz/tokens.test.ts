import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TokenKind } from '../../src/core/tokens/types.ts'
import { COMMON_FLAGS, mapFlags, PUBLISH_FLAGS } from '../../src/core/tokens/flags.ts'
import { applyPatch } from '../../src/core/tokens/patch.ts'
import { readTokenCreate } from '../../src/core/tokens/create.ts'
import { readDisable, readRevoke } from '../../src/core/tokens/actions.ts'
import { readListByNameQuery, readTokenListQuery } from '../../src/core/tokens/listQuery.ts'
import { readTokenUpdate } from '../../src/core/tokens/update.ts'
import { toTokenRecord } from '../../src/core/tokens/record.ts'
import { CreatePublishToken, UpdatePublishToken } from '../../src/core/tokens/schema.ts'
import { aToken, plainBody, value } from '../core/tokens/samples.ts'
import { cases } from '../support/randomCases.ts'

const RUNS = cases(1000)
const kinds = fc.constantFrom<TokenKind>('publish', 'subscribe')

/** Any JSON, but with our own property names often enough to pass the first check. */
const names = fc.constantFrom(
  ...Object.keys({ ...CreatePublishToken.properties, ...UpdatePublishToken.properties }),
  'streamName',
  'isRegex',
  'tracking',
  'trackingId',
  '__proto__',
  'constructor',
  'toString',
  'jti',
  'issuedBefore',
)
const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200, size: 'max' }),
  fc.constantFrom('.*', 'a(', '*.x.com', '10.0.0.0/8', '10.0.0.1-9', 'nl', 'XX', '\ud800', '\u0000', 'a\\', '[[:'),
)
const leaves = fc.oneof(texts, fc.integer(), fc.double(), fc.boolean(), fc.constant(null))
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    leaves,
    fc.array(tie('json'), { maxLength: 5 }),
    fc
      .array(fc.tuple(fc.oneof(names, texts), tie('json')), { maxLength: 8 })
      .map((entries) => Object.fromEntries(entries)),
  ),
}))

/** Valid bodies. */
const entries = fc.uniqueArray(
  fc.record({ streamName: fc.stringMatching(/^[a-z0-9]{1,12}$/), isRegex: fc.boolean() }),
  { minLength: 1, maxLength: 6, selector: (entry) => entry.streamName },
)
const octet = fc.integer({ min: 0, max: 255 })
const addresses = fc.array(
  fc
    .tuple(octet, octet, octet, octet, fc.integer({ min: 0, max: 32 }))
    .map(([a, b, c, d, n]) => `${a}.${b}.${c}.${d}/${n}`),
  { maxLength: 5 },
)
const origins = fc.array(fc.constantFrom('A.com', '*.b.org', 'https://c.net:443', 'http://d.de:8080', 'bücher.example'))
const countries = fc.array(fc.constantFrom('nl', 'BE', 'us', 'DE'))
const common = {
  label: fc.string({ minLength: 1, maxLength: 128, size: 'max' }),
  streams: entries,
  allowedOrigins: origins,
  allowedIpAddresses: addresses,
  bindIpsOnUsage: fc.nat(),
  maxViewers: fc.nat(1_000_000),
  allowedCountries: countries,
  ...mapFlags(COMMON_FLAGS, () => fc.boolean()),
}
const publishBodies = fc.record(
  { ...common, ...mapFlags(PUBLISH_FLAGS, () => fc.boolean()), priority: fc.constantFrom(0, 5, -1, null) },
  { requiredKeys: ['label', 'streams'] },
)
const subscribeBodies = fc.record(
  { ...common, tracking: fc.record({ trackingId: fc.stringMatching(/^[a-z]{1,9}$/) }) },
  { requiredKeys: ['label', 'streams'] },
)
const goodBodies: fc.Arbitrary<[TokenKind, object]> = fc.oneof(
  publishBodies.map((body): [TokenKind, object] => ['publish', body]),
  subscribeBodies.map((body): [TokenKind, object] => ['subscribe', body]),
)

/** The body that copies a token: its record without the fields that the server sets. */
function copyOf(record: object): unknown {
  const {
    id: _i,
    name: _n,
    token: _t,
    addedOn: _a,
    isActive: _o,
    effectiveSettings: _s,
    ...body
  } = record as Record<string, unknown>
  return JSON.parse(JSON.stringify(body))
}

describe('any JSON', () => {
  it('gets a result from every reader, with bounded and printable errors', () => {
    fc.assert(
      fc.property(kinds, json, (kind, body) => {
        const results = [
          readTokenCreate(kind, body),
          readTokenUpdate(kind, body),
          readRevoke(body, 0),
          readDisable(body),
        ]
        for (const result of results) {
          if (result.ok) continue
          const told = Object.entries(result.error)
          expect(told.length).toBeGreaterThan(0)
          expect(told.length).toBeLessThanOrEqual(101)
          for (const [path, messages] of told) {
            expect(path.length).toBeLessThanOrEqual(80)
            expect(messages.every((message) => message.length <= 300)).toBe(true)
            expect(`${path}${messages.join('')}`).not.toMatch(/\p{Cc}|\p{Cs}/u)
          }
        }
      }),
      RUNS,
    )
  })

  it('as one field of a valid body is refused at that field, or gives rules that an update accepts', () => {
    fc.assert(
      fc.property(kinds, names, json, (kind, name, sent) => {
        const body = plainBody(Object.fromEntries([[name, sent]]))
        const created = readTokenCreate(kind, body)
        if (created.ok) expect(applyPatch(aToken({ ...created.value.rules, kind }), noChange).ok).toBe(true)
        else for (const path of Object.keys(created.error)) expect(path === 'more' || path.startsWith(name)).toBe(true)
      }),
      RUNS,
    )
  })

  it('gets a result from the list queries', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.oneof(names, texts), fc.oneof(texts, fc.array(texts))), (query) => {
        for (const result of [readTokenListQuery(query), readListByNameQuery(query)]) {
          expect(result.ok || Object.keys(result.error).length > 0).toBe(true)
        }
      }),
      RUNS,
    )
  })
})

const noChange = { set: {}, restream: undefined, addStreams: [], removeStreams: [], refreshToken: false }

describe('a valid body', () => {
  it('becomes rules whose record, sent again, gives the same rules', () => {
    fc.assert(
      fc.property(goodBodies, ([kind, body]) => {
        const created = readTokenCreate(kind, body)
        if (!created.ok) return fc.pre(false)
        const record = toTokenRecord(aToken({ ...created.value.rules, kind }), '00'.repeat(32))
        expect(readTokenCreate(kind, copyOf(record))).toEqual(created)
      }),
      RUNS,
    )
  })

  it('sent as an update of another token leaves that one with the same restrictions', () => {
    fc.assert(
      fc.property(goodBodies, ([kind, body]) => {
        const created = readTokenCreate(kind, body)
        if (!created.ok) return fc.pre(false)
        const { streams: _s, tracking: _t, ...fields } = body as Record<string, unknown>
        const patched = value(applyPatch(aToken({ kind }), value(readTokenUpdate(kind, fields))))
        const { streams: _c, trackingId: _i, ...expected } = created.value.rules
        expect(patched.rules).toMatchObject(expected)
      }),
      RUNS,
    )
  })
})

describe('any update of any token', () => {
  it('leaves a token that keeps every rule, or is refused', () => {
    fc.assert(
      fc.property(entries, entries, fc.array(fc.nat(8), { maxLength: 4 }), (stored, added, removed) => {
        const names = [...new Set(removed)].map((index) => stored[index]?.streamName ?? `no-such-${index}`)
        const patched = applyPatch(aToken({ streams: stored }), {
          ...noChange,
          addStreams: added,
          removeStreams: names,
        })
        const left = stored.filter((entry) => !names.includes(entry.streamName)).map((entry) => entry.streamName)
        const clash = added.some((entry) => left.includes(entry.streamName))
        const missing = names.some((name) => name.startsWith('no-such-'))
        expect(patched.ok).toBe(!clash && !missing)
        if (patched.ok)
          expect(patched.value.rules.streams.map((entry) => entry.streamName)).toEqual([
            ...left,
            ...added.map((entry) => entry.streamName),
          ])
      }),
      RUNS,
    )
  })
})
