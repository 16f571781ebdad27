/**
 * Reads what HLS carries in fragmented MP4 (ISO/IEC 14496-12), for the validator. It shares no code with the program, so
 * that a fault of its reader or writer does not hide here.
 */

export interface TrackInit {
  readonly id: number
  readonly kind: 'video' | 'audio'
  readonly timescale: number
  /** RFC 6381; null: neither H.264 nor AAC. */
  readonly codec: string | null
  readonly width: number
  readonly height: number
  /** For fragments that do not set their own. */
  readonly defaults: Defaults
}

interface Defaults {
  readonly duration: number
  readonly size: number
  readonly flags: number
}

export interface TrackMedia {
  readonly id: number
  /** In units of the timescale. */
  readonly start: number
  readonly samples: readonly MediaSample[]
}

export interface MediaSample {
  readonly duration: number
  readonly bytes: Buffer
  /** H.264: has an IDR slice. Other codecs: is marked as a sync sample. */
  readonly key: boolean
}

/** The bytes are not what they should be. */
export class BadMedia extends Error {
  override readonly name = 'BadMedia'
}

interface Box {
  readonly type: string
  /** Where the box begins in the file. */
  readonly at: number
  readonly payload: Buffer
}

function boxesIn(bytes: Buffer, at = 0): Box[] {
  const boxes: Box[] = []
  for (let offset = 0; offset < bytes.length; ) {
    const size = offset + 8 <= bytes.length ? bytes.readUInt32BE(offset) : 0
    const type = bytes.toString('latin1', offset + 4, offset + 8)
    if (size < 8 || offset + size > bytes.length) throw new BadMedia(`box ${type} of ${size} bytes does not fit`)
    boxes.push({ type, at: at + offset, payload: bytes.subarray(offset + 8, offset + size) })
    offset += size
  }
  return boxes
}

function childOf(bytes: Buffer, ...path: string[]): Buffer {
  const found = path.reduce<Buffer | undefined>(
    (inside, type) => inside && boxesIn(inside).find((box) => box.type === type)?.payload,
    bytes,
  )
  if (found === undefined) throw new BadMedia(`no box ${path.join('/')}`)
  return found
}

const childrenOf = (bytes: Buffer, type: string): Buffer[] =>
  boxesIn(bytes).flatMap((box) => (box.type === type ? [box.payload] : []))

/** @throws BadMedia */
export function readInit(bytes: Buffer): TrackInit[] {
  return guarded(() => {
    const moov = childOf(bytes, 'moov')
    const trexes = childrenOf(childOf(moov, 'mvex'), 'trex')
    return childrenOf(moov, 'trak').map((trak) => trackOf(trak, trexes))
  })
}

function trackOf(trak: Buffer, trexes: readonly Buffer[]): TrackInit {
  const [tkhd, mdhd] = [childOf(trak, 'tkhd'), childOf(trak, 'mdia', 'mdhd')]
  const handler = childOf(trak, 'mdia', 'hdlr').toString('latin1', 8, 12)
  const [entry] = boxesIn(childOf(trak, 'mdia', 'minf', 'stbl', 'stsd').subarray(8))
  if (entry === undefined) throw new BadMedia('an empty stsd')
  const id = tkhd.readUInt32BE(tkhd[0] === 1 ? 20 : 12)
  const trex = trexes.find((box) => box.readUInt32BE(4) === id)
  if (trex === undefined) throw new BadMedia(`no trex of track ${id}`)
  const [duration, size, flags] = [trex.readUInt32BE(12), trex.readUInt32BE(16), trex.readUInt32BE(20)]
  const timescale = mdhd.readUInt32BE(mdhd[0] === 1 ? 20 : 12)
  const about = { id, timescale, defaults: { duration, size, flags } }
  if (handler !== 'vide') return { ...about, kind: 'audio', codec: audioCodec(entry), width: 0, height: 0 }
  const [width, height] = [entry.payload.readUInt16BE(24), entry.payload.readUInt16BE(26)]
  return { ...about, kind: 'video', codec: videoCodec(entry), width, height }
}

/** The boxes of a visual sample entry follow 78 bytes of fields, those of an audio sample entry 28. */
function videoCodec({ type, payload }: Box): string | null {
  if (type !== 'avc1') return null
  return `avc1.${childOf(payload.subarray(78), 'avcC').toString('hex', 1, 4)}`
}

/** The object type is in the first five bits of the decoder's configuration (ISO/IEC 14496-3), in descriptor 5. */
function audioCodec({ type, payload }: Box): string | null {
  if (type !== 'mp4a') return null
  const esds = childOf(payload.subarray(28), 'esds')
  const at = esds.indexOf(5, esds.indexOf(4) + 14)
  let length = at + 1
  while (((esds[length] ?? 0) & 0x80) !== 0) length += 1
  return `mp4a.40.${(esds[length + 1] ?? 0) >> 3}`
}

