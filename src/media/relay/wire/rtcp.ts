import type { NtpTime } from './ntp.ts'

/**
 * RTCP: RFC 3550 section 6, feedback of RFC 4585 and RFC 5104, REMB of draft-alvestrand-rmcat-remb-03. Reduced-size
 * compounds (RFC 5506) are read as well. Transport-wide feedback has its own file, `twcc.ts`.
 */

const SR = 200
const RR = 201
const SDES = 202
const BYE = 203
const RTPFB = 205
const PSFB = 206

const NACK = 1
const TWCC = 15
const PLI = 1
const FIR = 4
const AFB = 15

const CNAME = 1
/** `REMB` in ASCII. */
const REMB = 0x52454d42
/** More than a datagram holds. */
const MAX_PACKETS = 64
/** Sequence numbers in one NACK: as many as browsers keep in their lists of missing packets. */
const MAX_NACKED = 1000

export interface ReportBlock {
  readonly ssrc: number
  /** Since the last report, 0 to 255 of 256. */
  readonly fractionLost: number
  /** Signed: duplicates make it negative. */
  readonly packetsLost: number
  /** Highest sequence number, with the count of wraps above its 16 bits. */
  readonly highestSequence: number
  /** Ticks of the RTP clock. */
  readonly jitter: number
  /** Middle 32 bits of the NTP time of the last sender report; 0: none yet. */
  readonly lastReport: number
  /** Since then, in 1/65536 s. */
  readonly delaySinceLastReport: number
}

export interface SenderReport extends NtpTime {
  readonly ssrc: number
  readonly rtpTimestamp: number
  readonly packetCount: number
  readonly octetCount: number
}

export type RtcpPacket =
  | ({ readonly kind: 'sr'; readonly reports: readonly ReportBlock[] } & SenderReport)
  | { readonly kind: 'rr'; readonly ssrc: number; readonly reports: readonly ReportBlock[] }
  | { readonly kind: 'sdes'; readonly chunks: readonly { ssrc: number; cname: string | null }[] }
  | { readonly kind: 'bye'; readonly ssrcs: readonly number[] }
  | {
      readonly kind: 'nack'
      readonly senderSsrc: number
      readonly mediaSsrc: number
      readonly sequences: readonly number[]
    }
  | { readonly kind: 'pli'; readonly senderSsrc: number; readonly mediaSsrc: number }
  | {
      readonly kind: 'fir'
      readonly senderSsrc: number
      readonly requests: readonly { ssrc: number; sequence: number }[]
    }
  | { readonly kind: 'remb'; readonly senderSsrc: number; readonly bitrate: number; readonly ssrcs: readonly number[] }
  /** `feedback` is the whole RTCP packet, a view, for `parseTransportFeedback`. */
  | { readonly kind: 'twcc'; readonly senderSsrc: number; readonly mediaSsrc: number; readonly feedback: Buffer }
  | { readonly kind: 'other'; readonly packetType: number }

/** The packets of a compound in their order. Null when any part of it is not RTCP. */
export function parseRtcp(compound: Buffer): RtcpPacket[] | null {
  const packets: RtcpPacket[] = []
  let at = 0
  while (at < compound.length) {
    if (at + 4 > compound.length || packets.length === MAX_PACKETS) return null
    const end = at + 4 + compound.readUInt16BE(at + 2) * 4
    if (compound.readUInt8(at) >> 6 !== 2 || end > compound.length) return null
    const packet = parsePacket(compound.subarray(at, end))
    if (packet === null) return null
    packets.push(packet)
    at = end
  }
  return packets.length === 0 ? null : packets
}

