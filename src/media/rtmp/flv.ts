import { err, ok, type Result } from '../../base/result.ts'
import type { AudioTrack, VideoTrack } from '../frame.ts'
import { lengthPrefixed } from '../codecs/h264.ts'
import { readAvcConfig, readSps } from '../codecs/h264Config.ts'

/**
 * The payload of an audio or video message (Adobe FLV 10.1, annex E.4). An `ignored` one carries no media: seek
 * information, an end of sequence, an empty audio packet, and the empty configuration that ffmpeg's FLV muxer writes for
 * H.264 in Annex B and AAC in ADTS before it knows the real one.
 */
export type FlvPayload =
  | { readonly kind: 'track'; readonly track: VideoTrack; readonly lengthBytes: number }
  | { readonly kind: 'track'; readonly track: AudioTrack }
  | { readonly kind: 'video'; readonly key: boolean; readonly compositionMs: number; readonly data: Buffer }
  /** G.711 has no configuration: `track` is what the message says itself. */
  | { readonly kind: 'audio'; readonly data: Buffer; readonly track?: AudioTrack }
  | { readonly kind: 'ignored' }

/** What is wrong with a message, in a sentence for the operator of the publisher. */
export interface FlvProblem {
  /** `damaged`: only this message. `unsupported`: its codec. `further`: a track beside the first one of its kind. */
  readonly kind: 'damaged' | 'unsupported' | 'further'
  readonly text: string
}

const IGNORED: FlvPayload = { kind: 'ignored' }

const damaged = (text: string): Result<never, FlvProblem> => err({ kind: 'damaged', text })
const unsupported = (text: string): Result<never, FlvProblem> => err({ kind: 'unsupported', text })

const AVC = 7
const AAC = 10
const G711: Readonly<Record<number, 'pcma' | 'pcmu'>> = { 7: 'pcma', 8: 'pcmu' }
const COMMAND_FRAME = 5
/** Enhanced RTMP: a fourcc names the codec instead of four bits. */
const ENHANCED_VIDEO = 0x80
const ENHANCED_AUDIO = 9
/** The packet types of enhanced RTMP for several tracks in one message; the first message of one track names its id. */
const MULTITRACK = { video: 6, audio: 5 } as const
const ONE_TRACK = 0

const VIDEO_NAMES: Readonly<Record<number, string>> = {
  1: 'JPEG',
  2: 'Sorenson H.263',
  3: 'Screen video',
  4: 'VP6',
  5: 'VP6 with alpha',
  6: 'Screen video 2',
  12: 'HEVC',
  13: 'AV1',
}

const AUDIO_NAMES: Readonly<Record<number, string>> = {
  0: 'PCM',
  1: 'ADPCM',
  2: 'MP3',
  3: 'PCM',
  4: 'Nellymoser',
  5: 'Nellymoser',
  6: 'Nellymoser',
  11: 'Speex',
  13: 'Opus',
  14: 'MP3',
}

/** Reads a video message. The refusal names an unsupported codec and what to send instead. */
export function parseVideo(payload: Buffer): Result<FlvPayload, FlvProblem> {
  const first = payload[0]
  if (first === undefined) return ok(IGNORED)
  if ((first & ENHANCED_VIDEO) !== 0) return err(enhanced(payload, 'video', 'H.264'))
  if (first >> 4 === COMMAND_FRAME) return ok(IGNORED)
  const codec = first & 0x0f
  if (codec !== AVC) return unsupported(`Video codec ${VIDEO_NAMES[codec] ?? codec} is not supported; send H.264`)
  if (payload.length < 5) return damaged('A video message is cut short')
  const data = payload.subarray(5)
  if (data.length === 0) return ok(IGNORED)
  if (payload[1] === 0) return parseAvcConfig(data)
  if (payload[1] !== 1) return ok(IGNORED)
  // 24 signed bits: publishers that shift their timestamps write small negative ones.
  return ok({ kind: 'video', key: first >> 4 === 1, compositionMs: payload.readIntBE(2, 3), data })
}

/** Reads an audio message. The refusal names an unsupported codec and what to send instead. */
export function parseAudio(payload: Buffer): Result<FlvPayload, FlvProblem> {
  const first = payload[0]
  if (first === undefined) return ok(IGNORED)
  const codec = first >> 4
  if (codec === ENHANCED_AUDIO) return err(enhanced(payload, 'audio', 'AAC'))
  const g711 = G711[codec]
  if (g711 !== undefined) return ok(readG711(payload, g711))
  if (codec !== AAC) return unsupported(`Audio codec ${AUDIO_NAMES[codec] ?? codec} is not supported; send AAC`)
  if (payload.length < 2) return damaged('An audio message is cut short')
  const data = payload.subarray(2)
  if (data.length === 0) return ok(IGNORED)
  return payload[1] === 0 ? parseAacConfig(data) : ok({ kind: 'audio', data })
}

