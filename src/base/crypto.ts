import { createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Random } from './random.ts'

/** SHA-256 in lower-case hexadecimal: the key under which a secret is looked up. */
export const sha256Hex = (text: string): string => hash('sha256', text, 'hex')

/** SHA-256, 32 bytes. Text is hashed as UTF-8. */
export const sha256 = (data: string | Uint8Array): Buffer => hash('sha256', data, 'buffer')

/** A key for `hmac` from bytes or text. Make it once where the same key is used often. */
export const hmacKey = (secret: string | Uint8Array): KeyObject =>
  createSecretKey(typeof secret === 'string' ? Buffer.from(secret, 'utf8') : secret)

/** HMAC (RFC 2104) over `data`. Text is hashed as UTF-8. */
export const hmac = (
  algorithm: 'sha1' | 'sha256' | 'sha384' | 'sha512',
  key: KeyObject,
  data: string | Uint8Array,
): Buffer => createHmac(algorithm, key).update(data).digest()

export const hmacSha256 = (key: KeyObject, data: string | Uint8Array): Buffer => hmac('sha256', key, data)

/** Compares secrets in constant time: it reveals neither the first difference nor the lengths. */
export const constantTimeEqual = (a: string | Uint8Array, b: string | Uint8Array): boolean =>
  timingSafeEqual(sha256(a), sha256(b))

/** A new secret as lower-case hexadecimal; 32 bytes make the 64 digits of a token value or an API secret. */
export const newSecret = (random: Random, bytes = 32): string => random.bytes(bytes).toString('hex')