function parsePacket(whole: Buffer): RtcpPacket | null {
  const body = withoutPadding(whole)
  if (body === null) return null
  const type = body.readUInt8(1)
  const count = body.readUInt8(0) & 31
  if (type === SR) return parseSenderReport(body, count)
  if (type === RR) return parseReceiverReport(body, count)
  if (type === SDES) return parseSdes(body, count)
  if (type === BYE) return parseBye(body, count)
  if (type === RTPFB || type === PSFB) return parseFeedback(whole, body, type, count)
  return { kind: 'other', packetType: type }
}

/** The packet without its padding; null when the padding is longer than the packet. */
function withoutPadding(whole: Buffer): Buffer | null {
  if ((whole.readUInt8(0) & 0x20) === 0) return whole
  const padding = whole.readUInt8(whole.length - 1)
  return padding === 0 || padding > whole.length - 4 ? null : whole.subarray(0, whole.length - padding)
}

function parseSenderReport(body: Buffer, count: number): RtcpPacket | null {
  const reports = readReports(body, 28, count)
  if (reports === null) return null
  return {
    kind: 'sr',
    ssrc: body.readUInt32BE(4),
    ntpSeconds: body.readUInt32BE(8),
    ntpFraction: body.readUInt32BE(12),
    rtpTimestamp: body.readUInt32BE(16),
    packetCount: body.readUInt32BE(20),
    octetCount: body.readUInt32BE(24),
    reports,
  }
}

function parseReceiverReport(body: Buffer, count: number): RtcpPacket | null {
  const reports = readReports(body, 8, count)
  return reports === null ? null : { kind: 'rr', ssrc: body.readUInt32BE(4), reports }
}

function readReports(body: Buffer, start: number, count: number): ReportBlock[] | null {
  if (body.length < start + count * 24) return null
  return Array.from({ length: count }, (_, index) => readReport(body, start + index * 24))
}

const readReport = (body: Buffer, at: number): ReportBlock => ({
  ssrc: body.readUInt32BE(at),
  fractionLost: body.readUInt8(at + 4),
  packetsLost: body.readIntBE(at + 5, 3),
  highestSequence: body.readUInt32BE(at + 8),
  jitter: body.readUInt32BE(at + 12),
  lastReport: body.readUInt32BE(at + 16),
  delaySinceLastReport: body.readUInt32BE(at + 20),
})

function parseSdes(body: Buffer, count: number): RtcpPacket | null {
  const chunks: { ssrc: number; cname: string | null }[] = []
  let at = 4
  for (let i = 0; i < count; i++) {
    if (at + 4 > body.length) return null
    const items = readSdesItems(body, at + 4)
    if (items === null) return null
    chunks.push({ ssrc: body.readUInt32BE(at), cname: items.cname })
    at = items.end
  }
  return { kind: 'sdes', chunks }
}

/** Items up to the zero that ends a chunk, and on to its next word. */
function readSdesItems(body: Buffer, start: number): { cname: string | null; end: number } | null {
  let cname: string | null = null
  let at = start
  while (at < body.length) {
    const type = body.readUInt8(at)
    if (type === 0) return { cname, end: (at + 4) & ~3 }
    if (at + 2 > body.length) return null
    const end = at + 2 + body.readUInt8(at + 1)
    if (end > body.length) return null
    if (type === CNAME) cname = body.toString('utf8', at + 2, end)
    at = end
  }
  // Some senders leave the zero out when the chunk fills its words.
  return { cname, end: body.length }
}

function parseBye(body: Buffer, count: number): RtcpPacket | null {
  const ssrcs = readWords(body, 4, count)
  return ssrcs === null ? null : { kind: 'bye', ssrcs }
}

function readWords(body: Buffer, start: number, count: number): number[] | null {
  if (body.length < start + count * 4) return null
  return Array.from({ length: count }, (_, index) => body.readUInt32BE(start + index * 4))
}

