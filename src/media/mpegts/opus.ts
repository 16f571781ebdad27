import { opusSamples } from '../codecs/opus.ts'
import { type AudioTrack, rtpAudioTrack } from '../frame.ts'
import { MAX_FRAMES } from './adts.ts'

/** A packet of Opus. */
export interface OpusUnit {
  /** Ticks of 90 kHz since the beginning of the PES packet. */
  readonly offsetTicks: number
  readonly data: Buffer
}

export const OPUS_TRACK: AudioTrack = rtpAudioTrack('opus', 48_000)

const SYNC = 0x7fe0
const SYNC_MASK = 0xffe0
const TRIMS_START = 0x10
const TRIMS_END = 0x08
const HAS_EXTENSION = 0x04
const TICKS_PER_SAMPLE = 90_000 / 48_000

/** The packets of a PES packet, each behind a control header (Opus in MPEG-TS, section 4). Null: they do not add up, or are too many. */
export function readOpusUnits(bytes: Buffer): OpusUnit[] | null {
  const units: OpusUnit[] = []
  let offsetTicks = 0
  for (let at = 0; at < bytes.length; ) {
    const data = unitAt(bytes, at)
    const samples = data === null ? null : opusSamples(data)
    if (data === null || samples === null || units.length === MAX_FRAMES) return null
    units.push({ offsetTicks, data })
    offsetTicks += samples * TICKS_PER_SAMPLE
    at = data.byteOffset - bytes.byteOffset + data.length
  }
  return units
}

/** Null: no whole unit is there. */
function unitAt(bytes: Buffer, begin: number): Buffer | null {
  const head = begin + 2 > bytes.length ? 0 : bytes.readUInt16BE(begin)
  if ((head & SYNC_MASK) !== SYNC) return null
  let [at, size] = [begin + 2, 0]
  for (let more = true; more; at++) {
    size += bytes[at] ?? 0
    more = bytes[at] === 255
  }
  if ((head & TRIMS_START) !== 0) at += 2
  if ((head & TRIMS_END) !== 0) at += 2
  if ((head & HAS_EXTENSION) !== 0) at += 1 + (bytes[at] ?? 0)
  return size === 0 || at + size > bytes.length ? null : bytes.subarray(at, at + size)
}
