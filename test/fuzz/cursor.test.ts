import { createHmac } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeCursor, encodeCursor, type KeyPart } from '../../src/core/pages/cursor.ts'
import { readLimit } from '../../src/core/pages/page.ts'
import { cases } from '../support/randomCases.ts'

const RUNS = cases(1000)
const mac = (data: Uint8Array) => new Uint8Array(createHmac('sha256', 'key').update(data).digest())
const refused = { ok: false, error: 'invalid_cursor' }

const parts: fc.Arbitrary<KeyPart> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40, size: 'max' }),
  fc.maxSafeInteger().map((number) => number + 0),
  fc.constantFrom(null, '', '\ufeff', '\u0000', 'n1'),
)
const keys = fc.array(parts, { maxLength: 4 })
const filters = fc.dictionary(
  fc.string({ maxLength: 6 }),
  fc.oneof(fc.string({ maxLength: 6 }), fc.integer(), fc.boolean()),
  {
    maxKeys: 3,
  },
)
const scopes = fc.record({ list: fc.string({ maxLength: 12, size: 'max' }), filters })

describe('cursors', () => {
  it('return every key under their own scope', () => {
    fc.assert(
      fc.property(scopes, keys, (scope, key) => {
        expect(decodeCursor(encodeCursor(scope, key, mac), scope, mac)).toEqual({ ok: true, value: key })
      }),
      RUNS,
    )
  })

  it('are refused under every other scope', () => {
    fc.assert(
      fc.property(scopes, scopes, keys, (scope, other, key) => {
        fc.pre(scope.list !== other.list || !isDeepStrictEqual({ ...scope.filters }, { ...other.filters }))
        expect(decodeCursor(encodeCursor(scope, key, mac), other, mac)).toEqual(refused)
      }),
      RUNS,
    )
  })

  it('are refused when a bit is flipped', () => {
    fc.assert(
      fc.property(scopes, keys, fc.nat(), (scope, key, at) => {
        const bytes = Buffer.from(encodeCursor(scope, key, mac), 'base64url')
        const bit = at % (bytes.length * 8)
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        expect(decodeCursor(bytes.toString('base64url'), scope, mac)).toEqual(refused)
      }),
      RUNS,
    )
  })

  it('are not guessed, and no text makes the parser throw', () => {
    const anything = fc.oneof(
      fc.anything(),
      fc.string(),
      fc.base64String(),
      fc.uint8Array().map((b) => Buffer.from(b).toString('base64url')),
    )
    fc.assert(
      fc.property(scopes, anything, (scope, text) => {
        expect(decodeCursor(text, scope, mac)).toEqual(refused)
      }),
      RUNS,
    )
  })

  it('are parsed safely even when the signature is valid and the rest is garbage', () => {
    fc.assert(
      fc.property(scopes, fc.uint8Array({ maxLength: 60, size: 'max' }), (scope, rubbish) => {
        const signed = Buffer.from([1, ...rubbish])
        const tag = mac(Buffer.concat([Buffer.of(2), signed])).subarray(0, 12)
        expect(decodeCursor(Buffer.concat([signed, tag]).toString('base64url'), scope, mac)).toEqual(refused)
      }),
      RUNS,
    )
  })
})

describe('limits', () => {
  it('are whole numbers from 1 to 100 or refused', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.integer().map(String)), (text) => {
        const limit = readLimit(text)
        if (limit.ok && text !== undefined) expect(String(limit.value)).toBe(text)
        if (limit.ok) expect(limit.value >= 1 && limit.value <= 100).toBe(true)
      }),
      RUNS,
    )
  })
})
