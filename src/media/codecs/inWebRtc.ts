import { isAv1In8Bits } from './av1.ts'
import type { VideoCodec } from './codecs.ts'
import { hevcProfileOf } from './hevc.ts'

interface DescribedVideo {
  readonly codec: VideoCodec
  readonly config: Uint8Array
}

/**
 * Whether viewers over WebRTC can decode video as it is, if they have its codec: browsers decode AV1 of profile main with 8 bits
 * only, and VP9 of profile 0. B-frames are another question.
 */
export function isInWebRtc({ codec, config }: DescribedVideo): boolean {
  switch (codec) {
    case 'hevc':
      return ['1', '2'].includes(hevcProfileOf(config))
    case 'av1':
      return isAv1In8Bits(config)
    case 'vp9':
      return config[0] === 0
    case 'h264':
    case 'vp8':
      return true
  }
}
