import { isIPv4 } from 'node:net'
import type { MasterKeys } from '../srtp/keys.ts'
import type { RtpOpener } from '../srtp/reader.ts'
import { addressBytes } from '../wire/address.ts'
import { type Addon, addTransport, HEADER } from './nativeAddon.ts'
import type { Endpoint } from './socket.ts'

/** The sockets of the relay, as the addon knows them. */
export class NativeSockets {
  readonly #addon: Addon
  /** By the index of their address; 0 where the addon has none, and where there is no socket. */
  readonly #descriptors: number[] = []

  constructor(addon: Addon, descriptors: readonly (number | undefined)[]) {
    this.#addon = addon
    this.follow(descriptors)
  }

  /** Adopts the sockets that are new, and closes its own of those that were closed. */
  follow(descriptors: readonly (number | undefined)[]): void {
    for (const [via, fd] of descriptors.entries()) {
      const adopted = this.#descriptors[via] ?? 0
      if (adopted === 0) this.#descriptors[via] = fd === undefined ? 0 : this.#addon.adoptSocket(fd)
      else if (fd === undefined) {
        this.#addon.closeSocket(adopted)
        this.#descriptors[via] = 0
      }
    }
  }

  /** How the addon reaches an address; null if it cannot. */
  reach({ address, port, via }: Endpoint): { readonly fd: number; readonly bytes: Buffer } | null {
    const [fd, bytes] = [this.#descriptors[via] ?? 0, bytesOf(address)]
    return fd === 0 || bytes === null || port === 0 ? null : { fd, bytes }
  }

  close(): void {
    for (const fd of this.#descriptors.splice(0)) if (fd !== 0) this.#addon.closeSocket(fd)
  }
}

/** Null for addresses with a zone, which the addon does not know, and those that are mapped. */
function bytesOf(address: string): Buffer | null {
  const bytes = address.includes('%') ? null : addressBytes(address)
  return bytes !== null && (bytes.length === 4) === isIPv4(address) ? bytes : null
}

const NOWHERE = Buffer.alloc(4)

/** A transport as the addon knows it (`RtpSender.native`). `close` it with its transport. */
export class NativeTransport {
  readonly handle: number
  readonly #addon: Addon
  readonly #sockets: NativeSockets
  readonly #overhead: number
  #isRouted = false
  #isClosed = false
  #bytesOut = 0

  /** `master`: the keys of what we send. */
  constructor(addon: Addon, sockets: NativeSockets, master: MasterKeys) {
    this.#addon = addon
    this.#sockets = sockets
    this.#overhead = HEADER + master.profile.tagBytes
    this.handle = addTransport(addon, master)
  }

  /** False: its packets go by `sendRtp`. */
  get isRouted(): boolean {
    return this.#isRouted
  }

  /** Bytes sent by the addon. */
  get bytesOut(): number {
    return this.#bytesOut
  }

  count(payload: Buffer): void {
    this.#bytesOut += this.#overhead + payload.length
  }

  /** Sends to this address from now on. If it is null or the addon cannot reach it, packets go by `sendRtp`. */
  route(to: Endpoint | null): void {
    if (this.#isClosed) return
    const reached = to === null ? null : this.#sockets.reach(to)
    this.#isRouted = reached !== null
    this.#addon.route(this.handle, reached?.fd ?? 0, reached?.bytes ?? NOWHERE, to?.port ?? 0)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#isRouted = false
    this.#addon.removeTransport(this.handle)
  }
}

/** Decrypts the packets of one peer. `close` it with its transport. */
export class NativeOpener implements RtpOpener {
  readonly #addon: Addon
  readonly #handle: number
  #isClosed = false

  constructor(addon: Addon, master: MasterKeys) {
    this.#addon = addon
    this.#handle = addTransport(addon, master)
  }

  open(sealed: Buffer, clear: number, ssrc: number, index: number): boolean {
    return !this.#isClosed && this.#addon.open(this.#handle, sealed, clear, ssrc, index)
  }

  close(): void {
    if (!this.#isClosed) this.#addon.removeTransport(this.#handle)
    this.#isClosed = true
  }
}
