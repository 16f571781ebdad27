import type { TsVideoCodec } from './video.ts'

/** The tables that tell what a transport stream has, ISO/IEC 13818-1 sections 2.4.4.3 to 2.4.4.9. */

const PAT = 0
const PMT = 2
/** Up to the last section number. */
const HEAD_BYTES = 8
const CRC_BYTES = 4

/** `codec`: null: it is not taken. AAC comes in ADTS. `title`: as people write it. */
type Contents =
  | { readonly kind: 'video'; readonly codec: TsVideoCodec | null; readonly title: string }
  | { readonly kind: 'audio'; readonly codec: 'aac' | 'opus' | null; readonly title: string }

export type TsStream = Contents & { readonly pid: number }

/** The PID of the PMT of each program; null: the section is no PAT that counts now. */
export function readPat(section: Buffer): number[] | null {
  const body = bodyOf(section, PAT)
  if (body === null) return null
  const pids: number[] = []
  for (let at = 0; at + 4 <= body.length; at += 4) {
    // Program 0 is the network.
    if (body.readUInt16BE(at) !== 0) pids.push(body.readUInt16BE(at + 2) & 0x1fff)
  }
  return pids
}

/** Its video and audio, in order; null: the section is no PMT that counts now. What is neither is left out. */
export function readPmt(section: Buffer): TsStream[] | null {
  const body = bodyOf(section, PMT)
  if (body === null || body.length < 4) return null
  const streams: TsStream[] = []
  let at = 4 + (body.readUInt16BE(2) & 0x0fff)
  while (at + 5 <= body.length) {
    const end = at + 5 + (body.readUInt16BE(at + 3) & 0x0fff)
    const pid = body.readUInt16BE(at + 1) & 0x1fff
    const contents = contentsOf(body.readUInt8(at), body.subarray(at + 5, end))
    if (contents !== null) streams.push({ pid, ...contents })
    at = end
  }
  return streams
}

function bodyOf(section: Buffer, table: number): Buffer | null {
  if (section.length < HEAD_BYTES + CRC_BYTES || section[0] !== table) return null
  const isCurrent = (section.readUInt8(5) & 1) !== 0
  return isCurrent ? section.subarray(HEAD_BYTES, -CRC_BYTES) : null
}

const video = (title: string, codec: TsVideoCodec | null = null): Contents => ({ kind: 'video', codec, title })
const audio = (title: string, codec: 'aac' | 'opus' | null = null): Contents => ({ kind: 'audio', codec, title })

const HEVC = video('HEVC', 'hevc')

/** By stream_type (table 2-34). The last rows are those of ATSC and of Blu-ray. */
const CONTENTS: Readonly<Record<number, Contents>> = {
  0x1b: video('H.264', 'h264'),
  0x0f: audio('AAC', 'aac'),
  0x01: video('MPEG-1'),
  0x02: video('MPEG-2'),
  0x10: video('MPEG-4 Visual'),
  0x21: video('JPEG 2000'),
  0x24: HEVC,
  0x33: video('VVC'),
  0x03: audio('MPEG audio (MP2, MP3)'),
  0x04: audio('MPEG audio (MP2, MP3)'),
  0x11: audio('AAC in LATM'),
  0x1c: audio('AAC without ADTS'),
  0x2d: audio('MPEG-H'),
  0x81: audio('AC-3'),
  0x87: audio('E-AC-3'),
  0xea: video('VC-1'),
}

/** By the identifier of a registration descriptor. */
const REGISTERED: Readonly<Record<string, Contents>> = {
  Opus: audio('Opus', 'opus'),
  'AC-3': audio('AC-3'),
  EAC3: audio('E-AC-3'),
  BSSD: audio('SMPTE 302M'),
  DTS1: audio('DTS'),
  DTS2: audio('DTS'),
  DTS3: audio('DTS'),
  HEVC,
  AV01: video('AV1'),
  'VC-1': video('VC-1'),
}

/** By the tag of a descriptor of DVB (ETSI EN 300 468). */
const BY_TAG: Readonly<Record<number, Contents>> = { 0x6a: audio('AC-3'), 0x7a: audio('E-AC-3'), 0x7b: audio('DTS') }

const PRIVATE_DATA = 6
const REGISTRATION = 5
/** An extension descriptor of DVB; its first byte says which. */
const EXTENSION = 0x7f
/** The channels of Opus: 0 to 2 are mono and stereo. */
const OPUS_CHANNELS = 0x80

function contentsOf(type: number, descriptors: Buffer): Contents | null {
  if (type !== PRIVATE_DATA) return CONTENTS[type] ?? null
  const all = readDescriptors(descriptors)
  if (all.some(({ tag, body }) => tag === EXTENSION && body[0] === OPUS_CHANNELS && (body[1] ?? 0) > 2)) {
    return audio('Opus with more than two channels')
  }
  for (const { tag, body } of all) {
    const found = tag === REGISTRATION ? REGISTERED[body.toString('latin1', 0, 4)] : BY_TAG[tag]
    if (found) return found
  }
  return null
}

function readDescriptors(bytes: Buffer): { readonly tag: number; readonly body: Buffer }[] {
  const all: { tag: number; body: Buffer }[] = []
  let at = 0
  while (at + 2 <= bytes.length) {
    const end = at + 2 + bytes.readUInt8(at + 1)
    all.push({ tag: bytes.readUInt8(at), body: bytes.subarray(at + 2, end) })
    at = end
  }
  return all
}
