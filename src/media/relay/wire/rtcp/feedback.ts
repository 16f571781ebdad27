import { blank, readWords, type RtcpPacket } from './packet.ts'

/** Feedback: NACK and PLI (RFC 4585), FIR (RFC 5104), REMB (draft-alvestrand-rmcat-remb-03). */

export const RTPFB = 205
export const PSFB = 206
const NACK = 1
const PLI = 1
const FIR = 4
const AFB = 15
/** `REMB` in ASCII. */
const REMB = 0x52454d42
/** Sequence numbers in one NACK: as many as browsers keep in their lists of missing packets. */
const MAX_NACKED = 1000

export function parseFeedback(body: Buffer, type: number, format: number): RtcpPacket | null {
  if (body.length < 12) return null
  const senderSsrc = body.readUInt32BE(4)
  const mediaSsrc = body.readUInt32BE(8)
  if (type === RTPFB && format === NACK) return { kind: 'nack', senderSsrc, mediaSsrc, sequences: readNacks(body) }
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

/** A message of this type and format about `mediaSsrc`, of `length` bytes, a multiple of 4; the rest is zero. */
export function feedback(type: number, format: number, senderSsrc: number, mediaSsrc: number, length: number): Buffer {
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
