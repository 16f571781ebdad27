import type { RtpVideoCodec } from './codecs.ts'
import { av1 } from './av1.ts'
import { h264 } from './h264.ts'
import { vp8 } from './vp8.ts'
import { vp9 } from './vp9.ts'

import type { VideoReader } from './codec.ts'

const READERS: Readonly<Record<RtpVideoCodec, VideoReader>> = { h264, vp8, vp9, av1 }

export const videoReader = (codec: RtpVideoCodec): VideoReader => READERS[codec]
