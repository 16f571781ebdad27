import type { VideoFormat } from '../codecs/codec.ts'
import { isRandomAccess } from '../codecs/h264.ts'
import { h264Type, videoFrameOf } from '../codecs/h264Config.ts'
import { hevcFormatOf, hevcFrame, hevcType, isHevcParameterSet } from '../codecs/hevc.ts'
import { lengthPrefixed } from '../codecs/nalUnits.ts'
import { splitAnnexB } from './annexB.ts'

/** The codecs of video that are taken. */
export type TsVideoCodec = 'h264' | 'hevc'

interface AccessUnit {
  readonly key: boolean
  /** In the format of `Frame.data`. Empty: the unit has parameter sets only. */
  readonly data: Buffer
  /** What its parameter sets say; null: it has none. */
  readonly format: VideoFormat | null
}

/** Delimiters and filler say nothing inside Sluice. */
const H264_LEFT_OUT = [9, 12]
const HEVC_LEFT_OUT = [35, 38]

/**
 * Reads the access unit of a PES packet. Null: it has no NAL units, or too many.
 * @param isMarked the sender says that a decoder can begin here
 */
export function readAccessUnit(codec: TsVideoCodec, bytes: Buffer, isMarked: boolean): AccessUnit | null {
  return codec === 'h264' ? readH264(bytes, isMarked) : readHevc(bytes)
}

function readH264(bytes: Buffer, isMarked: boolean): AccessUnit | null {
  const nals = splitAnnexB(bytes, (nal) => H264_LEFT_OUT.includes(h264Type(nal)))
  if (nals === null || nals.length === 0) return null
  const data = lengthPrefixed(nals)
  return { key: isRandomAccess(data, isMarked), data, format: videoFrameOf(nals) }
}

/** The sample entry `hvc1` of MP4 has the parameter sets, and its frames repeat none. */
function readHevc(bytes: Buffer): AccessUnit | null {
  const nals = splitAnnexB(bytes, (nal) => HEVC_LEFT_OUT.includes(hevcType(nal)))
  if (nals === null || nals.length === 0) return null
  const frame = hevcFrame(lengthPrefixed(nals.filter((nal) => !isHevcParameterSet(nal))))
  return frame && { key: frame.key, data: frame.data, format: hevcFormatOf(nals) }
}
