import type { TsPacket } from './packets.ts'

/** One PES packet (ISO/IEC 13818-1 section 2.4.3.6): an access unit of video, or some packets of audio. */
export interface PesPacket {
  /** Ticks of 90 kHz, of 33 bits; null: none. */
  readonly presentation: number | null
  /** The same as `presentation` where the sender gives none. */
  readonly decode: number | null
  readonly isRandomAccess: boolean
  /** When the last of it came: one without a length may have waited for the next since. */
  readonly cameAtMs: number
  readonly data: Buffer
}

/** Start code, stream id and length. */
const HEAD_BYTES = 6
/** A PES packet begins with room for so many bytes, and twice as many each time that they are too few. */
const ROOM_BYTES = 4096
/** So much room is kept for the next one. */
const KEPT_BYTES = 65_536
/** The head, the flags and the length of the optional fields. */
const FLAGS_END = 9
/** So many packets that are filled up, each before a PES packet, show that the muxer fills up the last one of each. */
const ENDS_MIN = 250

/**
 * Joins the PES packets of one PID. It copies what comes: a payload is a view of all that arrived with it, which may have a thousand
 * times as many bytes.
 */
export class PesReader {
  readonly #maxBytes: number
  #room = Buffer.alloc(0)
  /** Of the packet that is begun, in `#room`; 0: none is. */
  #bytes = 0
  #isRandomAccess = false
  #cameAtMs = 0
  /** The latest packet is filled up. */
  #isFilledUp = false
  /** How many packets that are filled up were the last of their PES packets. */
  #ends = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /**
   * Returns what is complete: a packet without a length when the next one begins, or at the stuffing that its muxer puts at its
   * end, which is a frame earlier. Null in it: a packet is damaged, scrambled or too large.
   */
  push({ isStart, isRandomAccess, isFilledUp, payload }: TsPacket, nowMs: number): (PesPacket | null)[] {
    const complete: (PesPacket | null)[] = []
    // A muxer that fills up packets in between, as for slices, always has to be waited for.
    if (this.#isFilledUp) this.#ends += isStart ? 1 : Number.NEGATIVE_INFINITY
    this.#isFilledUp = isFilledUp
    if (isStart) {
      if (this.#bytes > 0) complete.push(this.#finish())
      this.#isRandomAccess = isRandomAccess
    } else if (this.#bytes === 0) return complete
    if (this.#bytes + payload.length > this.#maxBytes) {
      this.lose()
      complete.push(null)
      return complete
    }
    this.#add(payload)
    this.#cameAtMs = nowMs
    if (this.#isFull()) complete.push(this.#finish())
    return complete
  }

  /** Packets are missing: the other parts of the PES packet are ignored. */
  lose(): void {
    this.#clear()
    this.#isFilledUp = false
  }

  /** Nothing more comes. Null: what was begun is not complete. */
  end(): PesPacket | null {
    const isComplete = this.#isFilledUp && this.#ends >= 0
    return isComplete && this.#bytes > 0 ? this.#finish() : null
  }

  #add(payload: Buffer): void {
    const bytes = this.#bytes + payload.length
    if (bytes > this.#room.length) {
      const room = Buffer.allocUnsafeSlow(Math.min(this.#maxBytes, Math.max(ROOM_BYTES, 2 * this.#room.length, bytes)))
      this.#room.copy(room, 0, 0, this.#bytes)
      this.#room = room
    }
    payload.copy(this.#room, this.#bytes)
    this.#bytes = bytes
  }

  #isFull(): boolean {
    const length = this.#bytes < HEAD_BYTES ? 0 : this.#room.readUInt16BE(4)
    return length > 0 ? this.#bytes >= HEAD_BYTES + length : this.#isFilledUp && this.#ends >= ENDS_MIN
  }

  #finish(): PesPacket | null {
    const packet = readPes(Buffer.from(this.#room.subarray(0, this.#bytes)))
    this.#clear()
    return packet && { ...packet, isRandomAccess: this.#isRandomAccess, cameAtMs: this.#cameAtMs }
  }

  #clear(): void {
    if (this.#room.length > KEPT_BYTES) this.#room = Buffer.alloc(0)
    this.#bytes = 0
  }
}

function readPes(bytes: Buffer): Pick<PesPacket, 'presentation' | 'decode' | 'data'> | null {
  if (bytes.length < FLAGS_END || bytes.readUIntBE(0, 3) !== 1) return null
  const length = bytes.readUInt16BE(4)
  const end = length === 0 ? bytes.length : HEAD_BYTES + length
  const isPlain = (bytes.readUInt8(6) & 0xf0) === 0x80
  const optionalEnd = FLAGS_END + bytes.readUInt8(8)
  if (!isPlain || end > bytes.length || optionalEnd > end) return null
  const flags = bytes.readUInt8(7) >> 6
  const presentation = flags >= 2 && optionalEnd >= 14 ? readTime(bytes, 9) : null
  const decode = flags === 3 && optionalEnd >= 19 ? readTime(bytes, 14) : presentation
  return { presentation, decode, data: bytes.subarray(optionalEnd, end) }
}

/** 33 bits in 5 bytes, with a marker after 3, 18 and 33 of them. */
const readTime = (bytes: Buffer, at: number): number =>
  ((bytes.readUInt8(at) >> 1) & 7) * 2 ** 30 +
  (bytes.readUInt16BE(at + 1) >> 1) * 2 ** 15 +
  (bytes.readUInt16BE(at + 3) >> 1)
