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

/** How far packets come after one that is missing, half a second of a fast stream, before it counts as lost. */
const MAX_WAITING = 256
/** Payloads of one frame. */
const MAX_PAYLOADS = 4096

/**
 * Makes whole frames of packets in any order. After a loss nothing comes out until the next keyframe: what refers to
 * missing pictures is of no use to a recording.
 */
export class FrameAssembler {
  readonly #reader: VideoReader
  readonly #waiting = new Map<number, VideoPacket>()
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

  /** Takes a packet, and gives back the frames that are complete now, in order; most often none or one. */
  push(packet: VideoPacket): AssembledFrame[] {
    this.#next ??= packet.index
    if (packet.index < this.#next) return []
    this.#waiting.set(packet.index, packet)
    if (packet.index - this.#next >= MAX_WAITING && !this.#waiting.has(this.#next)) this.#skipGap()
    return this.#drain()
  }

  #skipGap(): void {
    this.#next = Math.min(...this.#waiting.keys())
    this.#lose()
  }

  #lose(): void {
    this.#payloads = []
    this.#needsKey = true
  }

  #drain(): AssembledFrame[] {
    const frames: AssembledFrame[] = []
    for (;;) {
      const packet = this.#next === null ? undefined : this.#waiting.get(this.#next)
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
