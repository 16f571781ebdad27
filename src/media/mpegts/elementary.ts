import { err, ok, type Result } from '../../base/result.ts'
import { coded, type CodedSentence } from '../../core/notices.ts'
import { CODECS } from '../codecs/codecs.ts'
import { h264Type, NAL_SPS } from '../codecs/h264Config.ts'
import { hevcType, SPS } from '../codecs/hevc.ts'
import { splitNals } from '../codecs/nalUnits.ts'
import { parameterSetsOf } from '../codecs/wholeFrame.ts'
import type { Frame, TrackInfo } from '../frame.ts'

/** A track as an elementary stream of MPEG-TS. */
export interface ElementaryStream {
  /** In the PMT: stream_type and descriptors. */
  readonly type: number
  readonly descriptors: Buffer
  /** The stream_id of its PES packets. */
  readonly id: number
  /** In pieces, which lie one behind another. Null: the frame is malformed, or larger than the format allows. */
  write(frame: Frame): Uint8Array[] | null
}

const START_CODE = Buffer.from([0, 0, 0, 1])
const NONE = Buffer.alloc(0)

/** The refusal is a sentence for people: MPEG-TS does not carry the track. */
export function elementaryStream(track: TrackInfo): Result<ElementaryStream, CodedSentence> {
  const config = Buffer.from(track.config)
  switch (track.codec) {
    case 'h264':
      return ok({ type: 0x1b, descriptors: NONE, id: 0xe0, write: byteStream(H264, parameterSetsOf('h264', config)) })
    case 'hevc':
      return ok({ type: 0x24, descriptors: NONE, id: 0xe0, write: byteStream(HEVC, parameterSetsOf('hevc', config)) })
    case 'aac':
      return adts(config)
    case 'opus':
      return ok({ type: 0x06, descriptors: opusDescriptors(track.channels), id: 0xbd, write: opusUnit })
    case 'vp8':
    case 'vp9':
    case 'av1':
    case 'pcma':
    case 'pcmu':
      return err(coded(`${track.kind}_not_for_ts`, { codec: CODECS[track.codec].title }))
  }
}

interface NalRules {
  readonly typeOf: (nal: Buffer) => number
  readonly delimiter: Buffer
  readonly delimiterType: number
  readonly spsType: number
}

/** Access unit delimiters that allow each kind of picture. */
const H264: NalRules = {
  typeOf: h264Type,
  delimiter: Buffer.from([9, 0xf0]),
  delimiterType: 9,
  spsType: NAL_SPS,
}
const HEVC: NalRules = {
  typeOf: hevcType,
  delimiter: Buffer.from([0x46, 1, 0x50]),
  delimiterType: 35,
  spsType: SPS,
}

/** Access units with start codes, a delimiter first, and with the parameter sets at each keyframe (annex B of both). */
function byteStream(rules: NalRules, sets: readonly Buffer[]): ElementaryStream['write'] {
  return ({ data, key }) => {
    const nals = splitNals(Buffer.from(data.buffer, data.byteOffset, data.byteLength))
    const [first] = nals ?? []
    if (nals === null || first === undefined) return null
    const rest = rules.typeOf(first) === rules.delimiterType ? nals.slice(1) : nals
    const hasSets = !key || nals.some((nal) => rules.typeOf(nal) === rules.spsType)
    return [rules.delimiter, ...(hasSets ? [] : sets), ...rest].flatMap((nal) => [START_CODE, nal])
  }
}

const ADTS_HEAD_BYTES = 7
const ADTS_MAX_BYTES = 0x1fff
const LOW_COMPLEXITY = 2
/** SBR and PS: their core is of low complexity, and decoders find the rest in the frames. */
const EXTENDED = [5, 29]

/** ISO/IEC 13818-7 section 6.2, from an AudioSpecificConfig. */
function adts(config: Buffer): Result<ElementaryStream, CodedSentence> {
  const word = config.length < 2 ? 0 : config.readUInt16BE(0)
  const [object, rate, channels] = [word >> 11, (word >> 7) & 15, (word >> 3) & 15]
  const core = EXTENDED.includes(object) ? LOW_COMPLEXITY : object
  if (core < 1 || core > 4 || rate > 12 || channels < 1 || channels > 7) {
    return err(coded('aac_not_for_ts'))
  }
  const profile = ((core - 1) << 6) | (rate << 2) | (channels >> 2)
  const write = ({ data }: Frame): Uint8Array[] | null => {
    const length = ADTS_HEAD_BYTES + data.length
    if (length > ADTS_MAX_BYTES) return null
    const rest = [((channels & 3) << 6) | (length >> 11), (length >> 3) & 255, ((length & 7) << 5) | 31, 0xfc]
    return [Buffer.from([0xff, 0xf1, profile, ...rest]), data]
  }
  return ok({ type: 0x0f, descriptors: NONE, id: 0xc0, write })
}

/** The registration, and the extension descriptor of DVB with the channels (Opus in MPEG-TS, section 3). */
const opusDescriptors = (channels: number): Buffer =>
  Buffer.from([5, 4, ...Buffer.from('Opus', 'latin1'), 0x7f, 2, 0x80, Math.min(2, Math.max(1, channels))])

/** Section 4: a control header with the size, in bytes of 255 and a last one. */
function opusUnit({ data }: Frame): Uint8Array[] | null {
  if (data.length === 0 || data.length > OPUS_MAX_BYTES) return null
  const size = [...Array<number>(Math.floor(data.length / 255)).fill(255), data.length % 255]
  return [Buffer.from([0x7f, 0xe0, ...size]), data]
}

/** More than any packet has: 120 ms at 510 kbit/s. */
const OPUS_MAX_BYTES = 7650
