import { expect } from 'vitest'
import type { Frame, FrameSink, TrackInfo } from '../../../src/media/frame.ts'
import { TsIngest } from '../../../src/media/mpegts/ingest.ts'

/** Arguments of ffmpeg for four seconds of video with B-frames, and sound. */
export const H264_AAC =
  '-f lavfi -i testsrc2=size=320x240:rate=25:duration=4 -f lavfi -i sine=frequency=440:sample_rate=48000:duration=4 ' +
  '-c:v libx264 -preset veryfast -g 25 -bf 2 -c:a aac -ac 2 -f mpegts'
export const HEVC_OPUS = H264_AAC.replace('-c:v libx264', '-c:v libx265 -x265-params log-level=error').replace(
  '-c:a aac',
  '-c:a libopus',
)

/** A second of sound with the layout of AC-3, for which ffmpeg writes a program config element. */
export const OWN_LAYOUT = '-f lavfi -i aevalsrc=0|0|0|0|0|0:c=5.1(side):d=1 -c:a aac'

export interface Media {
  tracks: readonly TrackInfo[]
  readonly frames: Frame[]
  readonly leftOut: string[]
}

/** The media of a transport stream of four seconds. */
export function readTs(bytes: Buffer): Media {
  const media: Media = { tracks: [], frames: [], leftOut: [] }
  const sink: FrameSink = {
    tracks: (tracks) => (media.tracks = tracks),
    frame: (frame) => void media.frames.push(frame),
    end: () => undefined,
  }
  let nowMs = 0
  const ingest = new TsIngest(sink, {
    clock: { monotonic: () => nowMs },
    maxFrameBytes: 1_000_000,
    leftOut: (what) => media.leftOut.push(what),
  })
  for (let at = 0; at < bytes.length; at += 1316) {
    nowMs = (4000 * at) / bytes.length
    expect(ingest.take(bytes.subarray(at, at + 1316))).toBeNull()
  }
  return media
}

/** What a carrier must not change of a frame. */
export const contentOf = ({ kind, key, data }: Frame): string =>
  `${kind} ${key ? 'key' : ''} ${Buffer.from(data).toString('base64')}`
