import { ok, type Result } from '../../base/result.ts'
import { coded } from '../../core/notices.ts'
import { unsupportedCodec } from '../codecs/codecs.ts'
import { type AudioTrack, rtpAudioTrack } from '../frame.ts'
import {
  parseAacConfig,
  parseAv1Config,
  parseAvcConfig,
  parseHevcConfig,
  parseOpusConfig,
  parseVpConfig,
} from './configurations.ts'
import {
  damaged,
  type FlvPart,
  type FlvPayload,
  type FlvProblem,
  IGNORED,
  ofOnlyTrack,
  unsupported,
} from './flvPayload.ts'

/** Messages of enhanced RTMP (Veovera, version 2), whose codec is a fourcc. They may be of several tracks. */

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

const titlesOf = (codecs: Readonly<Record<string, { readonly title: string }>>): readonly string[] =>
  Object.values(codecs).map(({ title }) => title)

const TITLES: Readonly<Record<Kind, readonly string[]>> = { video: titlesOf(VIDEO), audio: titlesOf(AUDIO) }

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
/** How the tracks of a message lie in it. */
const MULTITRACK_TYPE = { oneTrack: 0, manyTracks: 1, manyTracksManyCodecs: 2 } as const
/** More tracks of one kind than any publisher puts in a message. */
const MAX_TRACKS = 16
const COMMAND_FRAME = 5
const KEYFRAME = 1

/** Reads a video message of enhanced RTMP. A refusal names what is not supported, and what to send instead. */
export function parseEnhancedVideo(payload: Buffer): FlvPart[] {
  const first = payload.readUInt8(0)
  const frameType = (first >> 4) & 7
  if (frameType === COMMAND_FRAME && (first & 0x0f) !== PACKET.metadata) return ofOnlyTrack(ok(IGNORED))
  return readParts(payload, 'video', (packet) => readVideo(packet, frameType === KEYFRAME))
}

function readVideo({ type, fourcc, body, offsetUs }: Packet, key: boolean): Parsed {
  const codec = VIDEO[fourcc]
  if (codec === undefined) return unknown('video', fourcc)
  if (type === PACKET.videoMpegTsStart) return unsupported(coded('codec_as_in_ts', { codec: codec.title }))
  if (body.length === 0) return ok(IGNORED)
  if (type === PACKET.sequenceStart) return codec.config(body)
  if (type !== PACKET.codedFrames && type !== PACKET.videoFramesX) return ok(IGNORED)
  const hasComposition = codec.isReordered && type === PACKET.codedFrames
  if (hasComposition && body.length < 3) return cutShort('video')
  const compositionMs = hasComposition ? body.readIntBE(0, 3) : 0
  const data = hasComposition ? body.subarray(3) : body
  return data.length === 0 ? ok(IGNORED) : ok({ kind: 'video', key, compositionMs, data, offsetUs })
}

/** Reads an audio message of enhanced RTMP, as `parseEnhancedVideo` does. */
export const parseEnhancedAudio = (payload: Buffer): FlvPart[] => readParts(payload, 'audio', readAudio)

function readAudio({ type, fourcc, body, offsetUs }: Packet): Parsed {
  const codec = AUDIO[fourcc]
  if (codec === undefined) return unknown('audio', fourcc)
  if (body.length === 0) return ok(IGNORED)
  if (type === PACKET.sequenceStart) return codec.config(body)
  if (type !== PACKET.codedFrames) return ok(IGNORED)
  if (body.length > codec.maxBytes) return damaged(`A packet of ${codec.title} has more than ${codec.maxBytes} bytes`)
  return ok({ kind: 'audio', data: body, offsetUs, ...codec.described })
}

/** What a message has of a track: its type, and what lies behind its header. */
interface Packet {
  readonly type: number
  readonly fourcc: string
  readonly body: Buffer
  readonly offsetUs: number
}

const FOURCC_BYTES = 4
const SIZE_BYTES = 3

function readParts(payload: Buffer, kind: Kind, read: (packet: Packet) => Parsed): FlvPart[] {
  const head = readModifiers(payload)
  if (head === null) return ofOnlyTrack(cutShort(kind))
  const { type, at, offsetUs } = head
  if (type === MULTITRACK[kind]) return readTracks(payload, kind, head, read)
  if (payload.length < at + FOURCC_BYTES) return ofOnlyTrack(cutShort(kind))
  const [fourcc, body] = [fourccAt(payload, at), payload.subarray(at + FOURCC_BYTES)]
  return ofOnlyTrack(read({ type, fourcc, body, offsetUs }))
}

/**
 * The tracks of a message, up to the first that is cut short. Their id follows the fourcc, which is one for all unless each has
 * its own; where there may be several, their size follows the id.
 */
function readTracks(payload: Buffer, kind: Kind, head: Head, read: (packet: Packet) => Parsed): FlvPart[] {
  const types = payload[head.at] ?? 0
  const [form, type] = [types >> 4, types & 0x0f]
  if (form > MULTITRACK_TYPE.manyTracksManyCodecs)
    return ofOnlyTrack(unsupported(coded(`${kind}_tracks_form`, { form })))
  const hasOwnFourccs = form === MULTITRACK_TYPE.manyTracksManyCodecs
  const hasSizes = form !== MULTITRACK_TYPE.oneTrack
  const shared = hasOwnFourccs ? '' : fourccAt(payload, head.at + 1)
  const parts: FlvPart[] = []
  let at = head.at + 1 + (hasOwnFourccs ? 0 : FOURCC_BYTES)
  do {
    const fourcc = hasOwnFourccs ? fourccAt(payload, at) : shared
    if (hasOwnFourccs) at += FOURCC_BYTES
    const trackId = payload[at++] ?? 0
    const from = hasSizes ? at + SIZE_BYTES : at
    if (from > payload.length) return [...parts, ...ofOnlyTrack(cutShort(kind))]
    const end = hasSizes ? from + payload.readUIntBE(at, SIZE_BYTES) : payload.length
    if (end > payload.length) return [...parts, ...ofOnlyTrack(cutShort(kind))]
    parts.push({ trackId, read: read({ type, fourcc, body: payload.subarray(from, end), offsetUs: head.offsetUs }) })
    at = end
  } while (at < payload.length && parts.length < MAX_TRACKS)
  return parts
}

const fourccAt = (payload: Buffer, at: number): string => payload.toString('latin1', at, at + FOURCC_BYTES)

const MOD_EX_NANOSECONDS = 0
/** A size of 256 has its real value behind it. */
const MOD_EX_LONG = 256
const NANOSECONDS_MAX = 999_999

/** What all tracks of a message share. */
interface Head {
  readonly type: number
  /** Where the rest of the message begins. */
  readonly at: number
  readonly offsetUs: number
}

/** Reads the extensions in front of the packet type; unknown ones are passed over. Null: one is cut short. */
function readModifiers(payload: Buffer): Head | null {
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

function unknown(kind: Kind, fourcc: string): Result<never, FlvProblem> {
  const name = /^[\w.-]{4}$/.test(fourcc) ? fourcc : 'of enhanced RTMP'
  return unsupported(unsupportedCodec(kind, name, TITLES[kind]))
}
