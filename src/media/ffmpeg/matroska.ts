import { CODECS } from '../codecs/codecs.ts'
import { declaredFrameRate, readAvcConfig } from '../codecs/h264Config.ts'
import { type AudioTrack, type Frame, type TrackInfo, trackKey, type VideoTrack } from '../frame.ts'
import { element, float, join, openElement, textElement, uint } from './ebml.ts'

/** One timestamp unit, nanoseconds: 0.1 ms. The 16-bit offset of a block then reaches 3.2 seconds from its cluster. */
const TIMESTAMP_SCALE_NS = 100_000
const US_PER_UNIT = TIMESTAMP_SCALE_NS / 1000
const CLUSTER_MAX_UNITS = 20_000
const CLUSTER_MIN_UNITS = -10_000

/** Ids of RFC 9559. */
const ID = {
  ebml: 0x1a45dfa3,
  ebmlVersion: 0x4286,
  ebmlReadVersion: 0x42f7,
  ebmlMaxIdLength: 0x42f2,
  ebmlMaxSizeLength: 0x42f3,
  docType: 0x4282,
  docTypeVersion: 0x4287,
  docTypeReadVersion: 0x4285,
  segment: 0x18538067,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  muxingApp: 0x4d80,
  writingApp: 0x5741,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  trackNumber: 0xd7,
  trackUid: 0x73c5,
  trackType: 0x83,
  flagLacing: 0x9c,
  defaultDuration: 0x23e383,
  codecId: 0x86,
  codecPrivate: 0x63a2,
  codecDelay: 0x56aa,
  seekPreRoll: 0x56bb,
  video: 0xe0,
  pixelWidth: 0xb0,
  pixelHeight: 0xba,
  audio: 0xe1,
  samplingFrequency: 0xb5,
  channels: 0x9f,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  simpleBlock: 0xa3,
} as const

/**
 * How long a frame lasts where the video itself does not say it: 30 frames a second. Without this ffmpeg takes the unit of
 * the timestamps, so 10,000 frames a second: encoders divide their bitrate by it, and declare the highest level. It changes
 * no time of a frame.
 */
const USUAL_FRAME_NS = 33_333_333
/** More is the unit of an encoder's timestamps. */
const FRAME_RATE_MAX = 120

const OPUS_PRE_ROLL_NS = 80_000_000
const KEY = 0x80

/**
 * Writes live Matroska (RFC 9559): a segment and clusters of unknown size, so that a reader can start at once and a
 * truncated file is readable up to its end. Holds at most one video track, and one of each audio track.
 */
export class MatroskaWriter {
  readonly #numbers: ReadonlyMap<string, number>
  readonly #head: Uint8Array
  #clusterAt: number | null = null

  /** `tracks` cannot change: a new configuration needs a new stream. */
  constructor(tracks: readonly TrackInfo[]) {
    const written = oneOfEach(tracks)
    this.#numbers = new Map(written.map((track, index) => [trackKey(track), index + 1]))
    this.#head = headOf(written)
  }

  /** The bytes before the first frame. */
  head(): Uint8Array {
    return this.#head
  }

