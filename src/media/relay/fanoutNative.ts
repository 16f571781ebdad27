import { isIPv4 } from 'node:net'
import { loadAddon } from '../../base/addon.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { Fanout, Outlet, RtpSender } from './fanout.ts'
import { headFor } from './fanout.ts'
import type { MediaPacket } from './packet.ts'
import type { Endpoint } from './socket.ts'
import { deriveKeys, type MasterKeys, PROFILES } from './srtp/keys.ts'
import type { RtpOpener } from './srtp/reader.ts'
import { type RtpHead, SrtpWriter } from './srtp/writer.ts'
import { carriesAlike, type UdpAddon } from './udpNative.ts'
import { addressBytes } from './wire/address.ts'

/** What native/fanout.c exports. Handles are numbers; a wrong argument makes it throw a TypeError. */
export interface Addon {
  addTarget(profile: number, key: Buffer, salt: Buffer, authentication: Buffer): number
  /** `fd` out of `adoptSocket`, 0 for nowhere. `address`: 4 bytes for IPv4 sockets, 16 for IPv6. */
  route(target: number, fd: number, address: Buffer, port: number): void
  removeTarget(target: number): void
  addList(): number
  removeList(list: number): void
  addOutlet(
    list: number,
    target: number,
    ssrc: number,
    payloadType: number,
    indexOffset: number,
    timestampOffset: number,
    firstIndex: number,
  ): void
  removeOutlet(list: number, target: number, ssrc: number): void
  /** Returns how many packets wait; at 16 they must be flushed. */
  queue(list: number, payload: Buffer, index: number, timestamp: number, marker: boolean): number
  /** Returns how many packets the kernel took. */
  flush(list: number): number
  seal(
    target: number,
    payloadType: number,
    marker: boolean,
    index: number,
    timestamp: number,
    ssrc: number,
    payload: Buffer,
  ): Buffer
  /** Whether it is genuine; what follows its `clear` bytes is decrypted in place then, and worthless otherwise. */
  open(target: number, sealed: Buffer, clear: number, ssrc: number, index: number): boolean
  /** A descriptor of its own for a datagram socket of this process; 0 when it is none. */
  adoptSocket(fd: number): number
  closeSocket(fd: number): void
  /** Whether the packets of a run leave for this target as one message, which the kernel cuts. */
  segments(target: number): boolean
}

const MAX_QUEUE = 16
const MAX_PAYLOAD = 1460
/** Bytes in front of a payload. */
const HEADER = 12

/** The addons: one carries datagrams, the other seals and opens what is in them. */
export interface Addons {
  readonly fanout: Addon
  readonly udp: UdpAddon
}

/**
 * Loads the addons where there are some and proves them: what they seal must be what we seal, byte for byte, what they open what we open,
 * and what they send must come. Otherwise the reason, in a sentence for the log; JavaScript does all of it then.
 */
export function loadNative(folder?: string): Result<Addons, string> {
  const fanout = loadAddon('fanout', folder) as Partial<Addon> | null
  const udp = loadAddon('udp', folder) as UdpAddon | null
  if (fanout === null || udp === null) return err('The native fan-out is not built, or does not fit this Node.')
  return isWhole(fanout) && sealsAlike(fanout) && carriesAlike(udp)
    ? ok({ fanout, udp })
    : err('The native fan-out does not do as it should; it is not used.')
}

/** Of this version: one that was built before can lack what came last. */
const isWhole = (addon: Partial<Addon>): addon is Addon => addon.segments !== undefined

/** The profiles, sizes and indexes at which an implementation could go wrong. */
export function sealsAlike(addon: Addon): boolean {
  return PROFILES.every((profile) => {
    const master = { profile, key: Buffer.alloc(profile.keyBytes, 0x5a), salt: Buffer.alloc(profile.saltBytes, 0xc3) }
    const writer = new SrtpWriter(master)
    const target = addTarget(addon, master)
    const areAlike = samples().every(({ head, payload }) => {
      const { payloadType, marker, index, timestamp, ssrc } = head
      const sealed = writer.rtp(head, payload)
      if (!sealed.equals(addon.seal(target, payloadType, marker, index, timestamp, ssrc, payload))) return false
      return opensAlike(addon, target, sealed, { head, payload })
    })
    addon.removeTarget(target)
    return areAlike
  })
}

/** Whether a packet opens, and not when a bit of it is another. */
function opensAlike(addon: Addon, target: number, sealed: Buffer, { head, payload }: Sample): boolean {
  const forged = Buffer.from(sealed)
  const at = forged.length - 1 - (head.index % forged.length)
  forged[at] = (forged[at] ?? 0) ^ 1
  if (addon.open(target, forged, HEADER, head.ssrc, head.index)) return false
  const whole = addon.open(target, sealed, HEADER, head.ssrc, head.index)
  return whole && sealed.subarray(HEADER, HEADER + payload.length).equals(payload)
}

interface Sample {
  readonly head: RtpHead
  readonly payload: Buffer
}

function samples(): Sample[] {
  const sizes = [0, 1, 15, 16, 17, 255, 1200, MAX_PAYLOAD]
  const indexes = [0, 1, 0xffff, 0x10000, 0x7fff_ffff, 2 ** 32 + 7, 2 ** 40 + 0xffff]
  return sizes.flatMap((size, at) =>
    indexes.map((index) => ({
      head: { payloadType: 96 + at, marker: at % 2 === 0, index, timestamp: 0xffff_ff00 + at, ssrc: 0x8000_0001 + at },
      payload: Buffer.from(Array.from({ length: size }, (_, byte) => byte * 7 + at)),
    })),
  )
}

