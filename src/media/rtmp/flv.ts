import { ok, type Result } from '../../base/result.ts'
import { unsupportedCodec } from '../codecs/codecs.ts'
import { lengthPrefixed, MAX_NALS } from '../codecs/nalUnits.ts'
import { parseAacConfig, parseAvcConfig } from './configurations.ts'
import { parseEnhancedAudio, parseEnhancedVideo } from './enhanced.ts'
import {
  damaged,
  type FlvPart,
  type FlvPayload,
  type FlvProblem,
  IGNORED,
  ofOnlyTrack,
  unsupported,
} from './flvPayload.ts'

const AVC = 7
const AAC = 10
const G711: Readonly<Record<number, 'pcma' | 'pcmu'>> = { 7: 'pcma', 8: 'pcmu' }
const COMMAND_FRAME = 5
const ENHANCED_VIDEO = 0x80
const ENHANCED_AUDIO = 9

const VIDEO_NAMES: Readonly<Record<number, string>> = {
  1: 'JPEG',
  2: 'Sorenson H.263',
  3: 'Screen video',
  4: 'VP6',
  5: 'VP6 with alpha',
  6: 'Screen video 2',
  12: 'HEVC without enhanced RTMP',
  13: 'AV1 without enhanced RTMP',
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
  13: 'Opus without enhanced RTMP',
  14: 'MP3',
}

/** Reads a video message, one part for each of its tracks. A refusal names an unsupported codec and what to send instead. */
export function parseVideo(payload: Buffer): FlvPart[] {
  const isEnhanced = ((payload[0] ?? 0) & ENHANCED_VIDEO) !== 0
  return isEnhanced ? parseEnhancedVideo(payload) : ofOnlyTrack(readPlainVideo(payload))
}

function readPlainVideo(payload: Buffer): Result<FlvPayload, FlvProblem> {
  const first = payload[0]
  if (first === undefined) return ok(IGNORED)
  if (first >> 4 === COMMAND_FRAME) return ok(IGNORED)
  const codec = first & 0x0f
  if (codec !== AVC) return unsupported(unsupportedCodec('video', VIDEO_NAMES[codec] ?? String(codec), ['H.264']))
  if (payload.length < 5) return damaged('A video message is cut short')
  const data = payload.subarray(5)
  if (data.length === 0) return ok(IGNORED)
  if (payload[1] === 0) return parseAvcConfig(data)
  if (payload[1] !== 1) return ok(IGNORED)
  // 24 signed bits: publishers that shift their timestamps write small negative ones.
  return ok({ kind: 'video', key: first >> 4 === 1, compositionMs: payload.readIntBE(2, 3), data })
}

/** Reads an audio message, as `parseVideo` does. */
export function parseAudio(payload: Buffer): FlvPart[] {
  const isEnhanced = (payload[0] ?? 0) >> 4 === ENHANCED_AUDIO
  return isEnhanced ? parseEnhancedAudio(payload) : ofOnlyTrack(readPlainAudio(payload))
}

function readPlainAudio(payload: Buffer): Result<FlvPayload, FlvProblem> {
  const first = payload[0]
  if (first === undefined) return ok(IGNORED)
  const codec = first >> 4
  const g711 = G711[codec]
  if (g711 !== undefined) return ok(readG711(payload, g711))
  if (codec !== AAC) return unsupported(unsupportedCodec('audio', AUDIO_NAMES[codec] ?? String(codec), ['AAC']))
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

/** Rewrites NAL units with lengths of 1 to 4 bytes to lengths of 4 bytes; null when they do not add up, or are too many. */
export function withFourByteLengths(data: Buffer, lengthBytes: number): Buffer | null {
  const units: Buffer[] = []
  let at = 0
  while (at < data.length) {
    if (at + lengthBytes > data.length || units.length === MAX_NALS) return null
    const end = at + lengthBytes + data.readUIntBE(at, lengthBytes)
    if (end > data.length) return null
    units.push(data.subarray(at + lengthBytes, end))
    at = end
  }
  return lengthBytes === 4 ? data : lengthPrefixed(units)
}
