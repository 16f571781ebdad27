import { CODECS } from '../codecs/codecs.ts'
import { type Frame, isDescribed, type TrackInfo } from '../frame.ts'
import { amfObject, encodeAmf } from './amf0.ts'
import { type Message, MESSAGE } from './messages.ts'

/** Adobe FLV 10.1, annex E.4: H.264 as 7, with 1 for a keyframe; AAC as 10, with all bits of rate, size and stereo. */
const AVC = 7
const KEY = 0x10
const BETWEEN = 0x20
const AAC_HEAD = 0xaf
/** The kinds of a packet, of both codecs. */
const CONFIG = 0
const MEDIA = 1

/** Why RTMP cannot carry these tracks; null: it can. */
export function refuseTracks(tracks: readonly TrackInfo[]): string | null {
  const foreign = tracks.find(({ codec }) => codec !== 'h264' && codec !== 'aac')
  if (foreign === undefined) return null
  const { title } = CODECS[foreign.codec]
  if (foreign.kind === 'audio') return `The audio is ${title}, and RTMP takes AAC`
  return `The video is ${title}, and RTMP takes H.264: \`transcode\` encodes it again`
}

/** The messages that describe tracks to a decoder, and to services that read metadata only. */
export function describeTracks(tracks: readonly TrackInfo[], streamId: number, timestamp: number): Message[] {
  const described = tracks.filter(isDescribed)
  return [
    { type: MESSAGE.data, streamId, timestamp, payload: metadataOf(described) },
    ...described.map((track) => messageOf(track.kind, configOf(track), { streamId, timestamp })),
  ]
}

/** @param timestamp of its decode time, milliseconds, modulo 2^32 */
export function frameMessage(frame: Frame, streamId: number, timestamp: number): Message {
  return messageOf(frame.kind, Buffer.concat([headOf(frame), frame.data]), { streamId, timestamp })
}

const messageOf = (kind: 'video' | 'audio', payload: Buffer, at: Pick<Message, 'streamId' | 'timestamp'>): Message => ({
  type: MESSAGE[kind],
  ...at,
  payload,
})

function configOf({ kind, config }: TrackInfo): Buffer {
  const head = kind === 'video' ? [KEY | AVC, CONFIG, 0, 0, 0] : [AAC_HEAD, CONFIG]
  return Buffer.concat([Buffer.from(head), config])
}

function headOf({ kind, key, timeUs, decodeTimeUs }: Frame): Buffer {
  if (kind === 'audio') return Buffer.from([AAC_HEAD, MEDIA])
  const head = Buffer.from([(key ? KEY : BETWEEN) | AVC, MEDIA, 0, 0, 0])
  head.writeIntBE(compositionMs(timeUs, decodeTimeUs), 2, 3)
  return head
}

/** Of rounded times, so that the receiver gets the rounded presentation time. */
const compositionMs = (timeUs: number, decodeTimeUs: number): number =>
  Math.max(-0x80_0000, Math.min(0x7f_ffff, Math.floor(timeUs / 1000) - Math.floor(decodeTimeUs / 1000)))

function metadataOf(tracks: readonly TrackInfo[]): Buffer {
  const facts = Object.assign({}, ...tracks.map(factsOf)) as Record<string, number | boolean>
  return encodeAmf(['@setDataFrame', 'onMetaData', amfObject(facts)])
}

const factsOf = (track: TrackInfo): Record<string, number | boolean> =>
  track.kind === 'video'
    ? { width: track.width, height: track.height, videocodecid: AVC }
    : { audiocodecid: AAC_HEAD >> 4, audiosamplerate: track.sampleRate, stereo: track.channels > 1 }
