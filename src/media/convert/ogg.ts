/** One Opus packet with the presentation time of its first sample. */
export interface OpusPacket {
  readonly timeUs: number
  readonly data: Buffer
}

const HEAD_BYTES = 27
const CAPTURE = 0x4f676753 // OggS
const SAMPLES_PER_PACKET = 960
const US_PER_SAMPLE = 1e6 / 48_000

/**
 * Reads Opus packets of 20 ms from an Ogg stream (RFC 3533, RFC 7845) that keeps the timestamps of its source. Decoded
 * audio is late by the pre-skip, the encoder's look-ahead, so the reader subtracts it.
 */
export class OggOpusReader {
  #pending = Buffer.alloc(0)
  /** Parts of an unfinished packet, from earlier pages. */
  #begun: Buffer[] = []
  #headers = 0
  #preSkip = 0

  /** The packets that `data` completes; null when the stream is not Ogg. */
  push(data: Buffer): OpusPacket[] | null {
    this.#pending = Buffer.concat([this.#pending, data])
    const packets: OpusPacket[] = []
    for (;;) {
      const length = pageLength(this.#pending)
      if (length === null) return null
      if (length > this.#pending.length) return packets
      this.#page(this.#pending.subarray(0, length), packets)
      this.#pending = this.#pending.subarray(length)
    }
  }

  #page(page: Buffer, packets: OpusPacket[]): void {
    const whole = this.#packetsOf(page).filter((packet) => !this.#isHeader(packet))
    // The granule position is the end of the last packet.
    const end = Number(page.readBigInt64LE(6)) - this.#preSkip
    for (const [at, data] of whole.entries()) {
      const begin = end - (whole.length - at) * SAMPLES_PER_PACKET
      packets.push({ timeUs: Math.max(0, Math.round(begin * US_PER_SAMPLE)), data })
    }
  }

  /** A segment of 255 bytes continues in the next one (RFC 3533 section 5). */
  #packetsOf(page: Buffer): Buffer[] {
    const lacing = page.subarray(HEAD_BYTES, HEAD_BYTES + (page[26] ?? 0))
    const packets: Buffer[] = []
    let at = HEAD_BYTES + lacing.length
    for (const size of lacing) {
      this.#begun.push(page.subarray(at, at + size))
      at += size
      if (size === 255) continue
      packets.push(Buffer.concat(this.#begun))
      this.#begun = []
    }
    return packets
  }

  /** OpusHead, then OpusTags. */
  #isHeader(packet: Buffer): boolean {
    if (this.#headers === 2) return false
    if (++this.#headers === 1) this.#preSkip = packet.length >= 12 ? packet.readUInt16LE(10) : 0
    return true
  }
}

/** The length as far as `bytes` shows it; larger than `bytes` when more is needed. Null: this is not an Ogg page. */
function pageLength(bytes: Buffer): number | null {
  if (bytes.length < HEAD_BYTES) return HEAD_BYTES
  if (bytes.readUInt32BE(0) !== CAPTURE) return null
  const segments = bytes[26] ?? 0
  const lacing = bytes.subarray(HEAD_BYTES, HEAD_BYTES + segments)
  return HEAD_BYTES + segments + lacing.reduce((sum, size) => sum + size, 0)
}
