/** The tables that tell what a transport stream has, ISO/IEC 13818-1 sections 2.4.4.3 to 2.4.4.9. */

const PAT = 0
const PMT = 2
/** Up to the last section number. */
const HEAD_BYTES = 8
const CRC_BYTES = 4

export interface TsStream {
  readonly pid: number
  readonly kind: 'video' | 'audio'
  /** Null: H.264, or AAC in ADTS. Otherwise what it is, as people write it. */
  readonly unsupported: string | null
}

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

type Contents = Omit<TsStream, 'pid'>

const video = (unsupported: string | null): Contents => ({ kind: 'video', unsupported })
const audio = (unsupported: string | null): Contents => ({ kind: 'audio', unsupported })

/** By stream_type (table 2-34). The last rows are those of ATSC and of Blu-ray. */
const CONTENTS: Readonly<Record<number, Contents>> = {
  0x1b: video(null),
  0x0f: audio(null),
  0x01: video('MPEG-1'),
  0x02: video('MPEG-2'),
  0x10: video('MPEG-4 Visual'),
  0x21: video('JPEG 2000'),
  0x24: video('HEVC'),
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
  Opus: audio('Opus'),
  'AC-3': audio('AC-3'),
  EAC3: audio('E-AC-3'),
  BSSD: audio('SMPTE 302M'),
  DTS1: audio('DTS'),
  DTS2: audio('DTS'),
  DTS3: audio('DTS'),
  HEVC: video('HEVC'),
  AV01: video('AV1'),
  'VC-1': video('VC-1'),
}

/** By the tag of a descriptor of DVB (ETSI EN 300 468). */
const BY_TAG: Readonly<Record<number, Contents>> = { 0x6a: audio('AC-3'), 0x7a: audio('E-AC-3'), 0x7b: audio('DTS') }

const PRIVATE_DATA = 6
const REGISTRATION = 5

function contentsOf(type: number, descriptors: Buffer): Contents | null {
  if (type !== PRIVATE_DATA) return CONTENTS[type] ?? null
  let at = 0
  while (at + 2 <= descriptors.length) {
    const end = at + 2 + descriptors.readUInt8(at + 1)
    const tag = descriptors.readUInt8(at)
    const found = tag === REGISTRATION ? REGISTERED[descriptors.toString('latin1', at + 2, at + 6)] : BY_TAG[tag]
    if (found) return found
    at = end
  }
  return null
}
