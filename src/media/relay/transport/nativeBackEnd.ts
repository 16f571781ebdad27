import type { MasterKeys } from '../srtp/keys.ts'
import type { RtpOpener } from '../srtp/reader.ts'
import type { Addon } from './nativeAddon.ts'
import { NativeOpener, NativeSockets, NativeTransport } from './nativeTransport.ts'

/** The addon together with the sockets of this process. */
export class NativeBackEnd {
  readonly addon: Addon
  readonly #sockets: NativeSockets

  /** `descriptors`: those of a `NativeUdpPort`'s sockets. */
  constructor(addon: Addon, descriptors: readonly (number | undefined)[]) {
    this.addon = addon
    this.#sockets = new NativeSockets(addon, descriptors)
  }

  /** `master`: the keys of what we send. */
  createTransport(master: MasterKeys): NativeTransport {
    return new NativeTransport(this.addon, this.#sockets, master)
  }

  /** `master`: the keys of what the peer sends. */
  createOpener(master: MasterKeys): RtpOpener {
    return new NativeOpener(this.addon, master)
  }

  /** The sockets of the port have changed. */
  follow(descriptors: readonly (number | undefined)[]): void {
    this.#sockets.follow(descriptors)
  }

  close(): void {
    this.#sockets.close()
  }
}
