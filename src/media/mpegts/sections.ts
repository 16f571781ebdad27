import type { TsPacket } from './packets.ts'

const HEAD_BYTES = 3
/** The head, and the most that a PAT or PMT may have after it (ISO/IEC 13818-1 section 2.4.4). */
const SECTION_MAX_BYTES = HEAD_BYTES + 1021
const STUFFING = 0xff
const NONE = Buffer.alloc(0)

/** Joins the sections of one PID (section 2.4.4.1). Leaves out those whose CRC is wrong. */
export class SectionReader {
  #pending = NONE

  push({ isStart, payload }: TsPacket): Buffer[] {
    if (!isStart) return this.#pending.length === 0 ? [] : this.#read(Buffer.concat([this.#pending, payload]))
    const begin = 1 + (payload[0] ?? 0)
    const finished =
      this.#pending.length === 0 ? [] : this.#read(Buffer.concat([this.#pending, payload.subarray(1, begin)]))
    return [...finished, ...this.#read(payload.subarray(begin))]
  }

  /** Packets are missing. */
  lose(): void {
    this.#pending = NONE
  }

  #read(bytes: Buffer): Buffer[] {
    const sections: Buffer[] = []
    let at = 0
    this.#pending = NONE
    while (at < bytes.length && bytes[at] !== STUFFING) {
      const end = at + HEAD_BYTES + (at + HEAD_BYTES > bytes.length ? 0 : bytes.readUInt16BE(at + 1) & 0x0fff)
      if (end - at > SECTION_MAX_BYTES) break
      if (end > bytes.length) {
        this.#pending = Buffer.from(bytes.subarray(at))
        break
      }
      const section = bytes.subarray(at, end)
      if (hasRightCrc(section)) sections.push(section)
      at = end
    }
    return sections
  }
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24
  for (let bit = 0; bit < 8; bit++) crc = crc < 0 ? (crc << 1) ^ 0x04c1_1db7 : crc << 1
  return crc
})

/** The CRC of annex A, over a section without its last 4 bytes. */
export function crcOf(bytes: Buffer): number {
  let crc = 0xffff_ffff
  for (const byte of bytes) crc = (crc << 8) ^ (CRC_TABLE[((crc >>> 24) ^ byte) & 0xff] ?? 0)
  return crc >>> 0
}

/** Over a section with its CRC it is 0. */
const hasRightCrc = (section: Buffer): boolean => crcOf(section) === 0
