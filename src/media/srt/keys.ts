import { type Cipheriv, createCipheriv, createDecipheriv, pbkdf2 } from 'node:crypto'
import { promisify } from 'node:util'
import type { Random } from '../../base/random.ts'
import { sequenceAfter } from './sequences.ts'

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

/** Packets whose key stream is made at once. */
const BATCH_PACKETS = 64

const WORD_BYTES = 4
const WORDS_OF_BLOCK = BLOCK_BYTES / WORD_BYTES

/** The same memory in words of this machine, at one of whose boundaries it begins. */
const wordsOf = ({ buffer, byteOffset, length }: Buffer): Int32Array =>
  new Int32Array(buffer, byteOffset, length / WORD_BYTES)

/** The last word of the counter of each block of a packet, where the salt has none. A datagram has no more blocks. */
const BLOCK_NUMBERS = wordsOf(Buffer.from(Array.from({ length: 4096 }, (_, at) => [0, 0, at >> 8, at & 0xff]).flat()))

/** Packets at equal distances, such as the datagrams of a frame. */
interface Spacing {
  readonly bodyBytes: number
  /** From one body to the next. */
  readonly everyBytes: number
}

/**
 * AES in counter mode for one key (section 6.2.2). All blocks of many packets go through one cipher in a single call, because
 * a cipher object for each packet costs several times as much as its encryption.
 */
class KeyStream {
  readonly #cipher: Cipheriv
  readonly #salt: Buffer
  #blocks = Buffer.alloc(0)

  constructor(key: Buffer, salt: Buffer) {
    this.#cipher = createCipheriv(`aes-${key.length * 8}-ecb`, key, null).setAutoPadding(false)
    this.#salt = salt
  }

  /** Encrypts or decrypts bodies in place, the last perhaps shorter. @param sequence of the first packet */
  apply(bodies: Buffer, sequence: number, { bodyBytes, everyBytes }: Spacing): void {
    const step = BATCH_PACKETS * everyBytes
    for (let [at, first] = [0, sequence]; at < bodies.length; at += step, first = sequenceAfter(first, BATCH_PACKETS)) {
      this.#batch(bodies.subarray(at, at + step), first, { bodyBytes, everyBytes })
    }
  }

