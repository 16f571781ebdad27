import type { AudioCodec, VideoCodec } from '../../../src/media/codecs/codecs.ts'
import type { Frame, TrackInfo } from '../../../src/media/frame.ts'
import { type Message, MESSAGE } from '../../../src/media/rtmp/messages.ts'
import type { Recorded } from '../ffmpeg/frames.ts'
import { message } from './media.ts'

type Fourcc = 'avc1' | 'hvc1' | 'av01' | 'vp09' | 'vp08' | 'mp4a' | 'Opus'

const FOURCC: Readonly<Partial<Record<VideoCodec | AudioCodec, Fourcc>>> = {
  h264: 'avc1',
  hevc: 'hvc1',
  av1: 'av01',
  vp9: 'vp09',
  vp8: 'vp08',
  aac: 'mp4a',
  opus: 'Opus',
}

export const PACKET = { start: 0, frames: 1, framesX: 3, modEx: 7 } as const

export const enhancedVideo = (
  fourcc: Fourcc,
  type: number,
  body: Buffer,
  { timestamp = 0, key = true } = {},
): Message => message(MESSAGE.video, timestamp, [0x80 | ((key ? 1 : 2) << 4) | type], Buffer.from(fourcc), body)

export const enhancedAudio = (fourcc: Fourcc, type: number, body: Buffer, timestamp = 0): Message =>
  message(MESSAGE.audio, timestamp, [0x90 | type], Buffer.from(fourcc), body)

/** Version 1, stereo, 48 kHz. */
export const OPUS_HEAD = Buffer.concat([Buffer.from('OpusHead'), Buffer.from([1, 2, 0, 0, 0x80, 0xbb, 0, 0, 0, 0, 0])])
/** Of VP8 and VP9: profile 0, level 1, 8 bits. */
const VP_CONFIG = Buffer.from([1, 0, 0, 0, 0, 10, 0x82, 2, 2, 2, 0, 0])

const configOf = ({ codec, config }: TrackInfo): Buffer => {
  if (codec === 'opus') return OPUS_HEAD
  return codec === 'vp8' || codec === 'vp9' ? VP_CONFIG : Buffer.from(config)
}

const milliseconds = (us: number): number => Math.round(us / 1000)

/** What a publisher sends over enhanced RTMP: its configurations, then all frames. */
export function enhancedMessages({ tracks, frames }: Recorded): Message[] {
  const fourccs = new Map(tracks.map((track) => [track.kind, fourccOf(track)]))
  const starts = tracks.map((track) =>
    track.kind === 'video'
      ? enhancedVideo(fourccOf(track), PACKET.start, configOf(track))
      : enhancedAudio(fourccOf(track), PACKET.start, configOf(track)),
  )
  return [...starts, ...frames.map((frame) => frameMessage(frame, fourccs.get(frame.kind) ?? 'avc1'))]
}

const MULTITRACK = { video: 6, audio: 5 } as const
export const FORM = { oneTrack: 0, manyTracks: 1, manyTracksManyCodecs: 2 } as const

/** A message of enhanced RTMP as that of a track with this number. */
export const ofTrack = (trackId: number, sent: Message): Message => ofTracks(FORM.oneTrack, [{ trackId, sent }])

/** Messages of the same kind and type as one of several tracks. */
export function ofTracks(
  form: number,
  tracks: readonly { readonly trackId: number; readonly sent: Message }[],
): Message {
  const [first] = tracks
  if (first === undefined) throw new Error('a message has a track')
  const { type, timestamp, payload } = first.sent
  const head = payload.readUInt8(0)
  const multitrack = type === MESSAGE.video ? MULTITRACK.video : MULTITRACK.audio
  const shared = form === FORM.manyTracksManyCodecs ? Buffer.alloc(0) : payload.subarray(1, 5)
  const parts = tracks.flatMap(({ trackId, sent }) => {
    const [fourcc, body] = [sent.payload.subarray(1, 5), sent.payload.subarray(5)]
    const size = [body.length >> 16, (body.length >> 8) & 255, body.length & 255]
    return [form === FORM.manyTracksManyCodecs ? fourcc : [], [trackId], form === FORM.oneTrack ? [] : size, body]
  })
  return message(type, timestamp, [(head & 0xf0) | multitrack, (form << 4) | (head & 0x0f)], shared, ...parts)
}

/**
 * Sizes of one picture as OBS sends them: the first as if it were alone, and each other one in messages of one track. The audio
 * is that of the first.
 */
export function layeredMessages(sizes: readonly Recorded[]): Message[] {
  const sent = sizes.flatMap((recorded, trackId) => {
    const messages = enhancedMessages(recorded)
    if (trackId === 0) return messages
    return messages.filter(({ type }) => type === MESSAGE.video).map((one) => ofTrack(trackId, one))
  })
  const starts = sent.filter((one) => packetTypeOf(one) === PACKET.start)
  const frames = sent.filter((one) => !starts.includes(one))
  return [...starts, ...frames.toSorted((a, b) => a.timestamp - b.timestamp)]
}

/** The packet type, also behind the mark of several tracks. */
export const packetTypeOf = ({ type, payload }: Message): number => {
  const first = payload.readUInt8(0) & 0x0f
  const isOfTracks = first === (type === MESSAGE.video ? MULTITRACK.video : MULTITRACK.audio)
  return isOfTracks ? payload.readUInt8(1) & 0x0f : first
}

function fourccOf({ codec }: TrackInfo): Fourcc {
  const fourcc = FOURCC[codec]
  if (fourcc === undefined) throw new Error(`enhanced RTMP has no ${codec}`)
  return fourcc
}

function frameMessage({ kind, key, data, timeUs, decodeTimeUs }: Frame, fourcc: Fourcc): Message {
  const timestamp = milliseconds(decodeTimeUs)
  if (kind === 'audio') return enhancedAudio(fourcc, PACKET.frames, Buffer.from(data), timestamp)
  const composition = Buffer.alloc(3)
  composition.writeIntBE(milliseconds(timeUs) - timestamp, 0, 3)
  const isReordered = fourcc === 'avc1' || fourcc === 'hvc1'
  const type = isReordered && composition.readIntBE(0, 3) === 0 ? PACKET.framesX : PACKET.frames
  const body = isReordered && type === PACKET.frames ? Buffer.concat([composition, data]) : Buffer.from(data)
  return enhancedVideo(fourcc, type, body, { timestamp, key })
}
