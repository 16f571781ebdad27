import type { MasterKeys } from '../srtp/keys.ts'
import { type OpenedRtp, type RtpOpener, SrtpReader } from '../srtp/reader.ts'
import { type RtpHead, SrtpWriter } from '../srtp/writer.ts'
import type { NativeBackEnd } from './nativeBackEnd.ts'
import type { NativeTransport } from './nativeTransport.ts'

/** The SRTP keys of one transport in both directions, here and in the native back end. */
export class SrtpSession {
  /** The same transport in the native back end; null where that is not used. */
  readonly native: NativeTransport | null
  readonly #opener: RtpOpener | null
  readonly #reader: SrtpReader
  readonly #writer: SrtpWriter

  /** `inbound`: the keys of the peer; `outbound`: our own. */
  constructor(inbound: MasterKeys, outbound: MasterKeys, backEnd: NativeBackEnd | null) {
    this.native = backEnd?.createTransport(outbound) ?? null
    this.#opener = backEnd?.createOpener(inbound) ?? null
    this.#reader = new SrtpReader(inbound, this.#opener)
    this.#writer = new SrtpWriter(outbound)
  }

  /** See `SrtpReader.rtp`. */
  openRtp(sealed: Buffer): OpenedRtp | undefined {
    return this.#reader.rtp(sealed)
  }

  /** See `SrtpReader.unsealRtp`. */
  unsealRtp(sealed: Buffer): number | null {
    return this.#reader.unsealRtp(sealed)
  }

  /** See `SrtpReader.rtcp`. */
  openRtcp(sealed: Buffer): Buffer | undefined {
    return this.#reader.rtcp(sealed)
  }

  sealRtp(head: RtpHead, payload: Buffer): Buffer {
    return this.#writer.rtp(head, payload)
  }

  sealRtcp(compound: Buffer): Buffer {
    return this.#writer.rtcp(compound)
  }

  /** Frees the keys in the native back end. */
  close(): void {
    this.native?.close()
    this.#opener?.close()
  }
}
