import { allBoxes, boxesIn, find, typeAt, viewOf } from '../codecs/boxes.ts'

/** The boxes before the fragments: `ftyp` and `moov`. */
export interface Init {
  readonly bytes: Buffer
  readonly tracks: readonly InitTrack[]
}

export interface InitTrack {
  readonly id: number
  readonly kind: 'video' | 'audio'
  /** Time units in a second. */
  readonly timescale: number
  /** Duration, in units of the timescale, and flags of a sample that does not set its own. */
  readonly defaults: SampleDefaults
}

interface SampleDefaults {
  readonly duration: number
  readonly flags: number
}

/** A `moof` with its `mdat`. */
export interface Mp4Fragment {
  readonly bytes: Buffer
  /** Seconds since the beginning of the stream, of the video track where there is one. */
  readonly start: number
  /** Seconds. */
  readonly duration: number
  /** A decoder can begin here. */
  readonly key: boolean
}

/** The stream is not fragmented MP4, or a box is malformed or larger than any real one. */
export class BadStream extends Error {
  override readonly name = 'BadStream'
}

const MAX_BOX_BYTES = 64 * 1024 * 1024
/** `sample_is_non_sync_sample` (ISO/IEC 14496-12 section 8.8.3.1). */
const NON_SYNC = 0x10000

/**
 * Reads fragmented MP4 as a process writes it, in pieces of any size.
 * @throws BadStream
 */
export class FragmentReader {
  readonly #onInit: (init: Init) => void
  readonly #onFragment: (fragment: Mp4Fragment) => void
  #pending: Buffer[] = []
  #pendingBytes = 0
  #needed = 8
  /** A `ftyp` or `moof` that waits for the box after it. */
  #first: Buffer[] = []
  #init: Init | null = null

  constructor(onInit: (init: Init) => void, onFragment: (fragment: Mp4Fragment) => void) {
    this.#onInit = onInit
    this.#onFragment = onFragment
  }

  write(chunk: Buffer): void {
    this.#pending.push(chunk)
    this.#pendingBytes += chunk.length
    if (this.#pendingBytes < this.#needed) return
    let rest = Buffer.concat(this.#pending)
    for (;;) {
      this.#needed = rest.length < 8 ? 8 : sizeOf(rest)
      if (rest.length < this.#needed) break
      this.#take(rest.subarray(0, this.#needed))
      rest = rest.subarray(this.#needed)
    }
    this.#pending = [rest]
    this.#pendingBytes = rest.length
  }

  #take(box: Buffer): void {
    const type = typeAt(viewOf(box), 4)
    if (type === 'ftyp' || type === 'moof') this.#first = [box]
    else if (type === 'moov') this.#begin(Buffer.concat([...this.#first, box]))
    else if (type === 'mdat' && this.#init !== null) this.#fragment(Buffer.concat([...this.#first, box]), this.#init)
  }

  #begin(bytes: Buffer): void {
    this.#first = []
    this.#init = { bytes, tracks: whole(() => tracksOf(viewOf(bytes))) }
    this.#onInit(this.#init)
  }

  #fragment(bytes: Buffer, init: Init): void {
    this.#first = []
    const timing = whole(() => timingOf(viewOf(bytes), init.tracks))
    if (timing !== null) this.#onFragment({ bytes, ...timing })
  }
}

/** Runs a parser; a read past the end means that a box is shorter than its fields say. */
function whole<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof RangeError ? new BadStream('a truncated box') : error
  }
}

function sizeOf(bytes: Buffer): number {
  const size = bytes.readUInt32BE(0)
  if (size < 8 || size > MAX_BOX_BYTES) throw new BadStream(`a box of ${size} bytes`)
  return size
}

function tracksOf(init: DataView): InitTrack[] {
  const moov = find(init, 'moov')
  if (moov === undefined) throw new BadStream('no moov')
  const defaults = new Map(
    allBoxes(find(moov, 'mvex') ?? new DataView(new ArrayBuffer(0)), 'trex').map((trex) => [
      trex.getUint32(4),
      { duration: trex.getUint32(12), flags: trex.getUint32(20) },
    ]),
  )
  return allBoxes(moov, 'trak').flatMap((trak): InitTrack[] => {
    const [tkhd, mdhd, hdlr] = [find(trak, 'tkhd'), find(trak, 'mdia', 'mdhd'), find(trak, 'mdia', 'hdlr')]
    if (!tkhd || !mdhd || !hdlr) return []
    const id = tkhd.getUint32(tkhd.getUint8(0) === 1 ? 20 : 12)
    const timescale = mdhd.getUint32(mdhd.getUint8(0) === 1 ? 20 : 12)
    const kind = { vide: 'video' as const, soun: 'audio' as const }[typeAt(hdlr, 8)]
    return kind && timescale > 0
      ? [{ id, kind, timescale, defaults: defaults.get(id) ?? { duration: 0, flags: 0 } }]
      : []
  })
}

