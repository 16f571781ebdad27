import type { NtpTime } from '../ntp.ts'

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
  | { readonly kind: 'other'; readonly packetType: number }

/** At most 31 of anything are counted in the header of a packet. */
export const MAX_COUNT = 31

/** `count` words of 32 bits; null when the packet is too short. */
export function readWords(body: Buffer, start: number, count: number): number[] | null {
  if (body.length < start + count * 4) return null
  return Array.from({ length: count }, (_, index) => body.readUInt32BE(start + index * 4))
}

/** `length` bytes, a multiple of 4, with their header; the rest is zero. */
export function blank(type: number, count: number, length: number): Buffer {
  const packet = Buffer.alloc(length)
  packet[0] = 0x80 | count
  packet[1] = type
  packet.writeUInt16BE(length / 4 - 1, 2)
  return packet
}
