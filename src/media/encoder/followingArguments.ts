import { encoderRates } from '../../core/hls/bandwidth.ts'
import type { Rung } from '../../core/channels/runs/rungs.ts'
import { MATROSKA_INPUT, words } from '../ffmpeg/arguments.ts'
import type { VideoEncoder } from '../ffmpeg/videoEncoders.ts'
import { rates, uploadTo, videoOutput } from './arguments.ts'

/** A rung that follows the keyframes of its source. */
export interface FollowingRung {
  readonly rung: Rung
  /** The time of the source at which its first frame may be, microseconds; null: at the first keyframe. */
  readonly fromUs: number | null
}

/**
 * Encodes smaller renditions of a feed: no audio and no thumbnail. Keyframes are where the source has them, and frames keep
 * the times of the source. With libx264 `bitrate` is an upper limit: quality decides below it, because the source may need
 * less. Hardware encoders keep to `bitrate` on the average.
 */
export const followingArguments = (rungs: readonly FollowingRung[], encoder: VideoEncoder): string[] => [
  // A decoder that works on several frames in parallel would hold them back.
  ...words('-thread_type slice -copyts'),
  ...encoder.device,
  ...MATROSKA_INPUT,
  '-filter_complex',
  filters(rungs, encoder),
  ...rungs.flatMap(({ rung }, index) =>
    videoOutput(encoder, index, [...encoder.ofSourceRate, ...KEYS, ...ratesOf(rung, encoder)]),
  ),
]

const KEYS = words('-force_key_frames source -fps_mode passthrough -enc_time_base 1:90000')

function filters(rungs: readonly FollowingRung[], encoder: VideoEncoder): string {
  const outputs = rungs.map((_, index) => `[s${index}]`).join('')
  const scaled = rungs.map(({ rung: { width, height }, fromUs }, index) => {
    const from = fromUs === null ? '' : `select=gte(t\\,${(fromUs / 1_000_000).toFixed(6)}),`
    return `[s${index}]${from}scale=w=${width}:h=${height}${uploadTo(encoder)}[v${index}]`
  })
  return [`[0:v:0]split=${rungs.length}${outputs}`, ...scaled].join(';')
}

function ratesOf({ bitrate }: Rung, { hasCrf }: VideoEncoder): string[] {
  if (!hasCrf) return rates({ bitrate })
  const { maxrate, bufsize } = encoderRates(bitrate)
  return words(`-crf 23 -maxrate:v ${maxrate} -bufsize:v ${bufsize}`)
}
