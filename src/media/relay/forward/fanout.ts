import type { NativeTransport } from '../transport/nativeTransport.ts'
import type { MediaPacket } from './packet.ts'
import type { RtpHead } from '../srtp/writer.ts'

/** One stream to one viewer: what is put in front of a source's packets before they are sealed for it. */
export interface FanoutTarget {
  readonly ssrc: number
  readonly payloadType: number
  /** Added to the index of a source's packet (`MediaPacket.index`). */
  readonly indexOffset: number
  /** Added to its timestamp, modulo 2^32. */
  readonly timestampOffset: number
  /** Packets before this index of the track are not for this viewer: their places in its stream are taken. */
  readonly firstIndex: number
  /** Where its packets go. */
  readonly transport: RtpSender
  /** Called for each packet that left. */
  sent(packet: MediaPacket): void
}

/** Seals and sends one packet to one peer; never waits, and drops what does not fit. */
export interface RtpSender {
  sendRtp(head: RtpHead, payload: Buffer): void
  /** The same peer as the back end in C knows it; null or left out where that is not used. */
  readonly native?: NativeTransport | null
}

/** Sends each packet of one track to all its viewers. The hot path of the relay: everything else is per second or per join. */
export interface Fanout {
  add(target: FanoutTarget): void
  remove(target: FanoutTarget): void
  send(packet: MediaPacket): void
}

/** The head of `packet` as this outlet's viewer sees it. */
export const headFor = (target: FanoutTarget, packet: MediaPacket): RtpHead => ({
  payloadType: target.payloadType,
  marker: packet.marker,
  index: packet.index + target.indexOffset,
  timestamp: (packet.timestamp + target.timestampOffset) >>> 0,
  ssrc: target.ssrc,
})

/** The back end in plain JavaScript: one seal and one datagram at a time. */
export function createJsFanout(): Fanout {
  const targets = new Set<FanoutTarget>()
  return {
    add: (target) => void targets.add(target),
    remove: (target) => void targets.delete(target),
    send: (packet) => {
      for (const target of targets) {
        if (packet.index < target.firstIndex) continue
        target.transport.sendRtp(headFor(target, packet), packet.payload)
        target.sent(packet)
      }
    },
  }
}
