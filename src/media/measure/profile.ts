import { declaredFrameRate, readAvcConfig } from '../codecs/h264Config.ts'
import type { VideoTrack } from '../frame.ts'

export interface VideoProfile {
  readonly videoProfile?: string
  readonly videoLevel?: string
  readonly declaredFrameRate?: number
}

/** H.264 annex A.2, by profile_idc. */
const H264: Readonly<Record<number, string>> = {
  66: 'Baseline',
  77: 'Main',
  88: 'Extended',
  100: 'High',
  110: 'High 10',
  122: 'High 4:2:2',
  244: 'High 4:4:4 Predictive',
}
/** H.265 annex A.3, by general_profile_idc. */
const HEVC: Readonly<Record<number, string>> = {
  1: 'Main',
  2: 'Main 10',
  3: 'Main Still Picture',
  4: 'Range Extensions',
}
const CONSTRAINED = 0x40

/** Of the configuration record of a track: H.264 and HEVC. */
export function videoProfileOf({ codec, config }: Pick<VideoTrack, 'codec' | 'config'>): VideoProfile {
  const record = Buffer.from(config.buffer, config.byteOffset, config.length)
  if (codec === 'h264' && record.length > 3) return h264Profile(record)
  if (codec !== 'hevc' || record.length < 13) return {}
  const [, profile = 0] = record
  return {
    videoProfile: HEVC[profile & 31] ?? `profile ${profile & 31}`,
    videoLevel: levelText((record[12] ?? 0) / 30),
  }
}

function h264Profile(record: Buffer): VideoProfile {
  const sps = readAvcConfig(record)?.sps[0]
  const rate = sps === undefined ? null : declaredFrameRate(sps)
  return {
    ...bytesProfile(record.subarray(1, 4)),
    ...(isRate(rate) && { declaredFrameRate: Math.round(rate * 100) / 100 }),
  }
}

function bytesProfile(bytes: Buffer): VideoProfile {
  const [profile = 0, constraints = 0, level = 0] = bytes
  const isConstrained = profile === 66 && (constraints & CONSTRAINED) !== 0
  const name = isConstrained ? 'Constrained Baseline' : (H264[profile] ?? `profile ${profile}`)
  return { videoProfile: name, videoLevel: levelText(level / 10) }
}

/** Encoders that do not know their rate write ticks of a millisecond and less there. */
const isRate = (rate: number | null): rate is number => rate !== null && rate >= 1 && rate <= 240

const levelText = (level: number): string => level.toFixed(1).replace(/\.0$/, '')
