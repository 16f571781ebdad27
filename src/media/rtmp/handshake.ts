import type { Random } from '../../base/random.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { coded, type CodedSentence } from '../../core/notices.ts'

const VERSION = 3
const BLOCK_BYTES = 1536

/** A client that does not begin with RTMP version 3. */
export interface ForeignClient {
  /** A sentence for the log. */
  readonly problem: string
  /** What its protocol has to end with; empty when it has nothing. */
  readonly reply: Buffer
}

/** The first byte of a TLS record with a handshake. */
const TLS = 0x16
/** RTMPE: Diffie-Hellman and RC4, and its variants with other ciphers. */
const RTMPE: readonly number[] = [6, 8, 9]
const HTTP = /^[A-Z]$/
const PLAIN = 'this port takes RTMP without encryption'

/** A fatal alert: handshake_failure (RFC 8446 section 6.2). */
const TLS_ALERT = Buffer.from([21, 3, 1, 0, 2, 2, 40])
const TUNNEL = 'RTMP in HTTP (RTMPT) is not supported; use rtmp://'
const HTTP_ANSWER = Buffer.from(
  `HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: ${TUNNEL.length}\r\nConnection: close\r\n\r\n${TUNNEL}`,
)

function foreignClient(first: number): ForeignClient {
  if (first === TLS) return { problem: `TLS came, and ${PLAIN}; rtmps:// has a port of its own`, reply: TLS_ALERT }
  if (HTTP.test(String.fromCharCode(first))) return { problem: `HTTP came: ${TUNNEL}`, reply: HTTP_ANSWER }
  // The answer names the version that is served (RTMP 1.0 section 5.2.2).
  const reply = Buffer.from([VERSION])
  if (RTMPE.includes(first)) return { problem: `RTMPE came, and ${PLAIN}; use rtmp:// or rtmps://`, reply }
  return { problem: `The connection begins with ${first}, not with RTMP version ${VERSION}`, reply: Buffer.alloc(0) }
}

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

  /** Refused when the first byte is not RTMP version 3; do not push again then. */
  push(data: Buffer): Result<HandshakeStep, ForeignClient> {
    this.#received = Buffer.concat([this.#received, data])
    const version = this.#received[0] ?? VERSION
    if (version !== VERSION) return err(foreignClient(version))
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

/** What a client sends and reads. The answer to C0 and C1 is S0, S1 and S2; C2 repeats S1. */
export class ClientHandshake {
  /** C0 and C1. */
  readonly opening: Buffer
  #received = Buffer.alloc(0)

  constructor(random: Random) {
    this.opening = Buffer.concat([Buffer.from([VERSION]), Buffer.alloc(8), random.bytes(BLOCK_BYTES - 8)])
  }

  /** C2, and the bytes after the handshake; null while it is incomplete. Refused with a sentence; do not push again then. */
  push(data: Buffer): Result<{ readonly reply: Buffer; readonly rest: Buffer } | null, CodedSentence> {
    this.#received = Buffer.concat([this.#received, data])
    const version = this.#received[0] ?? VERSION
    if (version !== VERSION) return err(coded('server_not_rtmp', { byte: version }))
    const end = 1 + 2 * BLOCK_BYTES
    if (this.#received.length < end) return ok(null)
    return ok({ reply: this.#received.subarray(1, 1 + BLOCK_BYTES), rest: this.#received.subarray(end) })
  }
}