/** The timing of the video track, or of the only one. Null for a fragment without its samples. */
function timingOf(fragment: DataView, tracks: readonly InitTrack[]): Omit<Mp4Fragment, 'bytes'> | null {
  const lead = tracks.find((track) => track.kind === 'video') ?? tracks[0]
  const moof = find(fragment, 'moof')
  if (!lead || !moof) return null
  for (const traf of allBoxes(moof, 'traf')) {
    const found = readTraf(traf, lead)
    if (found !== null) return found
  }
  return null
}

function readTraf(traf: DataView, track: InitTrack): Omit<Mp4Fragment, 'bytes'> | null {
  const [tfhd, tfdt, trun] = [find(traf, 'tfhd'), find(traf, 'tfdt'), find(traf, 'trun')]
  if (!tfhd || !tfdt || !trun || tfhd.getUint32(4) !== track.id) return null
  const start = tfdt.getUint8(0) === 1 ? Number(tfdt.getBigUint64(4)) : tfdt.getUint32(4)
  const { duration, firstFlags } = readTrun(trun, defaultsOf(tfhd, track.defaults))
  return { start: start / track.timescale, duration: duration / track.timescale, key: (firstFlags & NON_SYNC) === 0 }
}

/** `tfhd` (section 8.8.7): optional fields in the order of their flags. */
function defaultsOf(tfhd: DataView, { duration, flags }: SampleDefaults): SampleDefaults {
  const given = tfhd.getUint32(0) & 0xffffff
  let at = 8 + (given & 0x1 ? 8 : 0) + (given & 0x2 ? 4 : 0)
  const next = (): number => tfhd.getUint32((at += 4) - 4)
  const ownDuration = given & 0x8 ? next() : duration
  if (given & 0x10) next()
  return { duration: ownDuration, flags: given & 0x20 ? next() : flags }
}

/** `trun` (section 8.8.8). */
function readTrun(trun: DataView, defaults: SampleDefaults): { duration: number; firstFlags: number } {
  const given = trun.getUint32(0) & 0xffffff
  const count = trun.getUint32(4)
  let at = 8 + (given & 0x1 ? 4 : 0)
  const next = (): number => trun.getUint32((at += 4) - 4)
  let firstFlags = given & 0x4 ? next() : null
  let duration = 0
  for (let sample = 0; sample < count; sample++) {
    duration += given & 0x100 ? next() : defaults.duration
    if (given & 0x200) next()
    const flags = given & 0x400 ? next() : defaults.flags
    firstFlags ??= flags
    if (given & 0x800) next()
  }
  return { duration, firstFlags: firstFlags ?? defaults.flags }
}

/** The `avc1.…` name of the H.264 stream in an init (RFC 6381), or null. */
export function avcCodec(init: DataView): string | null {
  const entries = [...allBoxes(find(init, 'moov') ?? init, 'trak')].map((trak) =>
    find(trak, 'mdia', 'minf', 'stbl', 'stsd'),
  )
  for (const stsd of entries) {
    if (stsd === undefined || stsd.byteLength < 16 || typeAt(stsd, 12) !== 'avc1') continue
    // The boxes of a visual sample entry follow 78 bytes of fixed fields (section 12.1.3).
    const inside = new DataView(stsd.buffer, stsd.byteOffset + 16 + 78, Math.max(0, stsd.byteLength - 16 - 78))
    for (const box of boxesIn(inside)) if (box.type === 'avcC') return `avc1.${hex(box.payload, 1, 4)}`
  }
  return null
}

const hex = (bytes: DataView, from: number, to: number): string =>
  Array.from({ length: to - from }, (_, i) =>
    bytes
      .getUint8(from + i)
      .toString(16)
      .padStart(2, '0'),
  ).join('')
