import type { RtpHead } from '../srtp/writer.ts'
import type { NativeTransport } from './nativeTransport.ts'

/** Seals and sends one packet to one peer. It never waits, and drops what does not fit. */
export interface RtpSender {
  sendRtp(head: RtpHead, payload: Buffer): void
  /** The same transport in the native back end. Null or left out where that is not used. */
  readonly native?: NativeTransport | null
}
