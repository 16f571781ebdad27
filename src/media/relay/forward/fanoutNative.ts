import { LaterFault } from '../../../base/walls.ts'
import { type Addon, MAX_PAYLOAD } from '../transport/nativeAddon.ts'
import type { NativeTransport } from '../transport/nativeTransport.ts'
import type { RtpSender } from '../transport/rtpSender.ts'
import { createJsFanout, type Fanout, type FanoutTarget, headFor, laterThan } from './fanout.ts'
import type { MediaPacket } from './packet.ts'

/** A flush happens when this many packets wait. */
const MAX_QUEUE = 16

/**
 * The fan-out in C. It sends the packets of one wake-up together at its end, so that the packets of one frame share a
 * system call. That takes less than a millisecond.
 */
export class NativeFanout implements Fanout {
  readonly #addon: Addon
  /** With the native transport of each target. A target has it from its first packet on, or never. */
  readonly #targets = new Map<FanoutTarget, NativeTransport | null>()
  /** Made with the first target and freed with the last, because a track has no end of its own. */
  #list: number | null = null
  /** At the end of a wake-up, and so outside of the work for a publisher. */
  readonly #fault = new LaterFault()
  #isScheduled = false
  #waiting = 0

  constructor(addon: Addon) {
    this.#addon = addon
  }

  get isEmpty(): boolean {
    return this.#targets.size === 0
  }

  add(target: FanoutTarget): void {
    this.#flush()
    const later = laterThan(target, this.#targets.keys())
    for (const one of later) this.#take(one)
    for (const one of [target, ...later]) this.#put(one)
  }

  remove(target: FanoutTarget): void {
    this.#flush()
    if (!this.#take(target) || this.#list === null || this.#targets.size > 0) return
    this.#addon.removeList(this.#list)
    this.#list = null
  }

  #put(target: FanoutTarget): void {
    const transport = nativeOf(target.transport)
    this.#targets.set(target, transport)
    if (transport === null) return
    this.#list ??= this.#addon.addList()
    const { ssrc, payloadType, indexOffset, timestampOffset, firstIndex } = target
    this.#addon.addTarget(this.#list, transport.handle, ssrc, payloadType, indexOffset, timestampOffset, firstIndex)
  }

  /** False: it is none of them. */
  #take(target: FanoutTarget): boolean {
    const transport = this.#targets.get(target) ?? null
    if (transport !== null && this.#list !== null) this.#addon.removeTarget(this.#list, transport.handle, target.ssrc)
    return this.#targets.delete(target)
  }

  /** @throws what went wrong when earlier packets were sent */
  send(packet: MediaPacket): void {
    this.#fault.raise()
    const isQueued = this.#queue(packet)
    for (const [target, transport] of this.#targets) {
      if (packet.index < target.firstIndex) continue
      try {
        if (isQueued && transport?.isRouted === true) transport.count(packet.payload)
        else target.transport.sendRtp(headFor(target, packet), packet.payload)
        target.sent(packet)
      } catch (error) {
        target.failed(error)
      }
    }
  }

  /** False: JavaScript has to serve all targets. */
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
      this.#fault.during(() => this.#flush())
    })
  }

  #flush(): void {
    if (this.#waiting === 0 || this.#list === null) return
    this.#waiting = 0
    this.#addon.flush(this.#list)
  }
}

const nativeOf = (transport: RtpSender): NativeTransport | null => transport.native ?? null

/** Makes fan-outs in C with the addon, or in JavaScript without one. */
export const fanoutsOf =
  (addon: Addon | null): (() => Fanout) =>
  () =>
    addon === null ? createJsFanout() : new NativeFanout(addon)
