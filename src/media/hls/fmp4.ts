import type { Sample } from '../../core/hls/facts.ts'
import type { TrackInfo } from '../frame.ts'
import { ascii, box, full, u16, u32, u64, zeros } from './boxes.ts'
import { codecName, sampleEntry } from './sampleEntries.ts'

/** A writer of fragmented MP4 (ISO/IEC 14496-12), with any boundaries between fragments. */

/** A track of an init segment. Its samples count in ticks of this timescale. */
export interface Mp4Track {
  /** From 1. */
  readonly id: number
  /** Ticks in a second. */
  readonly timescale: number
  readonly info: TrackInfo
}

/** The samples of one track in a fragment, in decode order. */
export interface TrackSamples {
  readonly id: number
  readonly samples: readonly Sample[]
}

const VIDEO_TIMESCALE = 90_000

/** Audio has the same id without video: players that read on over a change of tracks go by it. */
const VIDEO_ID = 1
const AUDIO_ID = 2

/** The tracks in the order that they get in the file: the first video, then the first audio and those beside it. */
export function mp4Tracks(tracks: readonly TrackInfo[]): Mp4Track[] {
  const [video] = tracks.filter((info) => info.kind === 'video')
  const [audio, ...others] = tracks.filter((info) => info.kind === 'audio')
  const beside = others.filter(({ audioIndex }) => audioIndex !== undefined)
  return [
    ...(video === undefined ? [] : [{ id: VIDEO_ID, timescale: VIDEO_TIMESCALE, info: video }]),
    ...(audio === undefined ? [] : [audio, ...beside]).map((info, at) => ({
      id: AUDIO_ID + at,
      timescale: info.sampleRate,
      info,
    })),
  ]
}

/** The `ftyp` and `moov` before all fragments. */
export function initOf(tracks: readonly Mp4Track[]): Buffer {
  const nextId = Math.max(0, ...tracks.map(({ id }) => id)) + 1
  const mvhd = full('mvhd', 0, 0, zeros(8), u32(1000), u32(0), u32(0x10000), u16(0x100), zeros(10), MATRIX, zeros(24))
  return Buffer.concat([
    box('ftyp', ascii('iso6'), u32(1), ascii('iso6cmfcmp41')),
    box('moov', join(mvhd, u32(nextId)), ...tracks.map(trak), box('mvex', ...tracks.map(trex))),
  ])
}

/** A `moof` with its `mdat`. Tracks without samples are left out. */
export function partOf(sequence: number, tracks: readonly TrackSamples[]): Buffer {
  const filled = tracks.filter(({ samples }) => samples.length > 0)
  const sizes = filled.map(({ samples }) => samples.reduce((sum, { data }) => sum + data.length, 0))
  const moofOf = (offsets: readonly number[]): Buffer =>
    box('moof', full('mfhd', 0, 0, u32(sequence)), ...filled.map((track, at) => traf(track, offsets[at] ?? 0)))
  const head = moofOf([]).length + 8
  const offsets = sizes.map((_, at) => head + sumOf(sizes.slice(0, at)))
  const mdat = [u32(sumOf(sizes) + 8), ascii('mdat')]
  return Buffer.concat([moofOf(offsets), ...mdat, ...filled.flatMap(({ samples }) => samples.map(({ data }) => data))])
}

/** What a publisher says that its tracks keep to together, bits per second; 0: it does not say. */
export const declaredBitrateOf = (tracks: readonly TrackInfo[]): number =>
  tracks.reduce((sum, { declaredBitrate = 0 }) => sum + declaredBitrate, 0)

/** The RFC 6381 names of the codecs, with commas between them; empty when one is not known. */
export function codecsOf(tracks: readonly TrackInfo[]): string {
  const names = tracks.map(codecName)
  return names.includes(null) ? '' : names.join(',')
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0)

const join = (head: Buffer, ...rest: readonly Uint8Array[]): Buffer => {
  const joined = Buffer.concat([head, ...rest])
  joined.writeUInt32BE(joined.length)
  return joined
}

/** The identity: no rotation, no scaling. */
const MATRIX = Buffer.concat([0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000].map(u32))
/** `und`, in three times five bits. */
const UNDETERMINED = 0x55c4

function trak(track: Mp4Track): Buffer {
  const { id, timescale, info } = track
  const isVideo = info.kind === 'video'
  const { width, height } = isVideo ? info : { width: 0, height: 0 }
  const tkhd = [zeros(8), u32(id), zeros(16), u16(0), u16(0), u16(isVideo ? 0 : 0x100), u16(0), MATRIX]
  const handler = isVideo ? 'vide' : 'soun'
  return box(
    'trak',
    // Enabled, in the presentation and in its preview.
    full('tkhd', 0, 7, ...tkhd, u32(width * 0x10000), u32(height * 0x10000)),
    box(
      'mdia',
      full('mdhd', 0, 0, zeros(8), u32(timescale), u32(0), u16(UNDETERMINED), u16(0)),
      full('hdlr', 0, 0, u32(0), ascii(handler), zeros(12), ascii('Sluice\0')),
      box(
        'minf',
        isVideo ? full('vmhd', 0, 1, zeros(8)) : full('smhd', 0, 0, zeros(4)),
        box('dinf', full('dref', 0, 0, u32(1), full('url ', 0, 1))),
        sampleTable(track),
      ),
    ),
  )
}

/** Empty tables: all samples are in fragments. */
const sampleTable = ({ info }: Mp4Track): Buffer =>
  box(
    'stbl',
    full('stsd', 0, 0, u32(1), sampleEntry(info)),
    full('stts', 0, 0, u32(0)),
    full('stsc', 0, 0, u32(0)),
    full('stsz', 0, 0, u32(0), u32(0)),
    full('stco', 0, 0, u32(0)),
  )

const trex = ({ id }: Mp4Track): Buffer => full('trex', 0, 0, u32(id), u32(1), zeros(12))

/** Flags of a sample (section 8.8.3.1): depends on no other; or depends on others and is no sync sample. */
const KEY = 0x2000000
const NOT_KEY = 0x1010000
/** `tfhd`: offsets count from the beginning of the `moof`. */
const BASE_IS_MOOF = 0x20000
/** `trun`: data offset; durations, sizes and flags; composition offsets. */
const RUN = 0x1 | 0x100 | 0x200 | 0x400
const RUN_WITH_OFFSETS = RUN | 0x800

function traf({ id, samples }: TrackSamples, dataOffset: number): Buffer {
  const reordered = samples.some(({ dts, pts }) => dts !== pts)
  const size = reordered ? 16 : 12
  const entries = Buffer.alloc(samples.length * size)
  for (const [index, { duration, data, key, dts, pts }] of samples.entries()) {
    const at = index * size
    entries.writeUInt32BE(duration, at)
    entries.writeUInt32BE(data.length, at + 4)
    entries.writeUInt32BE(key ? KEY : NOT_KEY, at + 8)
    if (reordered) entries.writeInt32BE(pts - dts, at + 12)
  }
  const run = [u32(samples.length), u32(dataOffset), entries]
  return box(
    'traf',
    full('tfhd', 0, BASE_IS_MOOF, u32(id)),
    full('tfdt', 1, 0, u64(samples[0]?.dts ?? 0)),
    full('trun', 1, reordered ? RUN_WITH_OFFSETS : RUN, ...run),
  )
}
