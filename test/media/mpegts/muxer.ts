import { crcOf } from '../../../src/media/mpegts/sections.ts'
import { HEVC_CONFIG } from '../rtmp/media.ts'

export const PMT_PID = 0x1000
export const VIDEO_PID = 0x100
export const AUDIO_PID = 0x101

/** It carries nothing: multiplexers of a constant rate fill gaps with it. */
export const NULL_PACKET = Buffer.concat([Buffer.from([0x47, 0x1f, 0xff, 0x10]), Buffer.alloc(184, 0xff)])

/** Parameter sets of 320x240, constrained baseline, and pictures without meaning to a decoder. */
export const SPS = Buffer.from('6742c00dda0507e84000000300400000 0f03c50aa8'.replaceAll(' ', ''), 'hex')
export const PPS = Buffer.from('68ce0fc8', 'hex')
const START = Buffer.from([0, 0, 0, 1])

export const annexB = (...nals: readonly Buffer[]): Buffer => Buffer.concat(nals.flatMap((nal) => [START, nal]))
export const keyframe = (bytes = 300): Buffer =>
  annexB(Buffer.from([9, 0xf0]), SPS, PPS, Buffer.concat([Buffer.from([0x65, 0x88]), Buffer.alloc(bytes, 0x55)]))
export const deltaFrame = (bytes = 300): Buffer =>
  annexB(Buffer.from([9, 0xf0]), Buffer.concat([Buffer.from([0x41, 0x9a]), Buffer.alloc(bytes, 0x55)]))

/** AAC in ADTS: low complexity, 48 kHz, two channels. */
export function adts(bytes = 50, fill = 0x21): Buffer {
  const length = 7 + bytes
  const head = Buffer.from([
    0xff,
    0xf1,
    0x4c,
    0x80 | (length >> 11),
    (length >> 3) & 255,
    ((length & 7) << 5) | 31,
    0xfc,
  ])
  return Buffer.concat([head, Buffer.alloc(bytes, fill)])
}

/** VPS, SPS and PPS of HEVC, and pictures without meaning to a decoder. */
export const HEVC_SETS: readonly Buffer[] = setsOf(HEVC_CONFIG)
export const HEVC_IDR = Buffer.from([0x26, 1, 0xaf, 0x55])
export const HEVC_TRAILING = Buffer.from([2, 1, 0xd0, 0x55])

/** Each is the only set of its array. */
function setsOf(record: Buffer): Buffer[] {
  const sets: Buffer[] = []
  for (let at = 23; at < record.length; at += 5 + (sets.at(-1)?.length ?? 0)) {
    sets.push(record.subarray(at + 5, at + 5 + record.readUInt16BE(at + 3)))
  }
  return sets
}

export const opusDescriptors = (channels: number): Buffer =>
  Buffer.concat([Buffer.from([5, 4]), Buffer.from('Opus', 'latin1'), Buffer.from([0x7f, 2, 0x80, channels])])
/** 20 ms of stereo. */
export const opusPacket = (bytes: number): Buffer =>
  Buffer.concat([Buffer.from([0xfc]), Buffer.alloc(bytes - 1, bytes & 255)])
/** A packet of less than 255 bytes with its head. */
export const opusUnit = (packet: Buffer): Buffer => Buffer.concat([Buffer.from([0x7f, 0xe0, packet.length]), packet])

export const H264 = 0x1b
export const HEVC = 0x24
export const AAC = 0x0f

/** A PSI section with its CRC. `body` follows the last section number. */
export function section(table: number, id: number, body: Buffer, version = 0): Buffer {
  const head = Buffer.from([table, 0, 0, id >> 8, id & 255, 0xc1 | (version << 1), 0, 0])
  head.writeUInt16BE(0xb000 | (5 + body.length + 4), 1)
  const bytes = Buffer.concat([head, body])
  const crc = Buffer.alloc(4)
  crc.writeUInt32BE(crcOf(bytes))
  return Buffer.concat([bytes, crc])
}

export const pat = (...pmtPids: readonly number[]): Buffer =>
  section(0, 1, Buffer.concat(pmtPids.map((pid, at) => Buffer.from([0, at + 1, 0xe0 | (pid >> 8), pid & 255]))))

export interface WrittenStream {
  readonly type: number
  readonly pid: number
  readonly descriptors?: Buffer
}

