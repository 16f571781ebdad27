import { coded, type CodedSentence } from '../../core/notices.ts'
import { CODECS, type VideoCodec } from '../codecs/codecs.ts'
import { type Frame, isDescribed, type TrackInfo, type VideoTrack } from '../frame.ts'
import { type AmfValue, amfObject, encodeAmf } from './amf0.ts'
import { type Message, MESSAGE, type OutgoingMessage } from './messages.ts'

/** Adobe FLV 10.1, annex E.4: H.264 as 7, with 1 for a keyframe; AAC as 10, with all bits of rate, size and stereo. */
const AVC = 7
const KEY = 0x10
const BETWEEN = 0x20
const AAC_HEAD = 0xaf
/** The kinds of a packet, of both codecs. */
const CONFIG = 0
const MEDIA = 1

/** Enhanced RTMP (Veovera, version 2): the mark of its header, and its kinds of a packet beside `CONFIG` and `MEDIA`. */
const ENHANCED = 0x80
const MEDIA_IN_ORDER = 3

/** Video that only enhanced RTMP carries, with its fourcc. */
const FOURCCS: Readonly<Partial<Record<VideoCodec, string>>> = { hevc: 'hvc1', av1: 'av01', vp9: 'vp09' }
/** The codecs in which frames may be shown in another order. Their messages have a composition time. */
const REORDERED: ReadonlySet<VideoCodec> = new Set(['h264', 'hevc'])
const ANY = '*'

/** What we send beside H.264, for `connect`. */
export const SENT_FOURCCS: readonly string[] = Object.values(FOURCCS)

/** In `videoFourCcInfoMap`: the server decodes the codec, or passes it on. */
const DECODES_OR_FORWARDS = 0x01 | 0x04

/** The codecs that a server takes by its answer to `connect`. Versions of enhanced RTMP put them in different places. */
export function readFourccs(answer: readonly AmfValue[]): ReadonlySet<string> {
  const objects = answer.filter((value) => value instanceof Map) as ReadonlyMap<string, AmfValue>[]
  const named = objects.flatMap((object) => {
    const [list, map] = [object.get('fourCcList'), object.get('videoFourCcInfoMap')]
    const listed: readonly unknown[] = Array.isArray(list) ? list : []
    const mapped = map instanceof Map ? [...(map as ReadonlyMap<string, AmfValue>)] : []
    return [...listed, ...mapped.filter(([, flags]) => Number(flags) & DECODES_OR_FORWARDS).map(([name]) => name)]
  })
  return new Set(named.filter((name) => typeof name === 'string'))
}

/** Whether a server that takes these codecs of enhanced RTMP takes a track as it is. */
export function isTaken({ codec }: TrackInfo, fourccs: ReadonlySet<string>): boolean {
  if (codec === 'h264' || codec === 'aac') return true
  const fourcc = (FOURCCS as Readonly<Partial<Record<string, string>>>)[codec]
  return fourcc !== undefined && (fourccs.has(fourcc) || fourccs.has(ANY))
}

/** Why RTMP cannot carry these tracks to a server that takes these codecs; null: it can. */
export function refuseTracks(tracks: readonly TrackInfo[], fourccs: ReadonlySet<string>): CodedSentence | null {
  const foreign = tracks.find((track) => !isTaken(track, fourccs))
  if (foreign === undefined) return null
  const codec = CODECS[foreign.codec].title
  if (foreign.kind === 'audio') return coded('audio_not_for_rtmp', { codec })
  return coded(foreign.codec in FOURCCS ? 'video_not_for_target' : 'video_not_for_rtmp', { codec })
}

/** The messages that describe tracks to a decoder, and to services that read metadata only. */
export function describeTracks(tracks: readonly TrackInfo[], streamId: number, timestamp: number): Message[] {
  const described = tracks.filter(isDescribed)
  return [
    { type: MESSAGE.data, streamId, timestamp, payload: metadataOf(described) },
    ...described.map((track) => messageOf(track.kind, configOf(track), { streamId, timestamp })),
  ]
}

/** @param at with the decode time of the frame */
export function frameMessage(
  frame: Frame,
  tracks: readonly TrackInfo[],
  at: Pick<Message, 'streamId' | 'timestamp'>,
): OutgoingMessage {
  const head = frame.kind === 'audio' ? Buffer.from([AAC_HEAD, MEDIA]) : headOf(frame, codecOf(tracks))
  return { type: MESSAGE[frame.kind], ...at, head, payload: frame.data }
}

const codecOf = (tracks: readonly TrackInfo[]): VideoCodec =>
  tracks.find((track): track is VideoTrack => track.kind === 'video')?.codec ?? 'h264'

const messageOf = (kind: 'video' | 'audio', payload: Buffer, at: Pick<Message, 'streamId' | 'timestamp'>): Message => ({
  type: MESSAGE[kind],
  ...at,
  payload,
})

function configOf(track: TrackInfo): Buffer {
  if (track.kind === 'audio') return Buffer.concat([Buffer.from([AAC_HEAD, CONFIG]), track.config])
  const fourcc = FOURCCS[track.codec]
  const head = fourcc === undefined ? Buffer.from([KEY | AVC, CONFIG, 0, 0, 0]) : enhancedHead(KEY, CONFIG, fourcc)
  return Buffer.concat([head, track.config])
}

function headOf({ key, timeUs, decodeTimeUs }: Frame, codec: VideoCodec): Buffer {
  const [kind, fourcc] = [key ? KEY : BETWEEN, FOURCCS[codec]]
  const timeMs = compositionMs(timeUs, decodeTimeUs)
  const time = Buffer.alloc(3)
  time.writeIntBE(timeMs, 0, 3)
  if (fourcc === undefined) return Buffer.concat([Buffer.from([kind | AVC, MEDIA]), time])
  if (!REORDERED.has(codec)) return enhancedHead(kind, MEDIA, fourcc)
  if (timeMs === 0) return enhancedHead(kind, MEDIA_IN_ORDER, fourcc)
  return Buffer.concat([enhancedHead(kind, MEDIA, fourcc), time])
}

const enhancedHead = (frameKind: number, packetKind: number, fourcc: string): Buffer =>
  Buffer.concat([Buffer.from([ENHANCED | frameKind | packetKind]), Buffer.from(fourcc, 'latin1')])

/** Of rounded times, so that the receiver gets the rounded presentation time. */
const compositionMs = (timeUs: number, decodeTimeUs: number): number =>
  Math.max(-0x80_0000, Math.min(0x7f_ffff, Math.floor(timeUs / 1000) - Math.floor(decodeTimeUs / 1000)))

function metadataOf(tracks: readonly TrackInfo[]): Buffer {
  const facts = Object.assign({}, ...tracks.map(factsOf)) as Record<string, number | boolean>
  return encodeAmf(['@setDataFrame', 'onMetaData', amfObject(facts)])
}

const factsOf = (track: TrackInfo): Record<string, number | boolean> =>
  track.kind === 'video'
    ? { width: track.width, height: track.height, videocodecid: codecIdOf(track.codec) }
    : { audiocodecid: AAC_HEAD >> 4, audiosamplerate: track.sampleRate, stereo: track.channels > 1 }

/** The four characters of enhanced RTMP as a number. */
const codecIdOf = (codec: VideoCodec): number =>
  FOURCCS[codec] === undefined ? AVC : Buffer.from(FOURCCS[codec], 'latin1').readUInt32BE(0)
