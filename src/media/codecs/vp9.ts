import { BitReader } from './bits.ts'
import type { JoinedFrame, VideoReader } from './codec.ts'

/** VP9 over RTP, RFC 9628. The frames of all spatial layers form one superframe. */

const NO_CONFIG = Buffer.alloc(0)

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

/** Reads the uncompressed header of a keyframe, VP9 bitstream section 6.2. Null for profiles above 0. */
function videoFrameOf(frame: Buffer) {
  const bits = new BitReader(frame.subarray(0, 16))
  const isProfile0 = bits.bits(2) === 2 && bits.bits(2) === 0
  bits.skip(4)
  if (!isProfile0 || bits.bits(24) !== 0x498342) return null
  // Profile 0 does not allow sRGB (7); every other colour space has a range bit.
  if (bits.bits(3) === 7) return null
  bits.skip(1)
  const [width, height] = [bits.bits(16) + 1, bits.bits(16) + 1]
  return bits.isOver ? null : { width, height, config: NO_CONFIG }
}