export function pmt(streams: readonly WrittenStream[], version = 0): Buffer {
  const rows = streams.flatMap(({ type, pid, descriptors = Buffer.alloc(0) }) => [
    Buffer.from([type, 0xe0 | (pid >> 8), pid & 255, 0xf0, descriptors.length]),
    descriptors,
  ])
  return section(2, 1, Buffer.concat([Buffer.from([0xe1, 0, 0xf0, 0]), ...rows]), version)
}

const TIME_MARKERS = { both: 0x31, decode: 0x11, alone: 0x21 }

function time(marker: number, ticks: number): Buffer {
  const wrapped = ((ticks % 2 ** 33) + 2 ** 33) % 2 ** 33
  const bytes = Buffer.alloc(5)
  bytes[0] = marker | (Math.floor(wrapped / 2 ** 30) << 1)
  bytes.writeUInt16BE((Math.floor(wrapped / 2 ** 15) % 2 ** 15) * 2 + 1, 1)
  bytes.writeUInt16BE((wrapped % 2 ** 15) * 2 + 1, 3)
  return bytes
}

export interface WrittenPes {
  readonly id: number
  /** Ticks of 90 kHz; absent: the packet has none. */
  readonly presentation?: number
  readonly decode?: number
  readonly hasLength?: boolean
}

export function pes(data: Buffer, { id, presentation, decode, hasLength = false }: WrittenPes): Buffer {
  const times: Buffer[] = []
  if (presentation !== undefined)
    times.push(time(decode === undefined ? TIME_MARKERS.alone : TIME_MARKERS.both, presentation))
  if (presentation !== undefined && decode !== undefined) times.push(time(TIME_MARKERS.decode, decode))
  const optional = Buffer.concat(times)
  const flags = [0, 0x80, 0xc0][times.length] ?? 0
  const head = Buffer.from([0, 0, 1, id, 0, 0, 0x80, flags, optional.length])
  if (hasLength) head.writeUInt16BE(3 + optional.length + data.length, 4)
  return Buffer.concat([head, optional, data])
}

/** Writes packets of a transport stream, and counts those of each PID. */
export class TsMuxer {
  readonly #counters = new Map<number, number>()

  tables(streams: readonly WrittenStream[], version = 0): Buffer {
    return Buffer.concat([this.section(0, pat(PMT_PID)), this.section(PMT_PID, pmt(streams, version))])
  }

  section(pid: number, bytes: Buffer): Buffer {
    const whole = Buffer.concat([Buffer.from([0]), bytes])
    const end = Math.ceil(whole.length / 184) * 184
    return this.packets(pid, Buffer.concat([whole, Buffer.alloc(end - whole.length, 0xff)]))
  }

  video(data: Buffer, presentation: number, decode = presentation): Buffer {
    return this.packets(VIDEO_PID, pes(data, { id: 0xe0, presentation, decode }))
  }

  audio(data: Buffer, presentation: number): Buffer {
    return this.packets(AUDIO_PID, pes(data, { id: 0xc0, presentation, hasLength: true }))
  }

  /** Fills up packets with an adaptation field. @param most of a payload */
  packets(pid: number, data: Buffer, most = 184): Buffer {
    const packets: Buffer[] = []
    for (let at = 0; at < data.length; ) {
      const payload = data.subarray(at, Math.min(data.length, at + most))
      packets.push(this.#packet(pid, payload, at === 0))
      at += payload.length
    }
    return Buffer.concat(packets)
  }

  #packet(pid: number, payload: Buffer, isStart: boolean): Buffer {
    const counter = this.#counters.get(pid) ?? 0
    this.#counters.set(pid, (counter + 1) & 15)
    const stuffing = 184 - payload.length
    const head = Buffer.from([
      0x47,
      (isStart ? 0x40 : 0) | (pid >> 8),
      pid & 255,
      (stuffing > 0 ? 0x30 : 0x10) | counter,
    ])
    const field = stuffing === 0 ? [] : [stuffing - 1, ...(stuffing > 1 ? [0, ...Array(stuffing - 2).fill(0xff)] : [])]
    return Buffer.concat([head, Buffer.from(field as number[]), payload])
  }
}

export const BOTH: readonly WrittenStream[] = [
  { type: H264, pid: VIDEO_PID },
  { type: AAC, pid: AUDIO_PID },
]
