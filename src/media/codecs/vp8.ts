import type { JoinedFrame, VideoReader } from './codec.ts'

/** VP8 over RTP, RFC 7741. */

const NO_CONFIG = Buffer.alloc(0)

export const vp8: VideoReader = {
  isKeyStart(payload) {
    const descriptor = readDescriptor(payload)
    return descriptor?.isStart === true && isKeyframe(payload.subarray(descriptor.length))
  },

  join(payloads) {
    const parts: Buffer[] = []
    for (const [index, payload] of payloads.entries()) {
      const descriptor = readDescriptor(payload)
      if (descriptor === null || descriptor.isStart !== (index === 0)) return null
      parts.push(payload.subarray(descriptor.length))
    }
    return vp8Frame(Buffer.concat(parts))
  },
}

/** A whole frame. Null: it is empty. */
export function vp8Frame(data: Buffer): JoinedFrame | null {
  if (data.length === 0) return null
  const key = isKeyframe(data)
  return { key, data, format: key ? videoFrameOf(data) : null }
}

/** Section 4.2. `isStart`: the frame begins here. Null when no payload follows the descriptor. */
function readDescriptor(payload: Buffer): { length: number; isStart: boolean } | null {
  const first = payload[0] ?? 0
  let length = 1
  if ((first & 0x80) !== 0) {
    const extended = payload[1] ?? 0
    length = 2
    // PictureID has 15 bits when its highest bit is set, else 7.
    if ((extended & 0x80) !== 0) length += ((payload[2] ?? 0) & 0x80) !== 0 ? 2 : 1
    if ((extended & 0x40) !== 0) length += 1
    if ((extended & 0x30) !== 0) length += 1
  }
  return length < payload.length ? { length, isStart: (first & 0x17) === 0x10 } : null
}

/** Lowest bit of the frame tag, RFC 6386 section 9.1. */
const isKeyframe = (frame: Buffer): boolean => ((frame[0] ?? 1) & 1) === 0

function videoFrameOf(frame: Buffer) {
  if (frame.length < 10 || frame.readUIntBE(3, 3) !== 0x9d012a) return null
  return { width: frame.readUInt16LE(6) & 0x3fff, height: frame.readUInt16LE(8) & 0x3fff, config: NO_CONFIG }
}
