import { describe, expect, test } from 'vitest'
import { constantTimeEqual, hmac, hmacKey, hmacSha256, newSecret, sha256 } from '../../src/base/crypto.ts'
import {
  hashPassword,
  MAX_PASSWORD_BYTES,
  PASSWORD_COST,
  unmatchedHash,
  verifyPassword,
} from '../../src/base/password.ts'
import { systemRandom } from '../../src/base/random.ts'
import { CHEAP_PASSWORDS } from '../support/passwords.ts'

test('SHA-256 of "abc" is the digest of FIPS 180-4, as text and as bytes', () => {
  const digest = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
  expect(sha256('abc').toString('hex')).toBe(digest)
  expect(sha256(Buffer.from('abc')).toString('hex')).toBe(digest)
})

test('HMAC agrees with RFC 4231 case 2 and RFC 2202 case 2', () => {
  const [key, data] = [hmacKey('Jefe'), 'what do ya want for nothing?']
  expect(hmacSha256(key, data).toString('hex')).toBe('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843')
  expect(hmac('sha1', key, data).toString('hex')).toBe('effcdf6ae5eb2fa2d27416d5f184df9c259a7c79')
})

test('secrets are equal only when every byte is', () => {
  expect(constantTimeEqual('abc', Buffer.from('abc'))).toBe(true)
  for (const other of ['abd', 'ab', 'abcd', '']) expect(constantTimeEqual('abc', other)).toBe(false)
})

test('a new secret is 64 lower-case hexadecimal digits and never the same', () => {
  const secrets = Array.from({ length: 100 }, () => newSecret(systemRandom))
  expect(new Set(secrets).size).toBe(100)
  for (const secret of secrets) expect(secret).toMatch(/^[0-9a-f]{64}$/)
})

const FULL = { random: systemRandom, passwordCost: PASSWORD_COST }
const CHEAP = { random: systemRandom, passwordCost: CHEAP_PASSWORDS }

/** Hashing is slow by design, and the machine may be busy with other tests. */
describe('a password', { timeout: 120_000 }, () => {
  test('is verified by its hash, which contains the parameters', async () => {
    const stored = await hashPassword('café', FULL)
    expect(stored).toMatch(/^\$scrypt\$ln=15,r=8,p=3\$/)
    expect(await verifyPassword('café', stored)).toBe(true)
    expect(await verifyPassword('cafe', stored)).toBe(false)
    expect(await verifyPassword('cafe\u0301', await hashPassword('café', CHEAP))).toBe(true)
  })

  test('is hashed with scrypt as in RFC 7914', async () => {
    // Computed by another implementation (Python's hashlib.scrypt): the vectors of section 12 have shorter salts than
    // a stored hash may have.
    const salt = Buffer.from('SodiumChloride16').toString('base64url')
    const digest = 'ywd3KuG5N75-_-n_Cjfqd4qjzQQanR1jI1SPfrFKXNY'
    expect(await verifyPassword('pleaseletmein', `$scrypt$ln=14,r=8,p=1$${salt}$${digest}`)).toBe(true)
  })

  test('hash that is invalid or too costly is refused before any work', async () => {
    const tail = `$${'A'.repeat(22)}$${'A'.repeat(43)}`
    for (const cost of ['ln=30,r=8,p=1', 'ln=15,r=99,p=1', 'ln=15,r=8,p=9', 'ln=0,r=8,p=1', 'ln=15,r=0,p=1']) {
      expect(await verifyPassword('x', `$scrypt$${cost}${tail}`)).toBe(false)
    }
    for (const stored of ['', 'x', `$argon2id$${tail}`]) expect(await verifyPassword('x', stored)).toBe(false)
  })

  test('of no user is checked at the cost of a real one, and never right', async () => {
    expect(await verifyPassword('', unmatchedHash(CHEAP.passwordCost))).toBe(false)
    const stored = unmatchedHash(PASSWORD_COST)
    expect(stored).toMatch(/^\$scrypt\$ln=15,r=8,p=3\$[\w-]{22}\$[\w-]{43}$/)
  })

  test('that is too long is refused', async () => {
    const long = 'x'.repeat(MAX_PASSWORD_BYTES + 1)
    expect(await verifyPassword(long, await hashPassword('x', CHEAP))).toBe(false)
    await expect(hashPassword(long, CHEAP)).rejects.toThrow('too long')
  })
})