/** Always 8 kHz, whatever the bits of the sample rate say; the last bit means stereo. */
function readG711(payload: Buffer, codec: 'pcma' | 'pcmu'): FlvPayload {
  const [channels, data] = [(payload.readUInt8(0) & 1) + 1, payload.subarray(1)]
  if (data.length === 0) return IGNORED
  return { kind: 'audio', data, track: { kind: 'audio', codec, sampleRate: 8000, channels, config: new Uint8Array() } }
}

/** A message of enhanced RTMP. Sluice takes no media of it, and goes on without tracks beside the first ones. */
function enhanced(payload: Buffer, kind: 'video' | 'audio', codec: string): FlvProblem {
  const isMultitrack = (payload.readUInt8(0) & 0x0f) === MULTITRACK[kind]
  if (isMultitrack && isFurtherTrack(payload)) {
    return { kind: 'further', text: `The publisher sends several ${kind} tracks; only the first one is taken` }
  }
  const fourcc = payload.subarray(isMultitrack ? 2 : 1, isMultitrack ? 6 : 5).toString('latin1')
  const name = /^[\w.-]{4}$/.test(fourcc) ? ` (${fourcc})` : ''
  return { kind: 'unsupported', text: `Enhanced RTMP${name} is not supported; send ${codec} without enhanced RTMP` }
}

/** Type and packet type, the codec, then the id of the track. */
const isFurtherTrack = (payload: Buffer): boolean =>
  payload.length >= 7 && payload.readUInt8(1) >> 4 === ONE_TRACK && payload.readUInt8(6) > 0

/** Reads the AVCDecoderConfigurationRecord; the size comes from its first sequence parameter set. */
function parseAvcConfig(written: Buffer): Result<FlvPayload, FlvProblem> {
  const config = withLongLengths(written)
  const [sps] = readAvcConfig(config)?.sps ?? []
  const size = sps === undefined ? null : readSps(sps)
  if (size === null) return damaged('The H.264 configuration cannot be read')
  const lengthBytes = ((written[4] ?? 0) & 3) + 1
  return ok({ kind: 'track', track: { kind: 'video', codec: 'h264', ...size, config }, lengthBytes })
}

/** Makes the record say 4-byte lengths, which Sluice gives every frame. */
function withLongLengths(config: Buffer): Buffer {
  const record = Buffer.from(config)
  if (record.length > 4) record[4] = (record[4] ?? 0) | 3
  return record
}

const AAC_RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350]
const EXPLICIT_RATE = 15

/** Reads rate and channels of an AudioSpecificConfig (ISO/IEC 14496-3 section 1.6.2.1). */
function parseAacConfig(config: Buffer): Result<FlvPayload, FlvProblem> {
  if (config.length < 2) return damaged('The AAC configuration cannot be read')
  const word = config.readUInt16BE(0)
  const rateIndex = (word >> 7) & 0x0f
  const isExplicit = rateIndex === EXPLICIT_RATE && config.length >= 5
  const sampleRate = isExplicit ? (config.readUIntBE(0, 5) / 2 ** 7) & 0xff_ffff : AAC_RATES[rateIndex]
  const channelCode = isExplicit ? ((config[4] ?? 0) >> 3) & 0x0f : (word >> 3) & 0x0f
  // 7 means 7.1. 0 means that the stream itself has the layout; two channels are then the likely number.
  const channels = channelCode === 7 ? 8 : channelCode === 0 ? 2 : channelCode
  if (sampleRate === undefined || sampleRate === 0 || channels > 8)
    return damaged('The AAC configuration cannot be read')
  const track: AudioTrack = { kind: 'audio', codec: 'aac', sampleRate, channels, config: Uint8Array.from(config) }
  return ok({ kind: 'track', track })
}

/** Rewrites NAL units with lengths of 1 to 4 bytes to lengths of 4 bytes; null when they do not add up. */
export function withFourByteLengths(data: Buffer, lengthBytes: number): Buffer | null {
  const units: Buffer[] = []
  let at = 0
  while (at < data.length) {
    if (at + lengthBytes > data.length) return null
    const end = at + lengthBytes + data.readUIntBE(at, lengthBytes)
    if (end > data.length) return null
    units.push(data.subarray(at + lengthBytes, end))
    at = end
  }
  return lengthBytes === 4 ? data : lengthPrefixed(units)
}
