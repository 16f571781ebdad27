import { createECDH, createPrivateKey, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto'
import { createRequire } from 'node:module'
import { p256 } from '@noble/curves/p256'

/** What DER puts in front of the 32 bytes of a key (RFC 8410 sections 4 and 7). */
const PRIVATE_X25519 = Buffer.from('302e020100300506032b656e04220420', 'hex')
const PUBLIC_X25519 = Buffer.from('302a300506032b656e032100', 'hex')
const KEY_BYTES = 32

/** What werift uses of tweetnacl. */
interface Nacl {
  readonly box: { keyPair: () => { readonly publicKey: Uint8Array; readonly secretKey: Uint8Array } }
  scalarMult: (privateKey: Uint8Array, publicKey: Uint8Array) => Uint8Array
}

const ownRequire = createRequire(import.meta.url)
const requireOfWerift = createRequire(ownRequire.resolve('werift'))

/** The copy that werift uses. */
export const nacl = requireOfWerift('tweetnacl') as Nacl

/**
 * werift agrees on keys with two libraries in JavaScript, which takes two thirds of a handshake. This puts OpenSSL in place of
 * the four functions that werift calls. Returns a sentence for the log if werift has another copy of the curves than we, and
 * goes on with it: both packages depend on one version, so npm gives them one copy.
 */
export function exchangeKeysByOpenSsl(): string | null {
  p256.getPublicKey = (privateKey) => new Uint8Array(p256Key(bytesOf(privateKey)).getPublicKey())
  p256.getSharedSecret = p256Secret
  nacl.box.keyPair = x25519Pair
  nacl.scalarMult = x25519Secret
  const [ours, theirs] = [ownRequire, requireOfWerift].map((each) => each.resolve('@noble/curves/p256'))
  return ours === theirs ? null : 'Handshakes of WebRTC are slow: werift computes keys in JavaScript.'
}

/** werift passes bytes only. */
function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw new TypeError('a key must be bytes')
}

function p256Key(privateKey: Uint8Array) {
  const key = createECDH('prime256v1')
  key.setPrivateKey(privateKey)
  return key
}

/** As a compressed point, of which werift takes the coordinate behind the first byte. Throws if the point is not on the curve. */
function p256Secret(privateKey: unknown, publicKey: unknown): Uint8Array {
  const coordinate = p256Key(bytesOf(privateKey)).computeSecret(bytesOf(publicKey))
  return Uint8Array.from([2, ...coordinate])
}

/** werift takes the whole memory of each key, so each needs its own. */
function x25519Pair(): ReturnType<Nacl['box']['keyPair']> {
  const { publicKey, privateKey } = generateKeyPairSync('x25519', {
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
  })
  return {
    publicKey: new Uint8Array(publicKey.subarray(-KEY_BYTES)),
    secretKey: new Uint8Array(privateKey.subarray(-KEY_BYTES)),
  }
}

/** Throws if the result is zero, as for points of small order (RFC 7748 section 6.1). */
function x25519Secret(privateKey: Uint8Array, publicKey: Uint8Array): Uint8Array {
  return diffieHellman({
    privateKey: createPrivateKey({ key: Buffer.concat([PRIVATE_X25519, privateKey]), format: 'der', type: 'pkcs8' }),
    publicKey: createPublicKey({ key: Buffer.concat([PUBLIC_X25519, publicKey]), format: 'der', type: 'spki' }),
  })
}
