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
