/**
 * RTP (RFC 3550 section 5.1) with header extensions (RFC 8285). A parsed header holds numbers and positions only: nothing
 * is copied, the packet stays where it is.
 */

const FIXED = 12
/** Profile of extensions with one byte of id and length; two bytes: 0x1000 to 0x100f. */
const ONE_BYTE = 0xbede
const TWO_BYTE = 0x1000

export interface RtpFields {
  readonly marker: boolean
  readonly payloadType: number
  readonly sequence: number
  readonly timestamp: number
  readonly ssrc: number
}

export interface RtpHeader extends RtpFields {
  /** 0xbede, 0x1000 to 0x100f, another profile; 0 without extensions. */
  readonly extensionProfile: number
  /** Where the elements of the extension begin; the payload begins behind them. */
  readonly extensionStart: number
  /** Where the payload begins, and where it ends and the padding begins. */
  readonly payloadStart: number
  readonly payloadEnd: number
}

/** RFC 5761 section 4: on one transport, what has a packet type of 192 to 223 is RTCP. */
export const isRtcp = (packet: Buffer): boolean => {
  const type = packet[1] ?? 0
  return type >= 192 && type <= 223
}

/** Null when the packet is not RTP version 2 or is shorter than its header says. */
export function parseRtp(packet: Buffer): RtpHeader | null {
  const extension = findExtension(packet)
  if (extension === null) return null
  const first = packet.readUInt8(0)
  const padding = (first & 0x20) === 0 ? 0 : packet.readUInt8(packet.length - 1)
  const payloadEnd = packet.length - padding
  // Padding that is announced counts itself, so it is 1 at least (RFC 3550 section 5.1).
  if (payloadEnd < extension.end || ((first & 0x20) !== 0 && padding === 0)) return null
  const second = packet.readUInt8(1)
  return {
    marker: second >= 0x80,
    payloadType: second & 0x7f,
    sequence: packet.readUInt16BE(2),
    timestamp: packet.readUInt32BE(4),
    ssrc: packet.readUInt32BE(8),
    extensionProfile: extension.profile,
    extensionStart: extension.start,
    payloadStart: extension.end,
    payloadEnd,
  }
}

/** Bytes of the header with its sources and extensions, which are clear in an encrypted packet; null as for `parseRtp`. */
export function headerBytes(packet: Buffer): number | null {
  // Neither sources nor extensions, as what we send ourselves.
  if (packet.length >= FIXED && (packet.readUInt8(0) & 0xdf) === 0x80) return FIXED
  return findExtension(packet)?.end ?? null
}

function findExtension(packet: Buffer): { profile: number; start: number; end: number } | null {
  if (packet.length < FIXED) return null
  const first = packet.readUInt8(0)
  const at = FIXED + (first & 15) * 4
  if (first >> 6 !== 2 || packet.length < at) return null
  if ((first & 0x10) === 0) return { profile: 0, start: at, end: at }
  if (packet.length < at + 4) return null
  const end = at + 4 + packet.readUInt16BE(at + 2) * 4
  return end > packet.length ? null : { profile: packet.readUInt16BE(at), start: at + 4, end }
}

export const payloadOf = (packet: Buffer, header: RtpHeader): Buffer =>
  packet.subarray(header.payloadStart, header.payloadEnd)

/** The value of the extension element `id`, a view; null when it is not there. Both forms of RFC 8285 are read. */
export function extensionOf(packet: Buffer, header: RtpHeader, id: number): Buffer | null {
  if (header.extensionProfile === ONE_BYTE) return oneByteElement(packet, header, id)
  if ((header.extensionProfile & 0xfff0) === TWO_BYTE) return twoByteElement(packet, header, id)
  return null
}

function oneByteElement(packet: Buffer, { extensionStart, payloadStart }: RtpHeader, id: number): Buffer | null {
  let at = extensionStart
  while (at < payloadStart) {
    const byte = packet.readUInt8(at)
    // 0 is padding; 15 is reserved and ends the list (RFC 8285 section 4.2).
    if (byte >> 4 === 15) return null
    const end = byte === 0 ? at + 1 : at + 2 + (byte & 15)
    if (end > payloadStart) return null
    if (byte >> 4 === id && byte !== 0) return packet.subarray(at + 1, end)
    at = end
  }
  return null
}

function twoByteElement(packet: Buffer, { extensionStart, payloadStart }: RtpHeader, id: number): Buffer | null {
  let at = extensionStart
  while (at < payloadStart) {
    const found = packet.readUInt8(at)
    if (found === 0) {
      at += 1
      continue
    }
    if (at + 2 > payloadStart) return null
    const end = at + 2 + packet.readUInt8(at + 1)
    if (end > payloadStart) return null
    if (found === id) return packet.subarray(at + 2, end)
    at = end
  }
  return null
}

/** Writes the first 12 bytes of `packet`: no CSRC, no extension, no padding. */
export function writeRtpHeader(packet: Buffer, fields: Omit<RtpFields, 'sequence'>, sequence: number): void {
  packet[0] = 0x80
  packet[1] = (fields.marker ? 0x80 : 0) | (fields.payloadType & 0x7f)
  packet.writeUInt16BE(sequence & 0xffff, 2)
  packet.writeUInt32BE(fields.timestamp >>> 0, 4)
  packet.writeUInt32BE(fields.ssrc >>> 0, 8)
}

/** How far `a` is ahead of `b`, over the wrap: -32768 to 32767. */
export const sequenceDistance = (a: number, b: number): number => ((a - b) << 16) >> 16

/** How far the RTP time `a` is ahead of `b`, over the wrap, in ticks: -2^31 to 2^31 - 1. */
export const timestampDistance = (a: number, b: number): number => (a - b) | 0

/** The sequence number that has the low 16 bits `sequence` and is nearest to `last`, itself counted without a wrap. */
export const unwrapSequence = (last: number, sequence: number): number =>
  last + sequenceDistance(sequence, last & 0xffff)