  /** The bytes of a frame; call it in decode order. Empty when this stream does not have the frame's track. */
  frame(frame: Frame): Uint8Array {
    const number = this.#numbers.get(trackKey(frame))
    if (number === undefined) return new Uint8Array()
    const units = Math.round(frame.timeUs / US_PER_UNIT)
    const startsCluster = this.#needsCluster(units, frame)
    if (startsCluster) this.#clusterAt = units
    const head = new Uint8Array(4)
    const view = new DataView(head.buffer)
    view.setUint8(0, 0x80 | number)
    view.setInt16(1, units - (this.#clusterAt ?? units))
    view.setUint8(3, frame.key ? KEY : 0)
    const block = element(ID.simpleBlock, head, frame.data)
    return startsCluster ? join([openElement(ID.cluster), uint(ID.timestamp, units), block]) : block
  }

  #needsCluster(units: number, { kind, key }: Frame): boolean {
    if (this.#clusterAt === null || (kind === 'video' && key)) return true
    const offset = units - this.#clusterAt
    return offset > CLUSTER_MAX_UNITS || offset < CLUSTER_MIN_UNITS
  }
}

/** The first one of each track, video before audio. */
const oneOfEach = (tracks: readonly TrackInfo[]): TrackInfo[] =>
  (['video', 'audio'] as const)
    .flatMap((kind) => tracks.filter((track) => track.kind === kind))
    .filter((track, at, all) => all.findIndex((other) => trackKey(other) === trackKey(track)) === at)

function headOf(tracks: readonly TrackInfo[]): Uint8Array {
  return join([
    element(
      ID.ebml,
      uint(ID.ebmlVersion, 1),
      uint(ID.ebmlReadVersion, 1),
      uint(ID.ebmlMaxIdLength, 4),
      uint(ID.ebmlMaxSizeLength, 8),
      textElement(ID.docType, 'matroska'),
      uint(ID.docTypeVersion, 4),
      uint(ID.docTypeReadVersion, 2),
    ),
    openElement(ID.segment),
    element(
      ID.info,
      uint(ID.timestampScale, TIMESTAMP_SCALE_NS),
      textElement(ID.muxingApp, 'Sluice'),
      textElement(ID.writingApp, 'Sluice'),
    ),
    element(ID.tracks, ...tracks.map(entryOf)),
  ])
}

function entryOf(track: TrackInfo, index: number): Uint8Array {
  const codecPrivate = privateOf(track)
  return element(
    ID.trackEntry,
    uint(ID.trackNumber, index + 1),
    uint(ID.trackUid, index + 1),
    uint(ID.flagLacing, 0),
    uint(ID.trackType, track.kind === 'video' ? 1 : 2),
    textElement(ID.codecId, CODECS[track.codec].matroska),
    ...(codecPrivate.length === 0 ? [] : [element(ID.codecPrivate, codecPrivate)]),
    ...(track.kind === 'audio' || declaresRate(track) ? [] : [uint(ID.defaultDuration, USUAL_FRAME_NS)]),
    ...(track.codec === 'opus' ? [uint(ID.codecDelay, 0), uint(ID.seekPreRoll, OPUS_PRE_ROLL_NS)] : []),
    track.kind === 'video' ? videoOf(track) : audioOf(track),
  )
}

/** VP9 needs none, and Matroska has another form of it. */
function privateOf(track: TrackInfo): Uint8Array {
  if (track.codec === 'opus') return opusHead(track)
  if (track.codec === 'vp9') return new Uint8Array()
  return track.codec === 'pcma' || track.codec === 'pcmu' ? waveFormat(track) : track.config
}

/** Whether the video says how many frames a second has. Only H.264 does, and not that of browsers. */
function declaresRate({ codec, config }: VideoTrack): boolean {
  const [sps] = codec === 'h264' ? (readAvcConfig(Buffer.from(config))?.sps ?? []) : []
  const rate = sps === undefined ? null : declaredFrameRate(sps)
  return rate !== null && rate <= FRAME_RATE_MAX
}

/** Omits a size that is not known yet: Matroska does not allow 0, and readers find it in the first keyframe. */
function videoOf({ width, height }: VideoTrack): Uint8Array {
  return width > 0 && height > 0
    ? element(ID.video, uint(ID.pixelWidth, width), uint(ID.pixelHeight, height))
    : element(ID.video)
}

const audioOf = ({ sampleRate, channels }: AudioTrack): Uint8Array =>
  element(ID.audio, float(ID.samplingFrequency, sampleRate), uint(ID.channels, channels))

const WAVE_A_LAW = 6
const WAVE_MU_LAW = 7

/** WAVEFORMATEX, as A_MS/ACM has it: format, channels, rate, bytes a second, bytes of a sample of all channels, bits, no more. */
function waveFormat({ codec, channels, sampleRate }: AudioTrack): Uint8Array {
  const format = new Uint8Array(18)
  const view = new DataView(format.buffer)
  view.setUint16(0, codec === 'pcma' ? WAVE_A_LAW : WAVE_MU_LAW, true)
  view.setUint16(2, channels, true)
  view.setUint32(4, sampleRate, true)
  view.setUint32(8, sampleRate * channels, true)
  view.setUint16(12, channels, true)
  view.setUint16(14, 8, true)
  return format
}

/** The identification header (RFC 7845 section 5.1): no pre-skip, no gain, channel mapping family 0. */
function opusHead({ channels, sampleRate }: AudioTrack): Uint8Array {
  const head = new Uint8Array(19)
  head.set(new TextEncoder().encode('OpusHead'))
  const view = new DataView(head.buffer)
  view.setUint8(8, 1)
  view.setUint8(9, channels)
  view.setUint32(12, sampleRate, true)
  return head
}
