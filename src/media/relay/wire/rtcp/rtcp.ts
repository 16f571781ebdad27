import { parseFeedback, PSFB, RTPFB } from './feedback.ts'
import type { RtcpPacket } from './packet.ts'
import { parseReceiverReport, parseSenderReport, RR, SR } from './reports.ts'
import { BYE, parseBye, parseSdes, SDES } from './sources.ts'

export { writeFir, writeNack, writePli, writeRemb } from './feedback.ts'
export type { ReportBlock, RtcpPacket, SenderReport } from './packet.ts'
export { writeReceiverReport, writeSenderReport } from './reports.ts'
export { writeBye, writeSdes } from './sources.ts'

/** RTCP: RFC 3550 section 6. Reduced-size compounds (RFC 5506) are read as well. */

/** More than a datagram holds. */
const MAX_PACKETS = 64

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
  if (type === RTPFB || type === PSFB) return parseFeedback(body, type, count)
  return { kind: 'other', packetType: type }
}

/** The packet without its padding; null when the padding is longer than the packet. */
function withoutPadding(whole: Buffer): Buffer | null {
  if ((whole.readUInt8(0) & 0x20) === 0) return whole
  const padding = whole.readUInt8(whole.length - 1)
  return padding === 0 || padding > whole.length - 4 ? null : whole.subarray(0, whole.length - padding)
}
