import { av1Frame } from './av1.ts'
import type { JoinedFrame } from './codec.ts'
import type { VideoCodec } from './codecs.ts'
import { isRandomAccess } from './h264.ts'
import { hevcFrame } from './hevc.ts'
import { vp8Frame } from './vp8.ts'
import { vp9Frame } from './vp9.ts'

/**
 * Reads a frame that came as a whole, in the format of `Frame.data`. What it is itself counts, where that can be told, not
 * how its publisher marks it. Null: it is malformed.
 */
export function readFrame(codec: VideoCodec, data: Buffer, isMarked: boolean): JoinedFrame | null {
  switch (codec) {
    case 'h264':
      return { key: isRandomAccess(data, isMarked), data, format: null }
    case 'hevc':
      return hevcFrame(data)
    case 'av1':
      return av1Frame(data, isMarked)
    case 'vp9':
      return vp9Frame(data)
    case 'vp8':
      return vp8Frame(data)
  }
}
