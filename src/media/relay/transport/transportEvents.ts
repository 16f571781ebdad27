import type { RtcpPacket } from '../wire/rtcp/rtcp.ts'

/** What a transport reports to its session. */
export interface TransportEvents {
  /** DTLS is done: media may flow. */
  connected(): void
  /** Null: this peer sends no media. Media from it is dropped before decryption. */
  readonly rtp: ((packet: Buffer, index: number, nowMs: number) => void) | null
  rtcp(packets: readonly RtcpPacket[], nowMs: number): void
  /** The peer closed DTLS, or its certificate is not the one of its offer. */
  closed(): void
}

/** Before the first listener. */
export const NO_EVENTS: TransportEvents = {
  connected: () => undefined,
  rtp: null,
  rtcp: () => undefined,
  closed: () => undefined,
}
