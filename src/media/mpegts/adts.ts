import { type AacFormat, layoutIn, readAacConfig } from '../codecs/aac.ts'

/** A raw frame of AAC, and what a decoder needs. */
export interface AdtsFrame extends AacFormat {
  /** AudioSpecificConfig; null: the layout of its channels has not come yet. */
  readonly config: Buffer | null
  /** Ticks of 90 kHz since the beginning of the frame that the latest time belongs to; 0 for that frame. */
  readonly offsetTicks: number
  /** Presentation time of that frame, as it was given; null: none came yet. */
  readonly time: number | null
  readonly data: Buffer
}

const SAMPLES = 1024
const TICKS_PER_SECOND = 90_000
const HEAD_BYTES = 7
const NONE = Buffer.alloc(0)
/** Of one PES packet: many seconds of audio. Frames of a byte cost as much as others, and a packet has room for eight thousand. */
export const MAX_FRAMES = 1024

/** Splits ADTS (ISO/IEC 13818-7 section 6.2) into frames, which may begin in one PES packet and end in the next. */
export class AdtsReader {
  #pending = NONE
  #time: number | null = null
  #offsetTicks = 0
  /** Of channels that have their own. */
  #layout: Buffer | null = null

  /** @param time of the first frame that begins in `data`; null: none */
  push(data: Buffer, time: number | null): AdtsFrame[] {
    const bytes = this.#pending.length === 0 ? data : Buffer.concat([this.#pending, data])
    const begin = bytes.length - data.length
    const frames: AdtsFrame[] = []
    let [at, isTimed] = [0, time === null]
    while (at + HEAD_BYTES <= bytes.length) {
      if (frames.length === MAX_FRAMES) {
        at = bytes.length
        break
      }
      const head = readHead(bytes, at)
      if (head === null) {
        at = this.#resync(bytes, at)
        continue
      }
      if (!isTimed && at >= begin) {
        isTimed = true
        this.#time = time
        this.#offsetTicks = 0
      }
      if (at + head.bytes > bytes.length) break
      frames.push(this.#frame(head, bytes.subarray(at + head.headBytes, at + head.bytes)))
      at += head.bytes
    }
    this.#pending = at >= bytes.length ? NONE : Buffer.from(bytes.subarray(at))
    return frames
  }

  /** Data is missing. */
  lose(): void {
    this.#pending = NONE
  }

  #resync(bytes: Buffer, from: number): number {
    let at = bytes.indexOf(0xff, from + 1)
    while (at >= 0 && at + HEAD_BYTES <= bytes.length && readHead(bytes, at) === null) at = bytes.indexOf(0xff, at + 1)
    return at < 0 ? bytes.length : at
  }

  #frame({ config, format, hasOwnLayout }: AdtsHead, data: Buffer): AdtsFrame {
    if (hasOwnLayout) this.#layout = layoutIn(data) ?? this.#layout
    const layout = hasOwnLayout ? this.#layout : NONE
    const whole = layout && Buffer.concat([config, layout])
    const frame = { ...format, config: whole, offsetTicks: this.#offsetTicks, time: this.#time, data }
    this.#offsetTicks += (SAMPLES * TICKS_PER_SECOND) / format.sampleRate
    return frame
  }
}

interface AdtsHead {
  readonly config: Buffer
  /** A program config element follows the configuration. */
  readonly hasOwnLayout: boolean
  readonly format: AacFormat
  readonly headBytes: number
  /** With the head. */
  readonly bytes: number
}

/** Null: no frame with one block of audio begins there. */
function readHead(bytes: Buffer, at: number): AdtsHead | null {
  const word = bytes.readUInt32BE(at)
  const rest = bytes.readUIntBE(at + 3, 4)
  // The syncword, and a layer that is always 0.
  if (word >>> 20 !== 0xfff || (word & 0x6_0000) !== 0 || (rest & 3) !== 0) return null
  const headBytes = (word & 0x1_0000) === 0 ? HEAD_BYTES + 2 : HEAD_BYTES
  const length = Math.floor(rest / 2 ** 13) & 0x1fff
  // The object type is one more than the profile.
  const profile = ((word >> 14) & 3) + 1
  const [rateIndex, channelCode] = [(word >> 10) & 15, (word >> 6) & 7]
  const config = Buffer.from([(profile << 3) | (rateIndex >> 1), ((rateIndex & 1) << 7) | (channelCode << 3)])
  const format = readAacConfig(config)
  if (format === null || length <= headBytes) return null
  return { config, hasOwnLayout: channelCode === 0, format, headBytes, bytes: length }
}
