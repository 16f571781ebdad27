import { createPublicKey, type KeyObject } from 'node:crypto'

const SECRET_MIN = 16
const RSA_BITS_MIN = 2048

/** Why a text is no key for viewers' tokens, ready to follow the name of the field; null: it is one. */
export function refuseViewerKey(text: string): string | null {
  if (!isPem(text)) {
    return text.length < SECRET_MIN ? `must be at least ${SECRET_MIN} characters, or an RSA public key in PEM` : null
  }
  if (/PRIVATE KEY/.test(text)) return 'must be the public key of the pair: a private key belongs to whoever signs'
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
    // OpenSSL says in many ways that this is no key.
    return null
  }
}
