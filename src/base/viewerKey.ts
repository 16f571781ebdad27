import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { constantTimeEqual, hmac, hmacKey } from './crypto.ts'

const SECRET_MIN = 16
const RSA_BITS_MIN = 2048

/** A key that verifies viewer tokens: a shared secret, or the public half of an RSA pair. */
export interface ViewerKey {
  /** Whether this key signed the text. A shared secret verifies no RSA algorithm, and a public key no HMAC. */
  verify(algorithm: 'HS256' | 'HS512' | 'RS256' | 'RS512', text: string, signature: Uint8Array): boolean
  /** Signs a token with these claims, HS256. Null: a public key signs nothing. */
  sign(claims: object): string | null
}

/** Reads a key that `refuseViewerKey` has accepted. A secret is taken as UTF-8. */
export function viewerKey(text: string): ViewerKey {
  return isPem(text) ? publicKey(createPublicKey(text)) : sharedSecret(hmacKey(text))
}

function sharedSecret(key: KeyObject): ViewerKey {
  const digests = { HS256: 'sha256', HS512: 'sha512' } as const
  return {
    verify: (algorithm, text, signature) =>
      (algorithm === 'HS256' || algorithm === 'HS512') &&
      constantTimeEqual(hmac(digests[algorithm], key, text), signature),
    sign: (claims) => {
      const text = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
      return `${text}.${hmac('sha256', key, text).toString('base64url')}`
    },
  }
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

function publicKey(key: KeyObject): ViewerKey {
  const digests = { RS256: 'RSA-SHA256', RS512: 'RSA-SHA512' } as const
  return {
    verify: (algorithm, text, signature) =>
      (algorithm === 'RS256' || algorithm === 'RS512') &&
      verify(digests[algorithm], Buffer.from(text, 'ascii'), key, signature),
    sign: () => null,
  }
}

/** Why a text is not a key for viewer tokens, as a predicate after the field name; null when it is one. */
export function refuseViewerKey(text: string): string | null {
  if (!isPem(text)) {
    return text.length < SECRET_MIN ? `must be at least ${SECRET_MIN} characters, or an RSA public key in PEM` : null
  }
  if (/PRIVATE KEY/.test(text)) return 'must be the public key of the pair: only the signer keeps the private key'
  const key = readPublicKey(text)
  if (key?.asymmetricKeyType !== 'rsa') return 'must be an RSA public key in PEM'
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  return bits < RSA_BITS_MIN ? `must have at least ${RSA_BITS_MIN} bits; it has ${bits}` : null
}

/** True for a public key, false for a shared secret. */
const isPem = (text: string): boolean => text.trimStart().startsWith('-----BEGIN ')

function readPublicKey(pem: string): KeyObject | null {
  try {
    return createPublicKey(pem)
  } catch {
    // OpenSSL has many error codes for a text that is no key.
    return null
  }
}
