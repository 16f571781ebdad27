import { err, ok, type Result } from '../../base/result.ts'
import { alternatives } from '../codecs/codecs.ts'
import { type AudioTrack, rtpAudioTrack } from '../frame.ts'
import {
  parseAacConfig,
  parseAv1Config,
  parseAvcConfig,
  parseHevcConfig,
  parseOpusConfig,
  parseVpConfig,
} from './configurations.ts'
import { damaged, type FlvPayload, type FlvProblem, IGNORED, unsupported } from './flvPayload.ts'

/** Messages of enhanced RTMP (Veovera, version 2), whose codec is a fourcc. Sluice takes the first track of each kind. */

type Kind = 'video' | 'audio'
type Parsed = Result<FlvPayload, FlvProblem>

interface VideoFourcc {
  readonly title: string
  readonly config: (body: Buffer) => Parsed
  /** Frames have a composition time. */
  readonly isReordered: boolean
}

const VIDEO: Readonly<Record<string, VideoFourcc>> = {
  avc1: { title: 'H.264', config: parseAvcConfig, isReordered: true },
  hvc1: { title: 'HEVC', config: parseHevcConfig, isReordered: true },
  av01: { title: 'AV1', config: parseAv1Config, isReordered: false },
  vp09: { title: 'VP9', config: () => parseVpConfig('vp9'), isReordered: false },
  vp08: { title: 'VP8', config: () => parseVpConfig('vp8'), isReordered: false },
}

interface AudioFourcc {
  readonly title: string
  readonly config: (body: Buffer) => Parsed
  /** What frames say of their track. */
  readonly described: { readonly track?: AudioTrack }
  readonly maxBytes: number
}

/** One frame of Opus has no more bytes (RFC 6716 section 3.2.1), and fits a datagram. */
const OPUS_MAX_BYTES = 1275
const OPUS = { track: rtpAudioTrack('opus', 48_000) }

const AUDIO: Readonly<Record<string, AudioFourcc>> = {
  mp4a: { title: 'AAC', config: parseAacConfig, described: {}, maxBytes: Number.POSITIVE_INFINITY },
  Opus: { title: 'Opus', config: parseOpusConfig, described: OPUS, maxBytes: OPUS_MAX_BYTES },
}

/** What can be published, for the answer to `connect`. */
export const VIDEO_FOURCCS = Object.keys(VIDEO)
export const AUDIO_FOURCCS = Object.keys(AUDIO)

const titlesOf = (codecs: Readonly<Record<string, { readonly title: string }>>): string =>
  alternatives(Object.values(codecs).map(({ title }) => title))

const TITLES: Readonly<Record<Kind, string>> = { video: titlesOf(VIDEO), audio: titlesOf(AUDIO) }

/** Packet types, of both kinds unless the name says otherwise. */
const PACKET = {
  sequenceStart: 0,
  codedFrames: 1,
  videoFramesX: 3,
  metadata: 4,
  videoMpegTsStart: 5,
  modEx: 7,
} as const
const MULTITRACK: Readonly<Record<Kind, number>> = { video: 6, audio: 5 }
const ONE_TRACK = 0
const COMMAND_FRAME = 5
const KEYFRAME = 1

/** Reads a video message of enhanced RTMP. The refusal names what is not supported, and what to send instead. */
export function parseEnhancedVideo(payload: Buffer): Parsed {
  const first = payload.readUInt8(0)
  const frameType = (first >> 4) & 7
  if (frameType === COMMAND_FRAME && (first & 0x0f) !== PACKET.metadata) return ok(IGNORED)
  const read = readHeader(payload, 'video')
  if (!read.ok) return read
  const { type, fourcc, body, offsetUs } = read.value
  const codec = VIDEO[fourcc]
  if (codec === undefined) return unknown('video', fourcc)
  if (type === PACKET.videoMpegTsStart)
    return unsupported(`${codec.title} as in MPEG-TS is not supported; send it as in MP4`)
  if (body.length === 0) return ok(IGNORED)
  if (type === PACKET.sequenceStart) return codec.config(body)
  if (type !== PACKET.codedFrames && type !== PACKET.videoFramesX) return ok(IGNORED)
  const hasComposition = codec.isReordered && type === PACKET.codedFrames
  if (hasComposition && body.length < 3) return cutShort('video')
  const compositionMs = hasComposition ? body.readIntBE(0, 3) : 0
  const data = hasComposition ? body.subarray(3) : body
  if (data.length === 0) return ok(IGNORED)
  return ok({ kind: 'video', key: frameType === KEYFRAME, compositionMs, data, offsetUs })
}

