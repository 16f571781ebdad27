import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto'
import { sha256 } from './crypto.ts'
import type { Random } from './random.ts'
import { err, ok, type Result } from './result.ts'

export const SEALING_KEY_BYTES = 32

/** Why a sealed value does not open: another key sealed it, or it was changed, cut, or sealed for another context. */
export type SealProblem = 'unknown-key' | 'damaged'

const VERSION = 1
const KEY_ID_BYTES = 4
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEAD_BYTES = 1 + KEY_ID_BYTES + NONCE_BYTES

/**
 * Seals small values with AES-256-GCM (NIST SP 800-38D).
 *
 *     version (1) | key id (4) | nonce (12) | ciphertext | tag (16)
 *
 * The key id is derived from the key, so operators have no key numbers to configure. The head and a context such as
 * `token:value` are authenticated: a value that is moved to another column does not open. Nonces are random, which
 * is safe for 2^32 values per key.
 */
export class Sealer {
  /** Hexadecimal id of the sealing key. Store it beside the data to detect a wrong key at start. */
  readonly keyId: string
  readonly #keys = new Map<string, KeyObject>()
  readonly #random: Random

  /**
   * Seals with the first key and opens with any.
   * @throws when there is no key, or when one is not 32 bytes long
   */
  constructor(keys: readonly Uint8Array[], random: Random) {
    const ids = keys.map((key) => this.#add(key))
    if (ids[0] === undefined) throw new Error('a sealer needs a key')
    this.keyId = ids[0]
    this.#random = random
  }

  seal(plain: string | Uint8Array, context: string): Buffer {
    const nonce = this.#random.bytes(NONCE_BYTES)
    const head = Buffer.concat([Buffer.of(VERSION), Buffer.from(this.keyId, 'hex'), nonce])
    const cipher = createCipheriv('aes-256-gcm', this.#key(this.keyId), nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(authenticated(head, context))
    const body = typeof plain === 'string' ? Buffer.from(plain, 'utf8') : plain
    return Buffer.concat([head, cipher.update(body), cipher.final(), cipher.getAuthTag()])
  }

  open(sealed: Uint8Array, context: string): Result<Buffer, SealProblem> {
    if (sealed.length < HEAD_BYTES + TAG_BYTES || sealed[0] !== VERSION) return err('damaged')
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
    const key = this.#keys.get(bytes.toString('hex', 1, 1 + KEY_ID_BYTES))
    return key === undefined ? err('unknown-key') : decipher(key, bytes, context)
  }

  /** Whether this process can open what the key with this id has sealed. */
  knows(keyId: string): boolean {
    return this.#keys.has(keyId)
  }

  #add(key: Uint8Array): string {
    if (key.length !== SEALING_KEY_BYTES) throw new Error(`a sealing key has ${SEALING_KEY_BYTES} bytes`)
    const id = sealingKeyId(key)
    this.#keys.set(id, createSecretKey(key))
    return id
  }

  #key(id: string): KeyObject {
    const key = this.#keys.get(id)
    if (key === undefined) throw new Error(`no sealing key ${id}`)
    return key
  }
}

/** Names a key without revealing it: 8 hexadecimal digits. */
export const sealingKeyId = (key: Uint8Array): string =>
  sha256(Buffer.concat([Buffer.from('sluice sealing key id:'), key])).toString('hex', 0, KEY_ID_BYTES)

/** The position of the key's id in a sealed value: its first byte and its length. */
export const KEY_ID_POSITION = { at: 1, bytes: KEY_ID_BYTES } as const

const authenticated = (head: Uint8Array, context: string): Buffer => Buffer.concat([head, Buffer.from(context, 'utf8')])

function decipher(key: KeyObject, sealed: Buffer, context: string): Result<Buffer, SealProblem> {
  const head = sealed.subarray(0, HEAD_BYTES)
  const nonce = head.subarray(HEAD_BYTES - NONCE_BYTES)
  const cipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(authenticated(head, context))
  cipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    return ok(Buffer.concat([cipher.update(sealed.subarray(HEAD_BYTES, -TAG_BYTES)), cipher.final()]))
  } catch {
    // `final` throws only when the tag does not match.
    return err('damaged')
  }
}
