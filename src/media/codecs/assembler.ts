import type { JoinedFrame, VideoReader } from './codec.ts'

/** One RTP packet of a video track. `index`: its extended sequence number (RFC 3550 appendix A.1). */
export interface VideoPacket {
  readonly index: number
  readonly timestamp: number
  readonly marker: boolean
  readonly payload: Buffer
}

export interface AssembledFrame extends JoinedFrame {
  readonly timestamp: number
}

/**
 * How long the assembler waits for a missing packet: by then several NACKs went unanswered. A low-bitrate stream has ten
 * packets a second, so a count of packets alone is not enough.
 */
const MAX_WAIT_MS = 1000
/** A packet is also lost when one arrives this far after it: half a second of a high-bitrate stream. */
const MAX_WAITING = 256
/** The most payloads in one frame. */
const MAX_PAYLOADS = 4096

/**
 * Assembles frames from packets in any order. After a loss it drops everything up to the next keyframe: a recording
 * cannot use frames whose reference frames are missing.
 */
export class FrameAssembler {
  readonly #reader: VideoReader
  /** Packets that wait for an earlier one, by index, with their time of arrival. */
  readonly #waiting = new Map<number, { readonly packet: VideoPacket; readonly atMs: number }>()
  #next: number | null = null
  #payloads: Buffer[] = []
  #timestamp = 0
  #needsKey = true

  constructor(reader: VideoReader) {
    this.#reader = reader
  }

  /** True after a loss, and before the first keyframe: no frame comes out until a keyframe arrives. */
  get needsKeyframe(): boolean {
    return this.#needsKey
  }

  /**
   * Takes a packet and returns the frames that it completes, in order; usually none or one.
   * @param nowMs monotonic time
   */
  push(packet: VideoPacket, nowMs: number): AssembledFrame[] {
    this.#next ??= packet.index
    if (packet.index < this.#next) return []
    this.#waiting.set(packet.index, { packet, atMs: nowMs })
    const frames = this.#drain()
    while (this.#isLost(packet.index, nowMs)) frames.push(...this.#skipGap())
    return frames
  }

  /** Whether the next packet in order counts as lost. */
  #isLost(latest: number, nowMs: number): boolean {
    if (this.#next === null || this.#waiting.size === 0) return false
    if (latest - this.#next >= MAX_WAITING) return true
    const first = this.#waiting.get(this.#firstWaiting())
    return first !== undefined && nowMs - first.atMs >= MAX_WAIT_MS
  }

  #firstWaiting(): number {
    return Math.min(...this.#waiting.keys())
  }

  #skipGap(): AssembledFrame[] {
    this.#next = this.#firstWaiting()
    this.#lose()
    return this.#drain()
  }

  #lose(): void {
    this.#payloads = []
    this.#needsKey = true
  }

  #drain(): AssembledFrame[] {
    const frames: AssembledFrame[] = []
    for (;;) {
      const packet = this.#next === null ? undefined : this.#waiting.get(this.#next)?.packet
      if (packet === undefined) return frames
      this.#waiting.delete(packet.index)
      this.#next = packet.index + 1
      frames.push(...this.#take(packet))
    }
  }

  /** Takes the next packet in order. Packets without payload are padding. */
  #take(packet: VideoPacket): AssembledFrame[] {
    if (packet.payload.length === 0) return []
    const frames = this.#payloads.length > 0 && packet.timestamp !== this.#timestamp ? this.#finish() : []
    if (this.#payloads.length === 0) {
      if (this.#needsKey && !this.#reader.isKeyStart(packet.payload)) return frames
      this.#timestamp = packet.timestamp
    }
    if (this.#payloads.length === MAX_PAYLOADS) this.#lose()
    else this.#payloads.push(packet.payload)
    return packet.marker ? [...frames, ...this.#finish()] : frames
  }

  #finish(): AssembledFrame[] {
    const frame = this.#reader.join(this.#payloads)
    this.#payloads = []
    if (frame === null || (this.#needsKey && !frame.key)) {
      this.#needsKey = true
      return []
    }
    this.#needsKey = false
    return [{ ...frame, timestamp: this.#timestamp }]
  }
}