  #batch(bodies: Buffer, sequence: number, { bodyBytes, everyBytes }: Spacing): void {
    const count = Math.ceil(bodies.length / everyBytes)
    const last = bodies.length - (count - 1) * everyBytes
    const blocksOfBody = Math.ceil(bodyBytes / BLOCK_BYTES)
    const blocks = (count - 1) * blocksOfBody + Math.ceil(Math.min(bodyBytes, last) / BLOCK_BYTES)
    const stream = this.#cipher.update(this.#counters(sequence, blocks, blocksOfBody))
    // MPEG-TS comes in words. It costs a quarter then.
    const areWords = [bodies.byteOffset, bodies.length, bodyBytes, everyBytes, stream.byteOffset].every(isWhole)
    const [units, unitsOfStream, bytes] = areWords
      ? [wordsOf(bodies), wordsOf(stream), WORD_BYTES]
      : [bodies, stream, 1]
    const [size, every] = [bodyBytes / bytes, everyBytes / bytes]
    for (let [at, from] = [0, 0]; at < units.length; at += every, from += (blocksOfBody * BLOCK_BYTES) / bytes) {
      xor(units, at, Math.min(at + size, units.length), unitsOfStream, from)
    }
  }

  /** The counters of so many blocks, whose first half is that of the salt. Valid until the next call. */
  #counters(sequence: number, blocks: number, blocksOfBody: number): Buffer {
    const bytes = blocks * BLOCK_BYTES
    if (this.#blocks.length < bytes) this.#blocks = Buffer.alloc(bytes, this.#salt)
    const words = wordsOf(this.#blocks)
    for (let [block, of] = [0, sequence]; block < blocks; block += blocksOfBody, of = sequenceAfter(of)) {
      const [, , third = 0, fourth = 0] = wordsOf(counterOf(this.#salt, of))
      const end = Math.min(blocks, block + blocksOfBody)
      for (let at = block; at < end; at++) {
        words[at * WORDS_OF_BLOCK + 2] = third
        words[at * WORDS_OF_BLOCK + 3] = fourth | (BLOCK_NUMBERS[at - block] ?? 0)
      }
    }
    return this.#blocks.subarray(0, bytes)
  }
}

const isWhole = (bytes: number): boolean => bytes % WORD_BYTES === 0

type Units = Uint8Array | Int32Array

function xor(units: Units, from: number, to: number, stream: Units, streamFrom: number): void {
  for (let [at, of] = [from, streamFrom]; at < to; at++, of++) units[at] = (units[at] ?? 0) ^ (stream[of] ?? 0)
}

/** The keys of one connection. The sender changes them in turns: each packet says which one it is encrypted with. */
export class StreamKeys {
  readonly keyBits: number
  readonly #passphrase: string
  readonly #keys = new Map<number, KeyStream>()

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

  /** Those that a caller has made, with which a listener encrypts too. */
  static ofCaller(passphrase: string, key: Buffer, salt: Buffer): StreamKeys {
    const keys = new StreamKeys(passphrase, key.length * 8)
    keys.#keys.set(1, new KeyStream(key, salt))
    return keys
  }

  /** Takes a further key. False: it is not for this connection, which keeps its keys. */
  async refresh(bytes: Buffer): Promise<boolean> {
    const message = readKeyMessage(bytes)
    if (message === null || message.keyBytes * 8 !== this.keyBits) return false
    const { salt, keyBytes, which } = message
    const wrapping = await derive(this.#passphrase, salt.subarray(8), ITERATIONS, keyBytes, 'sha1')
    const keys = unwrap(message, wrapping)
    if (keys === null) return false
    if ((which & 1) !== 0) this.#keys.set(1, new KeyStream(keys.subarray(0, keyBytes), salt))
    if ((which & 2) !== 0) this.#keys.set(2, new KeyStream(keys.subarray(-keyBytes), salt))
    return true
  }

  /** In place. False: there is no such key. */
  decrypt(body: Buffer, which: number, sequence: number): boolean {
    const found = this.#keys.get(which)
    found?.apply(body, sequence, { bodyBytes: body.length, everyBytes: body.length })
    return found !== undefined
  }
}

export type KeyBytes = 16 | 24 | 32

/** The keys of a sender, which makes them. It changes them in turns. */
export class SendingKeys {
  readonly keyBytes: KeyBytes
  readonly #random: Random
  readonly #salt: Buffer
  readonly #wrapping: Buffer
  /** The even one and the odd one. */
  readonly #keys: [Buffer, Buffer]
  /** Of the key that is in use. */
  #stream: KeyStream
  /** As packets name it. */
  which: 1 | 2 = 1

  private constructor(random: Random, salt: Buffer, wrapping: Buffer, keyBytes: KeyBytes) {
    this.keyBytes = keyBytes
    this.#random = random
    this.#salt = salt
    this.#wrapping = wrapping
    this.#keys = [random.bytes(keyBytes), random.bytes(keyBytes)]
    this.#stream = new KeyStream(this.#keys[0], salt)
  }

  static async make(passphrase: string, keyBytes: KeyBytes, random: Random): Promise<SendingKeys> {
    const salt = random.bytes(SALT_BYTES)
    const wrapping = await derive(passphrase, salt.subarray(8), ITERATIONS, keyBytes, 'sha1')
    return new SendingKeys(random, salt, wrapping, keyBytes)
  }

  /** Encrypts bodies in place, the last perhaps shorter. @param sequence of the first packet */
  encrypt(bodies: Buffer, sequence: number, spacing: Spacing): void {
    this.#stream.apply(bodies, sequence, spacing)
  }

  /** What the other side sends is encrypted with the first of them. */
  forReceiving(passphrase: string): StreamKeys {
    return StreamKeys.ofCaller(passphrase, this.#keys[0], this.#salt)
  }

  /** Makes the key that follows this one. Returns the message that tells both. */
  makeNext(): Buffer {
    this.#keys[2 - this.which] = this.#random.bytes(this.keyBytes)
    return this.#message(3)
  }

  useNext(): void {
    this.which = this.which === 1 ? 2 : 1
    this.#stream = new KeyStream(this.#keys[this.which - 1] ?? NO_KEY, this.#salt)
  }

  /** The message of the handshake. */
  get message(): Buffer {
    return this.#message(1)
  }

  #message(which: 1 | 3): Buffer {
    const { keyBytes } = this
    const head = Buffer.alloc(HEAD_BYTES)
    head[0] = VERSION_AND_TYPE
    head.writeUInt16BE(SIGN, 1)
    head.set([AES_CTR, 0, STREAM_OF_SRT], 8)
    head.set([which, 0, 0, 0, 0], 3)
    head.set([SALT_BYTES / 4, keyBytes / 4], 14)
    const cipher = createCipheriv(`id-aes${keyBytes * 8}-wrap`, this.#wrapping, WRAP_IV)
    const plain = Buffer.concat(which === 3 ? this.#keys : this.#keys.slice(0, 1))
    return Buffer.concat([head, this.#salt, cipher.update(plain), cipher.final()])
  }
}

const NO_KEY = Buffer.alloc(0)

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
