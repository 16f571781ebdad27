/** Small fragmented MP4 for tests of the validator: two tracks, frames of a few bytes. */

export const FRAME_SECONDS = 0.02
const VIDEO_TICKS = 1800
const AUDIO_TICKS = 960

const u16 = (...values: number[]): Buffer => Buffer.from(values.flatMap((value) => [value >> 8, value & 255]))
const u32 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4)
  values.forEach((value, index) => bytes.writeUInt32BE(value, index * 4))
  return bytes
}
const box = (type: string, ...parts: readonly Uint8Array[]): Buffer => {
  const payload = Buffer.concat(parts)
  return Buffer.concat([u32(payload.length + 8), Buffer.from(type, 'latin1'), payload])
}

const zeros = (count: number): Buffer => Buffer.alloc(count)

function trak(id: number, timescale: number, handler: 'vide' | 'soun', entry: Buffer): Buffer {
  const stsd = box('stsd', u32(0, 1), entry)
  return box(
    'trak',
    box('tkhd', u32(0, 0, 0, id), zeros(64)),
    box(
      'mdia',
      box('mdhd', u32(0, 0, 0, timescale, 0, 0)),
      box('hdlr', u32(0, 0), Buffer.from(handler), zeros(13)),
      box('minf', box('stbl', stsd)),
    ),
  )
}

const avc1 = (width: number, height: number): Buffer =>
  box('avc1', zeros(24), u16(width, height), zeros(50), box('avcC', Buffer.from('0164001fff', 'hex')))

/** Descriptors 3, 4 and 5 (ISO/IEC 14496-1 section 7.2.6): AAC LC, 48 kHz, two channels. */
const ESDS = Buffer.from(`00000000 0319000200 04114015 ${'0'.repeat(22)} 05021190 060102`.replaceAll(' ', ''), 'hex')

export function sampleInit(width: number, height: number): Buffer {
  const mp4a = box('mp4a', zeros(28), box('esds', ESDS))
  const trex = (id: number): Buffer => box('trex', u32(0, id, 1, 0, 0, 0))
  const tracks = [trak(1, 90_000, 'vide', avc1(width, height)), trak(2, 48_000, 'soun', mp4a)]
  return Buffer.concat([box('ftyp', Buffer.from('isom')), box('moov', ...tracks, box('mvex', trex(1), trex(2)))])
}

export interface SamplePart {
  /** Number of the first frame. */
  readonly from: number
  readonly frames: number
  /** The first frame is an IDR. */
  readonly key: boolean
}

const NAL = { idr: 0x65, other: 0x41 }

/** A fragment with video (track 1) and audio (track 2). */
export function samplePart({ from, frames, key }: SamplePart): Buffer {
  const video = Array.from({ length: frames }, (_, index) => {
    const nal = Buffer.from([key && index === 0 ? NAL.idr : NAL.other, (from + index) & 255, 1, 2])
    return Buffer.concat([u32(nal.length), nal])
  })
  const audio = Array.from({ length: frames }, (_, index) => Buffer.from([(from + index) & 255, 7]))
  const trafs = (at: number): Buffer[] => [
    traf(1, from * VIDEO_TICKS, VIDEO_TICKS, video, at),
    traf(2, from * AUDIO_TICKS, AUDIO_TICKS, audio, at + Buffer.concat(video).length),
  ]
  const moof = (at: number): Buffer => box('moof', box('mfhd', u32(0, from)), ...trafs(at))
  return Buffer.concat([moof(moof(0).length + 8), box('mdat', ...video, ...audio)])
}

function traf(id: number, start: number, duration: number, samples: readonly Buffer[], dataAt: number): Buffer {
  const sizes = samples.map((sample) => u32(sample.length))
  return box(
    'traf',
    box('tfhd', u32(0x02_00_08, id, duration)),
    box('tfdt', u32(0x01_00_00_00, 0, start)),
    box('trun', u32(0x2_01, samples.length, dataAt), ...sizes),
  )
}
