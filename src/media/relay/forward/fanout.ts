import type { RtpHead } from '../srtp/writer.ts'
import type { RtpSender } from '../transport/rtpSender.ts'
import type { MediaPacket } from './packet.ts'

/** One outgoing stream of one viewer: how the header of a track's packets is rewritten for it. */
export interface FanoutTarget {
  readonly ssrc: number
  readonly payloadType: number
  /** Added to the index of a track's packet (`MediaPacket.index`). */
  readonly indexOffset: number
  /** Added to its timestamp, modulo 2^32. */
  readonly timestampOffset: number
  /** The viewer gets no packets before this index of the track: their places in its stream are taken. */
  readonly firstIndex: number
  /** Where its packets go. */
  readonly transport: RtpSender
  /** Its packets leave before those of the others: they go to another process, which sends them on. */
  readonly isFirst?: boolean
  /** Called for each packet that was sent. */
  sent(packet: MediaPacket): void
  /** Called when one could not be sent, by a fault of ours. The other targets get it. */
  failed(error: unknown): void
}

/** Sends each packet of one track to all its viewers. This is the hot path: everything else is per second or per join. */
export interface Fanout {
  /** Whether it has no targets. */
  readonly isEmpty: boolean
  add(target: FanoutTarget): void
  remove(target: FanoutTarget): void
  send(packet: MediaPacket): void
}

/** The RTP header of `packet` as the viewer of this target sees it. */
export const headFor = (target: FanoutTarget, packet: MediaPacket): RtpHead => ({
  payloadType: target.payloadType,
  marker: packet.marker,
  index: packet.index + target.indexOffset,
  timestamp: (packet.timestamp + target.timestampOffset) >>> 0,
  ssrc: target.ssrc,
})

/** Of the targets of a fan-out, those that come behind a new one. The others stay in front of it. */
export const laterThan = ({ isFirst = false }: FanoutTarget, targets: Iterable<FanoutTarget>): FanoutTarget[] =>
  isFirst ? [...targets] : []

/** The back end in JavaScript: seals and sends one datagram at a time. */
export function createJsFanout(): Fanout {
  const targets = new Set<FanoutTarget>()
  return {
    get isEmpty() {
      return targets.size === 0
    },
    add: (target) => {
      const later = laterThan(target, targets)
      for (const one of later) targets.delete(one)
      for (const one of [target, ...later]) targets.add(one)
    },
    remove: (target) => void targets.delete(target),
    send: (packet) => {
      for (const target of targets) {
        if (packet.index < target.firstIndex) continue
        try {
          target.transport.sendRtp(headFor(target, packet), packet.payload)
          target.sent(packet)
        } catch (error) {
          target.failed(error)
        }
      }
    },
  }
}
