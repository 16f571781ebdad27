import { createDecipheriv, pbkdf2 } from 'node:crypto'
import { promisify } from 'node:util'

/** Encryption of SRT, draft-sharabayko-srt-01 sections 3.2.2 and 6. */

const HEAD_BYTES = 16
const SALT_BYTES = 16
/** RFC 3394 adds an integrity check of 8 bytes. */
const CHECK_BYTES = 8
const WRAP_IV = Buffer.alloc(CHECK_BYTES, 0xa6)
/** Version 1 and packet type 2; then the sign of Haivision. */
const VERSION_AND_TYPE = 0x12
const SIGN = 0x2029
const AES_CTR = 2
const STREAM_OF_SRT = 2
const ITERATIONS = 2048
const BLOCK_BYTES = 16

const derive = promisify(pbkdf2)

interface KeyMessage {
  readonly salt: Buffer
  readonly keyBytes: number
  /** Which keys it has: 1 the even one, 2 the odd one, 3 both. */
  readonly which: number
  readonly wrapped: Buffer
}

/** Null: malformed, or a cipher other than AES-CTR. */
function readKeyMessage(bytes: Buffer): KeyMessage | null {
  if (bytes.length < HEAD_BYTES + SALT_BYTES || bytes[0] !== VERSION_AND_TYPE || bytes.readUInt16BE(1) !== SIGN)
    return null
  const which = bytes.readUInt8(3) & 3
  const [saltBytes, keyBytes] = [bytes.readUInt8(14) * 4, bytes.readUInt8(15) * 4]
  const isKnown = bytes[8] === AES_CTR && bytes[10] === STREAM_OF_SRT && saltBytes === SALT_BYTES && which !== 0
  if (!isKnown || ![16, 24, 32].includes(keyBytes)) return null
  const wrapped = bytes.subarray(HEAD_BYTES + SALT_BYTES)
  if (wrapped.length !== CHECK_BYTES + (which === 3 ? 2 : 1) * keyBytes) return null
  return { salt: bytes.subarray(HEAD_BYTES, HEAD_BYTES + SALT_BYTES), keyBytes, which, wrapped }
}

interface StreamKey {
  readonly key: Buffer
  readonly salt: Buffer
}

/** The keys of one connection. The sender changes them in turns: each packet says which one it is encrypted with. */
export class StreamKeys {
  readonly keyBits: number
  readonly #passphrase: string
  readonly #keys = new Map<number, StreamKey>()

  private constructor(passphrase: string, keyBits: number) {
    this.#passphrase = passphrase
    this.keyBits = keyBits
  }

  /** Null: the message is malformed, or not for this passphrase. */
  static async open(message: Buffer, passphrase: string): Promise<StreamKeys | null> {
    const keyBytes = readKeyMessage(message)?.keyBytes
    if (keyBytes === undefined) return null
    const keys = new StreamKeys(passphrase, keyBytes * 8)
    return (await keys.refresh(message)) ? keys : null
  }

  /** Takes a further key. False: it is not for this connection, which keeps its keys. */
  async refresh(bytes: Buffer): Promise<boolean> {
    const message = readKeyMessage(bytes)
    if (message === null || message.keyBytes * 8 !== this.keyBits) return false
    const { salt, keyBytes, which } = message
    const wrapping = await derive(this.#passphrase, salt.subarray(8), ITERATIONS, keyBytes, 'sha1')
    const keys = unwrap(message, wrapping)
    if (keys === null) return false
    if ((which & 1) !== 0) this.#keys.set(1, { key: keys.subarray(0, keyBytes), salt })
    if ((which & 2) !== 0) this.#keys.set(2, { key: keys.subarray(-keyBytes), salt })
    return true
  }

  /** Null: there is no such key. */
  decrypt(body: Buffer, which: number, sequence: number): Buffer | null {
    const found = this.#keys.get(which)
    if (found === undefined) return null
    return createDecipheriv(`aes-${this.keyBits}-ctr`, found.key, counterOf(found.salt, sequence)).update(body)
  }
}

/** The salt without its last two bytes, and the sequence number over bytes 10 to 13 of it (section 6.2.2). */
export function counterOf(salt: Buffer, sequence: number): Buffer {
  const counter = Buffer.alloc(BLOCK_BYTES)
  salt.copy(counter, 0, 0, 14)
  counter.writeUInt32BE((counter.readUInt32BE(10) ^ sequence) >>> 0, 10)
  return counter
}

/** Null: the integrity check fails, because the passphrase is another one. */
function unwrap({ wrapped, keyBytes }: KeyMessage, wrapping: Buffer): Buffer | null {
  try {
    const decipher = createDecipheriv(`id-aes${keyBytes * 8}-wrap`, wrapping, WRAP_IV)
    return Buffer.concat([decipher.update(wrapped), decipher.final()])
  } catch {
    return null
  }
}
