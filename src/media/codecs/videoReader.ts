import type { VideoCodec } from './codecs.ts'
import { av1 } from './av1.ts'
import { h264 } from './h264.ts'
import { hevc } from './hevcRtp.ts'
import { vp8 } from './vp8.ts'
import { vp9 } from './vp9.ts'

import type { VideoReader } from './codec.ts'

const READERS: Readonly<Record<VideoCodec, VideoReader>> = { h264, vp8, vp9, av1, hevc }

export const videoReader = (codec: VideoCodec): VideoReader => READERS[codec]
