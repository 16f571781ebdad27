import type { NativePeer } from './fanoutNative.ts'
import type { MediaPacket } from './packet.ts'
import type { RtpHead } from './srtp/writer.ts'

/** One stream to one viewer: what is put in front of a source's packets before they are sealed for it. */
export interface Outlet {
  readonly ssrc: number
  readonly payloadType: number
  /** Added to the index of a source's packet (`MediaPacket.index`). */
  readonly indexOffset: number
  /** Added to its timestamp, modulo 2^32. */
  readonly timestampOffset: number
  /** Packets before this index of the track are not for this viewer: their places in its stream are taken. */
  readonly firstIndex: number
  /** Where its packets go. */
  readonly peer: RtpSender
  /** Called for each packet that left. */
  sent(packet: MediaPacket): void
}

/** Seals and sends one packet to one peer; never waits, and drops what does not fit. */
export interface RtpSender {
  sendRtp(head: RtpHead, payload: Buffer): void
  /** The same peer as the back end in C knows it; null or left out where that is not used. */
  readonly native?: NativePeer | null
}

/** Sends each packet of one track to all its viewers. The hot path of the relay: everything else is per second or per join. */
export interface Fanout {
  add(outlet: Outlet): void
  remove(outlet: Outlet): void
  send(packet: MediaPacket): void
}

/** The head of `packet` as this outlet's viewer sees it. */
export const headFor = (outlet: Outlet, packet: MediaPacket): RtpHead => ({
  payloadType: outlet.payloadType,
  marker: packet.marker,
  index: packet.index + outlet.indexOffset,
  timestamp: (packet.timestamp + outlet.timestampOffset) >>> 0,
  ssrc: outlet.ssrc,
})

/** The back end in plain JavaScript: one seal and one datagram at a time. */
export function createJsFanout(): Fanout {
  const outlets = new Set<Outlet>()
  return {
    add: (outlet) => void outlets.add(outlet),
    remove: (outlet) => void outlets.delete(outlet),
    send: (packet) => {
      for (const outlet of outlets) {
        if (packet.index < outlet.firstIndex) continue
        outlet.peer.sendRtp(headFor(outlet, packet), packet.payload)
        outlet.sent(packet)
      }
    },
  }
}
