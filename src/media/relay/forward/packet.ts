/** One RTP packet of a track, without header, extensions and padding. */
export interface MediaPacket {
  /** Grows by one from packet to packet of a track and never wraps, also when the publisher changes its SSRC. */
  readonly index: number
  /** Of the RTP clock of its track, 32 bits. */
  readonly timestamp: number
  readonly marker: boolean
  readonly payload: Buffer
  /** A decoder can start with this packet: the first of a keyframe, or any of audio. */
  readonly isKeyStart: boolean
}

const SLAB_BYTES = 16_384

/**
 * Memory for cached payloads. A small buffer is usually a slice of a block that it shares with unrelated buffers, and keeps all
 * of it alive: 64 KiB for a packet of 1 KiB. Here the payloads of one ring lie together in order of arrival, so that a ring holds
 * no more than its packets and one block.
 */
export class PayloadMemory {
  #slab = Buffer.alloc(0)
  #used = 0

  /** A copy of `payload`. */
  keep(payload: Buffer): Buffer {
    if (this.#used + payload.length > this.#slab.length) {
      this.#slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, payload.length))
      this.#used = 0
    }
    const begin = this.#used
    this.#used += payload.copy(this.#slab, begin)
    return this.#slab.subarray(begin, this.#used)
  }
}

/** The latest packets of a track, by index. */
export class PacketRing {
  readonly size: number
  readonly #slots: (MediaPacket | undefined)[]

  constructor(size: number) {
    this.size = size
    this.#slots = Array.from({ length: size }, () => undefined)
  }

  put(packet: MediaPacket): void {
    this.#slots[packet.index % this.size] = packet
  }

  get(index: number): MediaPacket | undefined {
    const packet = this.#slots[index % this.size]
    return packet?.index === index ? packet : undefined
  }

  /** The cached packets from `first` to `last`, in order. */
  range(first: number, last: number): MediaPacket[] {
    const found: MediaPacket[] = []
    for (let index = Math.max(first, last - this.size + 1); index <= last; index++) {
      const packet = this.get(index)
      if (packet !== undefined) found.push(packet)
    }
    return found
  }
}