function addTarget(addon: Addon, master: MasterKeys): number {
  const { profile, encryption, authentication, salt } = deriveKeys(master, 'rtp')
  return addon.addTarget(profile.id, encryption.export(), salt, authentication.export())
}

/** The sockets of the relay as the addon reaches them. */
class NativeSockets {
  readonly #addon: Addon
  /** By the place of their address; 0 where the addon has none. */
  readonly #descriptors: number[]

  constructor(addon: Addon, descriptors: readonly number[]) {
    this.#addon = addon
    this.#descriptors = descriptors.map((fd) => addon.adoptSocket(fd))
  }

  /** How the addon reaches a peer; null when it does not. */
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

/** A peer as the addon knows it. It is `RtpSender.native`; `close` it when the peer is gone. */
export class NativePeer {
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
    this.handle = addTarget(addon, master)
  }

  /** False: its packets go through `sendRtp`. */
  get isRouted(): boolean {
    return this.#isRouted
  }

  /** What went to it through the addon. */
  get bytesOut(): number {
    return this.#bytesOut
  }

  count(payload: Buffer): void {
    this.#bytesOut += this.#overhead + payload.length
  }

  /** Sends to there from now on. Null, or what the addon cannot reach, leaves it to `sendRtp`. */
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
    this.#addon.removeTarget(this.handle)
  }
}

/** Opens what one peer sends. `close` it when the peer is gone. */
class NativeOpener implements RtpOpener {
  readonly #addon: Addon
  readonly #handle: number
  #isClosed = false

  constructor(addon: Addon, master: MasterKeys) {
    this.#addon = addon
    this.#handle = addTarget(addon, master)
  }

  open(sealed: Buffer, clear: number, ssrc: number, index: number): boolean {
    return !this.#isClosed && this.#addon.open(this.#handle, sealed, clear, ssrc, index)
  }

  close(): void {
    if (!this.#isClosed) this.#addon.removeTarget(this.#handle)
    this.#isClosed = true
  }
}

/** The addon together with the sockets of this process. */
export class NativeBackEnd {
  readonly #addon: Addon
  readonly #sockets: NativeSockets

  /** `descriptors`: of the sockets of a `NativeUdpPort`. */
  constructor(addon: Addon, descriptors: readonly number[]) {
    this.#addon = addon
    this.#sockets = new NativeSockets(addon, descriptors)
  }

  createFanout(): Fanout {
    return new NativeFanout(this.#addon)
  }

  createPeer(master: MasterKeys): NativePeer {
    return new NativePeer(this.#addon, this.#sockets, master)
  }

  /** `master`: the keys of what the peer sends. */
  createOpener(master: MasterKeys): RtpOpener {
    return new NativeOpener(this.#addon, master)
  }

  close(): void {
    this.#sockets.close()
  }
}

/**
 * The back end in C. The packets that come with one wake-up are sent together at its end, so that those of one frame
 * share a system call; it takes less than a millisecond.
 */
class NativeFanout implements Fanout {
  readonly #addon: Addon
  /** With the peer of each as the addon knows it, which it has from its first packet on or never. */
  readonly #outlets = new Map<Outlet, NativePeer | null>()
  /** Made with the first outlet and freed with the last, because nobody tells a track that it is over. */
  #list: number | null = null
  #isScheduled = false
  #waiting = 0

  constructor(addon: Addon) {
    this.#addon = addon
  }

  add(outlet: Outlet): void {
    this.#flush()
    const peer = nativeOf(outlet.peer)
    this.#outlets.set(outlet, peer)
    if (peer === null) return
    this.#list ??= this.#addon.addList()
    const { ssrc, payloadType, indexOffset, timestampOffset, firstIndex } = outlet
    this.#addon.addOutlet(this.#list, peer.handle, ssrc, payloadType, indexOffset, timestampOffset, firstIndex)
  }

  remove(outlet: Outlet): void {
    this.#flush()
    const peer = this.#outlets.get(outlet) ?? null
    if (!this.#outlets.delete(outlet) || this.#list === null) return
    if (peer !== null) this.#addon.removeOutlet(this.#list, peer.handle, outlet.ssrc)
    if (this.#outlets.size > 0) return
    this.#addon.removeList(this.#list)
    this.#list = null
  }

  send(packet: MediaPacket): void {
    const isQueued = this.#queue(packet)
    for (const [outlet, peer] of this.#outlets) {
      if (packet.index < outlet.firstIndex) continue
      if (isQueued && peer?.isRouted === true) peer.count(packet.payload)
      else outlet.peer.sendRtp(headFor(outlet, packet), packet.payload)
      outlet.sent(packet)
    }
  }

  /** False when all of its outlets must be served without the addon. */
  #queue({ payload, index, timestamp, marker }: MediaPacket): boolean {
    if (this.#list === null || payload.length > MAX_PAYLOAD) return false
    this.#waiting = this.#addon.queue(this.#list, payload, index, timestamp, marker)
    if (this.#waiting === MAX_QUEUE) this.#flush()
    else this.#schedule()
    return true
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#waiting === 0 || this.#list === null) return
    this.#waiting = 0
    this.#addon.flush(this.#list)
  }
}

const nativeOf = (peer: RtpSender): NativePeer | null => peer.native ?? null
