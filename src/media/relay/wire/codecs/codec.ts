import type { VideoCodec } from '../../../frame.ts'
import { av1 } from './av1.ts'
import { h264 } from './h264.ts'
import { vp8 } from './vp8.ts'
import { vp9 } from './vp9.ts'

/** How the payloads of a video codec are read. Whatever their bytes are, none of this throws. */
export interface VideoReader {
  /** A decoder can begin with the packet of this payload: it holds the first bytes of a keyframe or its parameter sets. */
  isKeyStart(payload: Buffer): boolean
  /** The frame of these payloads, which are all of one timestamp in order. Null when they make none. */
  join(payloads: readonly Buffer[]): JoinedFrame | null
}

export interface JoinedFrame {
  readonly key: boolean
  /** As `Frame.data` of media/frame.ts wants it. */
  readonly data: Buffer
  /** What a keyframe tells of the pictures that follow; null when it does not. */
  readonly picture: Picture | null
}

export interface Picture {
  readonly width: number
  readonly height: number
  /** As `VideoTrack.config` wants it. */
  readonly config: Buffer
}

const READERS: Readonly<Record<VideoCodec, VideoReader>> = { h264, vp8, vp9, av1 }

export const videoReader = (codec: VideoCodec): VideoReader => READERS[codec]
