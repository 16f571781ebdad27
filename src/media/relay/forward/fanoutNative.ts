import { type Addon, MAX_PAYLOAD } from '../transport/nativeAddon.ts'
import { NativeOpener, NativeSockets, NativeTransport } from '../transport/nativeTransport.ts'
import type { MasterKeys } from '../srtp/keys.ts'
import type { RtpOpener } from '../srtp/reader.ts'
import { type Fanout, type FanoutTarget, headFor, type RtpSender } from './fanout.ts'
import type { MediaPacket } from './packet.ts'

/** Packets that wait before they are flushed. */
const MAX_QUEUE = 16

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

  createTransport(master: MasterKeys): NativeTransport {
    return new NativeTransport(this.#addon, this.#sockets, master)
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
  readonly #targets = new Map<FanoutTarget, NativeTransport | null>()
  /** Made with the first outlet and freed with the last, because nobody tells a track that it is over. */
  #list: number | null = null
  #isScheduled = false
  #waiting = 0

  constructor(addon: Addon) {
    this.#addon = addon
  }

  add(target: FanoutTarget): void {
    this.#flush()
    const transport = nativeOf(target.transport)
    this.#targets.set(target, transport)
    if (transport === null) return
    this.#list ??= this.#addon.addList()
    const { ssrc, payloadType, indexOffset, timestampOffset, firstIndex } = target
    this.#addon.addTarget(this.#list, transport.handle, ssrc, payloadType, indexOffset, timestampOffset, firstIndex)
  }

  remove(target: FanoutTarget): void {
    this.#flush()
    const transport = this.#targets.get(target) ?? null
    if (!this.#targets.delete(target) || this.#list === null) return
    if (transport !== null) this.#addon.removeTarget(this.#list, transport.handle, target.ssrc)
    if (this.#targets.size > 0) return
    this.#addon.removeList(this.#list)
    this.#list = null
  }

  send(packet: MediaPacket): void {
    const isQueued = this.#queue(packet)
    for (const [target, transport] of this.#targets) {
      if (packet.index < target.firstIndex) continue
      if (isQueued && transport?.isRouted === true) transport.count(packet.payload)
      else target.transport.sendRtp(headFor(target, packet), packet.payload)
      target.sent(packet)
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

const nativeOf = (transport: RtpSender): NativeTransport | null => transport.native ?? null