/** Reads an audio message of enhanced RTMP. The refusal names what is not supported, and what to send instead. */
export function parseEnhancedAudio(payload: Buffer): Parsed {
  const read = readHeader(payload, 'audio')
  if (!read.ok) return read
  const { type, fourcc, body, offsetUs } = read.value
  const codec = AUDIO[fourcc]
  if (codec === undefined) return unknown('audio', fourcc)
  if (body.length === 0) return ok(IGNORED)
  if (type === PACKET.sequenceStart) return codec.config(body)
  if (type !== PACKET.codedFrames) return ok(IGNORED)
  if (body.length > codec.maxBytes) return damaged(`A packet of ${codec.title} has more than ${codec.maxBytes} bytes`)
  return ok({ kind: 'audio', data: body, offsetUs, ...codec.described })
}

interface Packet {
  readonly type: number
  readonly fourcc: string
  readonly body: Buffer
  readonly offsetUs: number
}

const FOURCC_BYTES = 4

/** Reads everything before the body of the first track. */
function readHeader(payload: Buffer, kind: Kind): Result<Packet, FlvProblem> {
  const modified = readModifiers(payload)
  if (modified === null) return cutShort(kind)
  let { type, at } = modified
  const isMultitrack = type === MULTITRACK[kind]
  if (isMultitrack) {
    const types = payload[at++] ?? 0
    type = types & 0x0f
    if (types >> 4 !== ONE_TRACK)
      return unsupported(`A message with several ${kind} tracks is not supported; send one track`)
  }
  const end = at + FOURCC_BYTES + (isMultitrack ? 1 : 0)
  if (payload.length < end) return cutShort(kind)
  if (isMultitrack && payload.readUInt8(end - 1) > 0) return further(kind)
  const fourcc = payload.toString('latin1', at, at + FOURCC_BYTES)
  return ok({ type, fourcc, body: payload.subarray(end), offsetUs: modified.offsetUs })
}

const MOD_EX_NANOSECONDS = 0
/** A size of 256 has its real value behind it. */
const MOD_EX_LONG = 256
const NANOSECONDS_MAX = 999_999

/** Reads the extensions in front of the packet type; unknown ones are passed over. Null: one is cut short. */
function readModifiers(payload: Buffer): { type: number; at: number; offsetUs: number } | null {
  let [type, at, offsetUs] = [payload.readUInt8(0) & 0x0f, 1, 0]
  while (type === PACKET.modEx) {
    let size = (payload[at++] ?? 0) + 1
    if (size === MOD_EX_LONG && at + 2 <= payload.length) {
      size = payload.readUInt16BE(at) + 1
      at += 2
    }
    const end = at + size
    const types = payload[end]
    if (types === undefined) return null
    if (types >> 4 === MOD_EX_NANOSECONDS && size >= 3) {
      offsetUs = Math.floor(Math.min(NANOSECONDS_MAX, payload.readUIntBE(at, 3)) / 1000)
    }
    type = types & 0x0f
    at = end + 1
  }
  return { type, at, offsetUs }
}

const cutShort = (kind: Kind): Result<never, FlvProblem> =>
  damaged(`${kind === 'video' ? 'A video' : 'An audio'} message is cut short`)

const further = (kind: Kind): Result<never, FlvProblem> =>
  err({ kind: 'further', text: `The publisher sends several ${kind} tracks; only the first one is taken` })

function unknown(kind: Kind, fourcc: string): Result<never, FlvProblem> {
  const name = /^[\w.-]{4}$/.test(fourcc) ? fourcc : 'of enhanced RTMP'
  return unsupported(`${kind === 'video' ? 'Video' : 'Audio'} codec ${name} is not supported; send ${TITLES[kind]}`)
}
