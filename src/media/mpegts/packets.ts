/** Packets of an MPEG transport stream, ISO/IEC 13818-1 section 2.4.3.2. */

export const PACKET_BYTES = 188
const SYNC = 0x47
const NONE = Buffer.alloc(0)
/** GStreamer has a field of two bytes where one byte would fill a packet up, and sends the byte that is left in another one. */
const SPARE_BYTES = 2

export interface TsPacket {
  readonly pid: number
  /** A section or a PES packet begins in the payload. */
  readonly isStart: boolean
  /** Of 4 bits; it counts the packets of the PID that have a payload. */
  readonly counter: number
  readonly isScrambled: boolean
  /** The counter may be another one here. */
  readonly isDiscontinuity: boolean
  /** The sender says that a decoder can begin here. */
  readonly isRandomAccess: boolean
  /** It is filled up with stuffing, of which two bytes do not count: what it carries has no more bytes for now. */
  readonly isFilledUp: boolean
  /** Empty: the packet has an adaptation field only. */
  readonly payload: Buffer
}

/** Finds the packets in bytes that come in any pieces. Looks for the next one after bytes that are none. */
export class TsPacketReader {
  #pending = NONE
  #isSynced = true

  /** The payloads are views of `data`. */
  push(data: Buffer): TsPacket[] {
    const bytes = this.#pending.length === 0 ? data : Buffer.concat([this.#pending, data])
    const packets: TsPacket[] = []
    let at = 0
    while (at + PACKET_BYTES <= bytes.length) {
      if (!this.#isSynced || bytes[at] !== SYNC) at = this.#resync(bytes, at)
      if (!this.#isSynced) break
      const packet = readPacket(bytes.subarray(at, at + PACKET_BYTES))
      if (packet !== null) packets.push(packet)
      at += PACKET_BYTES
    }
    this.#pending = at >= bytes.length ? NONE : Buffer.from(bytes.subarray(at))
    return packets
  }

  /** Returns where the next packet is: another one must follow it, so the latest 188 bytes may have to wait for that. */
  #resync(bytes: Buffer, from: number): number {
    this.#isSynced = false
    let at = bytes.indexOf(SYNC, from)
    while (at >= 0 && at + PACKET_BYTES < bytes.length) {
      this.#isSynced = bytes[at + PACKET_BYTES] === SYNC
      if (this.#isSynced) return at
      at = bytes.indexOf(SYNC, at + 1)
    }
    return at < 0 ? bytes.length : at
  }
}

/** Null: the packet is damaged, or its sender says so. */
function readPacket(bytes: Buffer): TsPacket | null {
  const word = bytes.readUInt32BE(0)
  const hasError = (word & 0x80_0000) !== 0
  const fieldBytes = (word & 0x20) === 0 ? 0 : 1 + bytes.readUInt8(4)
  if (hasError || 4 + fieldBytes > PACKET_BYTES) return null
  const flags = fieldBytes > 1 ? bytes.readUInt8(5) : 0
  return {
    pid: (word >>> 8) & 0x1fff,
    isStart: (word & 0x40_0000) !== 0,
    counter: word & 0x0f,
    isScrambled: (word & 0xc0) !== 0,
    isDiscontinuity: (flags & 0x80) !== 0,
    isRandomAccess: (flags & 0x40) !== 0,
    isFilledUp: fieldBytes > fieldBytesOf(flags) + SPARE_BYTES,
    payload: (word & 0x10) === 0 ? NONE : bytes.subarray(4 + fieldBytes),
  }
}

/** Of an adaptation field with these flags and no stuffing; those with data of its own are taken to have none. */
function fieldBytesOf(flags: number): number {
  if (flags === 0) return 0
  if ((flags & 0x03) !== 0) return PACKET_BYTES
  return 2 + ((flags & 0x10) === 0 ? 0 : 6) + ((flags & 0x08) === 0 ? 0 : 6) + ((flags & 0x04) === 0 ? 0 : 1)
}
