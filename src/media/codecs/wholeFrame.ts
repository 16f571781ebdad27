import { av1Frame } from './av1.ts'
import type { JoinedFrame } from './codec.ts'
import type { VideoCodec } from './codecs.ts'
import { isRandomAccess } from './h264.ts'
import { readAvcConfig, videoFrameOf } from './h264Config.ts'
import { hevcFormatOf, hevcFrame, hevcParameterSets } from './hevc.ts'
import { splitNals } from './nalUnits.ts'
import { vp8Frame } from './vp8.ts'
import { vp9Frame } from './vp9.ts'

/**
 * Reads a frame that came as a whole, in the format of `Frame.data`. What it is itself counts, where that can be told, not
 * how its publisher marks it. Null: it is malformed.
 */
export function readFrame(codec: VideoCodec, data: Buffer, isMarked: boolean): JoinedFrame | null {
  switch (codec) {
    case 'h264':
      return described({ key: isRandomAccess(data, isMarked), data, format: null }, videoFrameOf)
    case 'hevc':
      return described(hevcFrame(data), hevcFormatOf)
    case 'av1':
      return av1Frame(data, isMarked)
    case 'vp9':
      return vp9Frame(data)
    case 'vp8':
      return vp8Frame(data)
  }
}

/** A keyframe may have parameter sets, which count for it, whatever its publisher has sent before. */
function described(frame: JoinedFrame | null, formatOf: typeof videoFrameOf): JoinedFrame | null {
  return frame?.key === true ? { ...frame, format: formatOf(splitNals(frame.data) ?? []) } : frame
}

/** Those of a configuration; none: it is malformed, or its codec has none. */
export function parameterSetsOf(codec: VideoCodec, config: Buffer): Buffer[] {
  if (codec === 'hevc') return hevcParameterSets(config) ?? []
  const { sps, pps } = (codec === 'h264' ? readAvcConfig(config) : null) ?? { sps: [], pps: [] }
  return [...sps, ...pps]
}