function parseFeedback(whole: Buffer, body: Buffer, type: number, format: number): RtcpPacket | null {
  if (body.length < 12) return null
  const senderSsrc = body.readUInt32BE(4)
  const mediaSsrc = body.readUInt32BE(8)
  if (type === RTPFB && format === NACK) return { kind: 'nack', senderSsrc, mediaSsrc, sequences: readNacks(body) }
  if (type === RTPFB && format === TWCC) return { kind: 'twcc', senderSsrc, mediaSsrc, feedback: whole }
  if (type === PSFB && format === PLI) return { kind: 'pli', senderSsrc, mediaSsrc }
  if (type === PSFB && format === FIR) return { kind: 'fir', senderSsrc, requests: readFirs(body) }
  const isRemb = type === PSFB && format === AFB && body.length >= 20 && body.readUInt32BE(12) === REMB
  return isRemb ? parseRemb(body, senderSsrc) : { kind: 'other', packetType: type }
}

/** The requested sequence numbers, up to the bound. A receiver repeats its NACK for the rest. */
function readNacks(body: Buffer): number[] {
  const sequences: number[] = []
  for (let at = 12; at + 4 <= body.length && sequences.length < MAX_NACKED; at += 4) {
    const first = body.readUInt16BE(at)
    const following = body.readUInt16BE(at + 2)
    sequences.push(first)
    for (let bit = 0; bit < 16; bit++) if ((following >> bit) & 1) sequences.push((first + 1 + bit) & 0xffff)
  }
  return sequences.slice(0, MAX_NACKED)
}

const readFirs = (body: Buffer): { ssrc: number; sequence: number }[] =>
  Array.from({ length: (body.length - 12) >> 3 }, (_, index) => ({
    ssrc: body.readUInt32BE(12 + index * 8),
    sequence: body.readUInt8(16 + index * 8),
  }))

function parseRemb(body: Buffer, senderSsrc: number): RtcpPacket | null {
  const ssrcs = readWords(body, 20, body.readUInt8(16))
  const exponent = body.readUInt8(17) >> 2
  const mantissa = body.readUIntBE(17, 3) & 0x3ffff
  return ssrcs === null ? null : { kind: 'remb', senderSsrc, bitrate: mantissa * 2 ** exponent, ssrcs }
}

/** `length` bytes, a multiple of 4, with their header; the rest is zero. */
function blank(type: number, count: number, length: number): Buffer {
  const packet = Buffer.alloc(length)
  packet[0] = 0x80 | count
  packet[1] = type
  packet.writeUInt16BE(length / 4 - 1, 2)
  return packet
}

/** At most 31 reports fit; more are left out. */
export function writeSenderReport(report: SenderReport, reports: readonly ReportBlock[] = []): Buffer {
  const blocks = reports.slice(0, 31)
  const packet = blank(SR, blocks.length, 28 + blocks.length * 24)
  const { ssrc, ntpSeconds, ntpFraction, rtpTimestamp, packetCount, octetCount } = report
  const words = [ssrc, ntpSeconds, ntpFraction, rtpTimestamp, packetCount, octetCount]
  for (const [index, word] of words.entries()) packet.writeUInt32BE(word >>> 0, 4 + index * 4)
  for (const [index, block] of blocks.entries()) writeReport(packet, 28 + index * 24, block)
  return packet
}

export function writeReceiverReport(ssrc: number, reports: readonly ReportBlock[] = []): Buffer {
  const blocks = reports.slice(0, 31)
  const packet = blank(RR, blocks.length, 8 + blocks.length * 24)
  packet.writeUInt32BE(ssrc >>> 0, 4)
  for (const [index, block] of blocks.entries()) writeReport(packet, 8 + index * 24, block)
  return packet
}

function writeReport(packet: Buffer, at: number, block: ReportBlock): void {
  packet.writeUInt32BE(block.ssrc >>> 0, at)
  packet.writeUInt8(block.fractionLost, at + 4)
  packet.writeIntBE(Math.max(-0x800000, Math.min(0x7fffff, block.packetsLost)), at + 5, 3)
  packet.writeUInt32BE(block.highestSequence >>> 0, at + 8)
  packet.writeUInt32BE(block.jitter >>> 0, at + 12)
  packet.writeUInt32BE(block.lastReport >>> 0, at + 16)
  packet.writeUInt32BE(block.delaySinceLastReport >>> 0, at + 20)
}

