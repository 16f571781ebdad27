import { BitReader } from './bits.ts'
import type { JoinedFrame, VideoFormat, VideoReader } from './codec.ts'

/** VP9 over RTP, RFC 9628. The frames of all spatial layers form one superframe. */

export const vp9: VideoReader = {
  isKeyStart(payload) {
    const descriptor = readDescriptor(payload)
    if (descriptor?.isStart !== true || descriptor.isPredicted || descriptor.spatialLayer !== 0) return false
    return isKeyframe(payload.subarray(descriptor.length))
  },

  join(payloads) {
    const parts: Buffer[] = []
    for (const [index, payload] of payloads.entries()) {
      const descriptor = readDescriptor(payload)
      if (descriptor === null || (index === 0 && !descriptor.isStart)) return null
      parts.push(payload.subarray(descriptor.length))
    }
    return vp9Frame(Buffer.concat(parts))
  },
}

/** A whole frame, or superframe. Null: it is empty. */
export function vp9Frame(data: Buffer): JoinedFrame | null {
  const key = isKeyframe(data)
  return data.length === 0 ? null : { key, data, format: key ? videoFrameOf(data) : null }
}

interface Descriptor {
  readonly length: number
  readonly isStart: boolean
  readonly isPredicted: boolean
  readonly spatialLayer: number
}

/** Section 4.2. Null when the descriptor runs past the payload. */
function readDescriptor(payload: Buffer): Descriptor | null {
  const first = payload[0] ?? 0
  const isPredicted = (first & 0x40) !== 0
  const isFlexible = (first & 0x10) !== 0
  let at = 1
  if ((first & 0x80) !== 0) at += ((payload[at] ?? 0) & 0x80) !== 0 ? 2 : 1
  let spatialLayer = 0
  if ((first & 0x20) !== 0) {
    spatialLayer = ((payload[at] ?? 0) >> 1) & 7
    at += isFlexible ? 1 : 2
  }
  if (isPredicted && isFlexible) at = skipReferences(payload, at)
  if ((first & 0x02) !== 0) at = skipScalability(payload, at)
  return at < payload.length ? { length: at, isStart: (first & 0x08) !== 0, isPredicted, spatialLayer } : null
}

/** Skips up to three reference indices; the lowest bit of each says whether another follows. */
function skipReferences(payload: Buffer, start: number): number {
  let at = start
  for (let i = 0; i < 3; i++) if (((payload[at++] ?? 0) & 1) === 0) break
  return at
}

/** Skips the scalability structure, section 4.2.1. */
function skipScalability(payload: Buffer, start: number): number {
  const first = payload[start] ?? 0
  let at = start + 1
  if ((first & 0x10) !== 0) at += ((first >> 5) + 1) * 4
  if ((first & 0x08) === 0) return at
  const groupLength = payload[at++] ?? 0
  for (let i = 0; i < groupLength; i++) at += 1 + (((payload[at] ?? 0) >> 2) & 3)
  return at
}

/** Some senders never set the P bit, so this reads the frame header: show_existing_frame and frame_type are 0. */
function isKeyframe(frame: Buffer): boolean {
  const first = frame[0] ?? 0xff
  const shift = (first & 0x30) === 0x30 ? 1 : 2
  return first >> 6 === 2 && ((first >> shift) & 3) === 0
}

/** Reads the uncompressed header of a keyframe (VP9 bitstream section 6.2). Null: it is malformed. */
function videoFrameOf(frame: Buffer): VideoFormat | null {
  const bits = new BitReader(frame.subarray(0, 16))
  const isFrame = bits.bits(2) === 2
  const profile = bits.bits(1) + 2 * bits.bits(1)
  bits.skip(profile === 3 ? 5 : 4)
  if (!isFrame || bits.bits(24) !== 0x498342) return null
  const color = readColor(bits, profile)
  const [width, height] = [bits.bits(16) + 1, bits.bits(16) + 1]
  return color === null || bits.isOver ? null : { width, height, config: vpRecord(profile, width * height, color) }
}

interface Color {
  /** Bits of a sample. */
  readonly depth: number
  /** Of a VPCodecConfigurationRecord: 4:2:0 with samples at the position of luma, 4:2:2, 4:4:4, 4:4:0. */
  readonly chroma: 1 | 2 | 3 | 4
  readonly isFullRange: boolean
  /** As ISO/IEC 23091-2 numbers them; 2: not said. */
  readonly primaries: number
  readonly matrix: number
}

const RGB = 7
const BT_2020 = 5
const UNSAID = 2

/** color_config. Null: profiles 0 and 2 have no RGB, and the others have a bit that is 0. */
function readColor(bits: BitReader, profile: number): Color | null {
  const depth = profile < 2 ? 8 : bits.flag() ? 12 : 10
  const space = bits.bits(3)
  const isFree = profile % 2 === 1
  if (space === RGB)
    return isFree && !bits.flag() ? { depth, chroma: 3, isFullRange: true, primaries: 1, matrix: 0 } : null
  const isFullRange = bits.flag()
  const [x, y] = isFree ? [bits.flag(), bits.flag()] : [true, true]
  if (isFree && bits.flag()) return null
  const known = space === BT_2020 ? 9 : UNSAID
  return { depth, chroma: x ? (y ? 1 : 2) : y ? 4 : 3, isFullRange, primaries: known, matrix: known }
}

/** VPCodecConfigurationRecord (VP Codec ISO Media File Format Binding). The bitstream does not say the transfer function. */
const vpRecord = (profile: number, pixels: number, { depth, chroma, isFullRange, primaries, matrix }: Color): Buffer =>
  Buffer.from([
    profile,
    levelOf(pixels),
    (depth << 4) | (chroma << 1) | (isFullRange ? 1 : 0),
    primaries,
    UNSAID,
    matrix,
    // No data for the decoder.
    0,
    0,
  ])

/** Luma samples a second that each level allows (VP9 levels, `libvpx`), from the lowest. */
const LEVELS: readonly (readonly [level: number, rate: number])[] = [
  [10, 829_440],
  [11, 2_764_800],
  [20, 4_608_000],
  [21, 9_216_000],
  [30, 20_736_000],
  [31, 36_864_000],
  [40, 83_558_400],
  [41, 160_432_128],
  [50, 311_951_360],
  [51, 588_251_136],
]
const HIGHEST = 62
/** A source does not say its frame rate. */
const FASTEST_FPS = 60

const levelOf = (pixels: number): number => LEVELS.find(([, rate]) => pixels * FASTEST_FPS <= rate)?.[0] ?? HIGHEST