/** The tracks of a segment or part, each with all of its samples, in the order of their ids. @throws BadMedia */
export function readMedia(bytes: Buffer, init: readonly TrackInit[]): TrackMedia[] {
  return guarded(() => {
    const tracks = new Map<number, { start: number; samples: MediaSample[] }>()
    for (const box of boxesIn(bytes)) {
      if (box.type !== 'moof') continue
      for (const traf of childrenOf(box.payload, 'traf')) {
        const { id, start, samples } = readTraf(bytes, box.at, traf, init)
        const track = tracks.get(id) ?? { start, samples: [] }
        track.samples.push(...samples)
        tracks.set(id, track)
      }
    }
    return [...tracks].map(([id, track]) => ({ id, ...track })).sort((a, b) => a.id - b.id)
  })
}

function readTraf(file: Buffer, moofAt: number, traf: Buffer, init: readonly TrackInit[]): TrackMedia {
  const [tfhd, tfdt] = [childOf(traf, 'tfhd'), childOf(traf, 'tfdt')]
  const id = tfhd.readUInt32BE(4)
  const track = init.find((each) => each.id === id)
  const start = tfdt[0] === 1 ? Number(tfdt.readBigUInt64BE(4)) : tfdt.readUInt32BE(4)
  const defaults = defaultsOf(tfhd, track?.defaults ?? { duration: 0, size: 0, flags: 0 })
  const samples = childrenOf(traf, 'trun').flatMap((trun) => readTrun(file, moofAt, trun, defaults, track))
  return { id, start, samples }
}

/** `tfhd` (section 8.8.7): optional fields in the order of their flags. */
function defaultsOf(tfhd: Buffer, otherwise: Defaults): Defaults {
  const flags = tfhd.readUInt32BE(0) & 0xffffff
  let at = 8 + (flags & 0x1 ? 8 : 0) + (flags & 0x2 ? 4 : 0)
  const field = (bit: number, value: number): number => (flags & bit ? tfhd.readUInt32BE((at += 4) - 4) : value)
  return {
    duration: field(0x8, otherwise.duration),
    size: field(0x10, otherwise.size),
    flags: field(0x20, otherwise.flags),
  }
}

/** `trun` (section 8.8.8). The data offset counts from the `moof`. */
function readTrun(
  file: Buffer,
  moofAt: number,
  trun: Buffer,
  defaults: Defaults,
  track: TrackInit | undefined,
): MediaSample[] {
  const [flags, count] = [trun.readUInt32BE(0) & 0xffffff, trun.readUInt32BE(4)]
  let at = 8
  const field = (bit: number, otherwise: number): number => (flags & bit ? trun.readUInt32BE((at += 4) - 4) : otherwise)
  let dataAt = moofAt + field(0x1, 0)
  const firstFlags = field(0x4, defaults.flags)
  const samples: MediaSample[] = []
  for (let index = 0; index < count; index++) {
    const [duration, size] = [field(0x100, defaults.duration), field(0x200, defaults.size)]
    const own = field(0x400, index === 0 ? firstFlags : defaults.flags)
    field(0x800, 0)
    if (dataAt + size > file.length) throw new BadMedia(`sample ${index} ends after the file`)
    const bytes = file.subarray(dataAt, dataAt + size)
    samples.push({ duration, bytes, key: isKey(bytes, own, track) })
    dataAt += size
  }
  return samples
}

const NON_SYNC = 0x10000
const IDR = 5

function isKey(sample: Buffer, flags: number, track: TrackInit | undefined): boolean {
  if (track?.kind !== 'video' || track.codec === null) return (flags & NON_SYNC) === 0
  for (let at = 0; at + 5 <= sample.length; at += 4 + sample.readUInt32BE(at))
    if (((sample[at + 4] ?? 0) & 31) === IDR) return true
  return false
}

/** A read past the end of a box means that the box is shorter than its fields say. */
function guarded<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof RangeError ? new BadMedia('a truncated box') : error
  }
}

/** Seconds of all samples of a track. */
export function mediaSeconds({ samples }: TrackMedia, { timescale }: TrackInit): number {
  return samples.reduce((sum, { duration }) => sum + duration, 0) / timescale
}

/** Seconds of the longest sample of a track. */
export const longestSeconds = ({ samples }: TrackMedia, { timescale }: TrackInit): number =>
  Math.max(0, ...samples.map(({ duration }) => duration)) / timescale
