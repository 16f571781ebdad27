import { find } from '../codecs/boxes.ts'
import type { TrackInfo } from '../frame.ts'

/**
 * Reads what ffmpeg writes as fragmented MP4 with one track (ISO/IEC 14496-12): H.264 or AAC. The functions throw a
 * RangeError for boxes that are shorter than their fields.
 */

export interface Mp4Sample {
  readonly size: number
  /** Ticks. */
  readonly duration: number
  readonly key: boolean
  /** From decoding to showing, ticks. */
  readonly composition: number
}

export interface Mp4Samples {
  /** Where the first sample begins in the payload of the `mdat`. */
  readonly dataAt: number
  /** Decode time of the first sample, ticks. */
  readonly dts: number
  readonly samples: readonly Mp4Sample[]
}

/** The track of a `moov`. Null: it is neither H.264 nor AAC. */
export function readInit(moov: DataView): { info: TrackInfo; timescale: number } | null {
  const mdhd = find(moov, 'trak', 'mdia', 'mdhd')
  const stsd = find(moov, 'trak', 'mdia', 'minf', 'stbl', 'stsd')
  if (mdhd === undefined || stsd === undefined) return null
  const entries = from(stsd, 8)
  const info = videoTrack(find(entries, 'avc1')) ?? audioTrack(find(entries, 'mp4a'))
  return info && { info, timescale: mdhd.getUint32(mdhd.getUint8(0) === 1 ? 20 : 12) }
}

const from = (view: DataView, at: number): DataView =>
  new DataView(view.buffer, view.byteOffset + at, view.byteLength - at)

const bytesOf = (view: DataView): Uint8Array => new Uint8Array(view.buffer, view.byteOffset, view.byteLength)

/** A visual sample entry (section 12.1.3). */
function videoTrack(entry: DataView | undefined): TrackInfo | null {
  const avcC = entry && find(from(entry, 78), 'avcC')
  if (!entry || !avcC) return null
  const [width, height] = [entry.getUint16(24), entry.getUint16(26)]
  return { kind: 'video', codec: 'h264', width, height, config: Uint8Array.from(bytesOf(avcC)) }
}

/** An audio sample entry (section 12.2.3). */
function audioTrack(entry: DataView | undefined): TrackInfo | null {
  const esds = entry && find(from(entry, 28), 'esds')
  const config = esds && decoderConfig(bytesOf(esds).subarray(4))
  if (!entry || !config) return null
  return { kind: 'audio', codec: 'aac', channels: entry.getUint16(16), sampleRate: entry.getUint16(24), config }
}

/** Descriptors of ISO/IEC 14496-1 section 7.2.6, with the bytes before the descriptors that they contain. */
const CONTAINERS: Readonly<Record<number, number>> = { 3: 3, 4: 13 }
const DECODER_CONFIG = 5

/** The AudioSpecificConfig. Null: there is none. */
function decoderConfig(bytes: Uint8Array): Uint8Array | null {
  let at = 0
  while (at < bytes.length) {
    const tag = bytes[at++] ?? 0
    let length = 0
    for (let more = 0x80; (more & 0x80) !== 0 && at < bytes.length; length = (length << 7) | (more & 0x7f))
      more = bytes[at++] ?? 0
    if (tag === DECODER_CONFIG) return Uint8Array.from(bytes.subarray(at, at + length))
    at += CONTAINERS[tag] ?? length
  }
  return null
}

/** Flags of `tfhd` and `trun` (sections 8.8.7 and 8.8.8): which fields there are. */
const TFHD = { baseOffset: 0x1, description: 0x2, duration: 0x8, size: 0x10, flags: 0x20 }
const TRUN = { offset: 0x1, firstFlags: 0x4, duration: 0x100, size: 0x200, flags: 0x400, composition: 0x800 }
const NOT_KEY = 0x1_0000
/** An encoder writes one. */
const SAMPLES_MAX = 10_000

/** Reads 32-bit fields one after the other, those that the flags name. */
function fieldsOf(box: DataView, start: number): (isThere: boolean) => number | undefined {
  let at = start
  return (isThere) => (isThere ? box.getUint32((at += 4) - 4) : undefined)
}

/** The samples of a `moof` with one run. Null: it has none. @param moofBytes with its header */
export function readFragment(moof: DataView, moofBytes: number): Mp4Samples | null {
  const [tfhd, tfdt, trun] = ['tfhd', 'tfdt', 'trun'].map((name) => find(moof, 'traf', name))
  if (!tfhd || !tfdt || !trun) return null
  const has = tfhd.getUint32(0)
  const next = fieldsOf(tfhd, 8 + (has & TFHD.baseOffset ? 8 : 0))
  next((has & TFHD.description) !== 0)
  const duration = next((has & TFHD.duration) !== 0) ?? 0
  const size = next((has & TFHD.size) !== 0) ?? 0
  const flags = next((has & TFHD.flags) !== 0) ?? 0
  return {
    ...readRun(trun, { duration, size, flags }, moofBytes),
    dts: tfdt.getUint8(0) === 1 ? Number(tfdt.getBigUint64(4)) : tfdt.getUint32(4),
  }
}

type Defaults = Readonly<Record<'duration' | 'size' | 'flags', number>>

function readRun(trun: DataView, defaults: Defaults, moofBytes: number): Omit<Mp4Samples, 'dts'> {
  const has = trun.getUint32(0)
  const count = trun.getUint32(4)
  if (count > SAMPLES_MAX) throw new RangeError('too many samples')
  const next = fieldsOf(trun, 8)
  const offset = next((has & TRUN.offset) !== 0)
  const firstFlags = next((has & TRUN.firstFlags) !== 0)
  const samples = Array.from({ length: count }, (_, index): Mp4Sample => {
    const duration = next((has & TRUN.duration) !== 0) ?? defaults.duration
    const size = next((has & TRUN.size) !== 0) ?? defaults.size
    const flags = next((has & TRUN.flags) !== 0) ?? (index === 0 ? firstFlags : undefined) ?? defaults.flags
    const composition = (next((has & TRUN.composition) !== 0) ?? 0) | 0
    return { duration, size, key: (flags & NOT_KEY) === 0, composition }
  })
  const head = moofBytes + 8
  return { samples, dataAt: Math.max(0, (offset ?? head) - head) }
}