/** One chunk with a CNAME of at most 255 bytes. */
export function writeSdes(ssrc: number, cname: string): Buffer {
  const name = Buffer.from(cname).subarray(0, 255)
  // The chunk ends with at least one zero, on a word.
  const packet = blank(SDES, 1, 8 + ((2 + name.length + 4) & ~3))
  packet.writeUInt32BE(ssrc >>> 0, 4)
  packet[8] = CNAME
  packet[9] = name.length
  name.copy(packet, 10)
  return packet
}

export function writeBye(ssrcs: readonly number[]): Buffer {
  const some = ssrcs.slice(0, 31)
  const packet = blank(BYE, some.length, 4 + some.length * 4)
  for (const [index, ssrc] of some.entries()) packet.writeUInt32BE(ssrc >>> 0, 4 + index * 4)
  return packet
}

function feedback(type: number, format: number, senderSsrc: number, mediaSsrc: number, length: number): Buffer {
  const packet = blank(type, format, length)
  packet.writeUInt32BE(senderSsrc >>> 0, 4)
  packet.writeUInt32BE(mediaSsrc >>> 0, 8)
  return packet
}

/** A generic NACK (RFC 4585 section 6.2.1). `sequences`: in ascending order for the fewest words. */
export function writeNack(senderSsrc: number, mediaSsrc: number, sequences: readonly number[]): Buffer {
  const entries: { first: number; following: number }[] = []
  for (const sequence of sequences) {
    const entry = entries.at(-1)
    const ahead = entry === undefined ? 0 : (sequence - entry.first) & 0xffff
    if (entry !== undefined && ahead >= 1 && ahead <= 16) entry.following |= 1 << (ahead - 1)
    else if (entry === undefined || ahead !== 0) entries.push({ first: sequence, following: 0 })
  }
  const packet = feedback(RTPFB, NACK, senderSsrc, mediaSsrc, 12 + entries.length * 4)
  for (const [index, { first, following }] of entries.entries()) {
    packet.writeUInt16BE(first & 0xffff, 12 + index * 4)
    packet.writeUInt16BE(following, 14 + index * 4)
  }
  return packet
}

export const writePli = (senderSsrc: number, mediaSsrc: number): Buffer =>
  feedback(PSFB, PLI, senderSsrc, mediaSsrc, 12)

/** RFC 5104 section 4.3.1. `sequence` (0 to 255) grows with each new request. */
export function writeFir(senderSsrc: number, mediaSsrc: number, sequence: number): Buffer {
  const packet = feedback(PSFB, FIR, senderSsrc, 0, 20)
  packet.writeUInt32BE(mediaSsrc >>> 0, 12)
  packet[16] = sequence & 255
  return packet
}

/** `bitrate`: bits per second that the sender of `ssrcs` may use; rounded down to 18 significant bits. */
export function writeRemb(senderSsrc: number, bitrate: number, ssrcs: readonly number[]): Buffer {
  const some = ssrcs.slice(0, 255)
  let exponent = 0
  while (bitrate / 2 ** exponent > 0x3ffff && exponent < 63) exponent++
  const mantissa = Math.min(0x3ffff, Math.max(0, Math.floor(bitrate / 2 ** exponent)))
  const packet = feedback(PSFB, AFB, senderSsrc, 0, 20 + some.length * 4)
  packet.writeUInt32BE(REMB, 12)
  packet[16] = some.length
  packet.writeUIntBE((exponent << 18) | mantissa, 17, 3)
  for (const [index, ssrc] of some.entries()) packet.writeUInt32BE(ssrc >>> 0, 20 + index * 4)
  return packet
}
