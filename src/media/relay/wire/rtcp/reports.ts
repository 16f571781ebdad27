import { blank, MAX_COUNT, type ReportBlock, type RtcpPacket, type SenderReport } from './packet.ts'

/** Sender and receiver reports (RFC 3550 sections 6.4.1 and 6.4.2). */

export const SR = 200
export const RR = 201

export function parseSenderReport(body: Buffer, count: number): RtcpPacket | null {
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

export function parseReceiverReport(body: Buffer, count: number): RtcpPacket | null {
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

/** At most 31 reports fit; more are left out. */
export function writeSenderReport(report: SenderReport, reports: readonly ReportBlock[] = []): Buffer {
  const blocks = reports.slice(0, MAX_COUNT)
  const packet = blank(SR, blocks.length, 28 + blocks.length * 24)
  const { ssrc, ntpSeconds, ntpFraction, rtpTimestamp, packetCount, octetCount } = report
  const words = [ssrc, ntpSeconds, ntpFraction, rtpTimestamp, packetCount, octetCount]
  for (const [index, word] of words.entries()) packet.writeUInt32BE(word >>> 0, 4 + index * 4)
  for (const [index, block] of blocks.entries()) writeReport(packet, 28 + index * 24, block)
  return packet
}

export function writeReceiverReport(ssrc: number, reports: readonly ReportBlock[] = []): Buffer {
  const blocks = reports.slice(0, MAX_COUNT)
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
