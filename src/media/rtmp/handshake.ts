import type { Random } from '../../base/random.ts'
import { err, ok, type Result } from '../../base/result.ts'

const VERSION = 3
const BLOCK_BYTES = 1536

/** The result of a step of the handshake. */
export interface HandshakeStep {
  /** Bytes to send; empty when there is no reply. */
  readonly reply: Buffer
  /** The bytes after the handshake; null while it is incomplete. */
  readonly rest: Buffer | null
}

/**
 * The simple handshake (RTMP 1.0 section 5.2): S0, S1 and S2 answer C0 and C1; a C2 with any content ends it. A client
 * that offers the digest handshake accepts this answer too, because S2 repeats its C1.
 */
export class RtmpHandshake {
  readonly #random: Random
  #received = Buffer.alloc(0)
  #answered = false

  constructor(random: Random) {
    this.#random = random
  }

  /** Refused when the first byte is not RTMP version 3. */
  push(data: Buffer): Result<HandshakeStep, string> {
    this.#received = Buffer.concat([this.#received, data])
    const version = this.#received[0] ?? VERSION
    if (version !== VERSION) return err(`the connection begins with ${version}, not with RTMP version ${VERSION}`)
    const reply = this.#answered || this.#received.length <= BLOCK_BYTES ? Buffer.alloc(0) : this.#answer()
    const end = 1 + 2 * BLOCK_BYTES
    return ok({ reply, rest: this.#received.length < end ? null : this.#received.subarray(end) })
  }

  #answer(): Buffer {
    this.#answered = true
    const s1 = Buffer.concat([Buffer.alloc(8), this.#random.bytes(BLOCK_BYTES - 8)])
    return Buffer.concat([Buffer.from([VERSION]), s1, this.#received.subarray(1, 1 + BLOCK_BYTES)])
  }
}
