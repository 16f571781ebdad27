import type { JoinedFrame, VideoReader } from './codec.ts'

/** One RTP packet of a video track. `index`: its sequence number without wraps. */
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
 * How long a packet is waited for: by then the publisher was asked for it again and again. A small stream has ten packets
 * a second, so packets alone are no measure.
 */
const MAX_WAIT_MS = 1000
/** And how far packets come after one that is missing, half a second of a fast stream. */
const MAX_WAITING = 256
/** Payloads of one frame. */
const MAX_PAYLOADS = 4096

/**
 * Makes whole frames of packets in any order. After a loss nothing comes out until the next keyframe: what refers to
 * missing pictures is of no use to a recording.
 */
export class FrameAssembler {
  readonly #reader: VideoReader
  /** By index, with the time of arrival. */
  readonly #waiting = new Map<number, { readonly packet: VideoPacket; readonly atMs: number }>()
  #next: number | null = null
  #payloads: Buffer[] = []
  #timestamp = 0
  #needsKey = true

  constructor(reader: VideoReader) {
    this.#reader = reader
  }

  /** Something was lost: a keyframe would help, and nothing else does. */
  get needsKeyframe(): boolean {
    return this.#needsKey
  }

  /**
   * Takes a packet, and gives back the frames that are complete now, in order; most often none or one.
   * @param nowMs of a clock that does not step back
   */
  push(packet: VideoPacket, nowMs: number): AssembledFrame[] {
    this.#next ??= packet.index
    if (packet.index < this.#next) return []
    this.#waiting.set(packet.index, { packet, atMs: nowMs })
    const frames = this.#drain()
    while (this.#isLost(packet.index, nowMs)) frames.push(...this.#skipGap())
    return frames
  }

  /** Whether the packet that is missing in front counts as lost. */
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

  /** The next packet in order. Packets without payload are padding. */
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
