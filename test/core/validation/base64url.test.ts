import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeBase64url } from '../../../src/core/validation/base64url.ts'

test('what was encoded is decoded, whole and from the middle of a text', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40, size: 'max' }), (bytes) => {
      const text = Buffer.from(bytes).toString('base64url')
      expect(decodeBase64url(text)).toEqual(new Uint8Array(bytes))
      expect(decodeBase64url(`=.${text}.=`, 2, 2 + text.length)).toEqual(new Uint8Array(bytes))
    }),
  )
})

test('no two texts decode to the same bytes', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const endings = (length: number) =>
    alphabet
      .split('')
      .filter((last) => decodeBase64url('A'.repeat(length - 1) + last) !== null)
      .join('')
  expect([endings(2), endings(3), endings(4)]).toEqual(['AQgw', 'AEIMQUYcgkosw048', alphabet])
})

test.each(['A', 'AAAAA', 'AA==', 'A A', 'AA+/', 'AAA\u00e9', 'AAA\u0100', 'AA\n', '=AAA'])(
  '%j is no base64url',
  (text) => {
    expect(decodeBase64url(text)).toBeNull()
  },
)
