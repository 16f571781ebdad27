import { sendableCodecs, type VideoCodec } from '../../../client/index.ts'

export const RESOLUTIONS = ['1080p', '720p', '480p'] as const
export type Resolution = (typeof RESOLUTIONS)[number]

/** What is broadcast, and how. */
export interface Quality {
  readonly resolution: Resolution
  readonly framesPerSecond: 30 | 60
  /** '': the first that browser and server share. */
  readonly codec: VideoCodec | ''
  /** Megabits per second, as typed. */
  readonly megabits: string
  readonly simulcast: boolean
}

export const FIRST_QUALITY: Quality = {
  resolution: '720p',
  framesPerSecond: 30,
  codec: '',
  megabits: '2.5',
  simulcast: false,
}

/** H.264 where the codec is open and the stream goes on to servers that take no other. */
export function qualityFor(quality: Quality, targets: readonly { readonly enabled: boolean }[]): Quality {
  const isSentOn = targets.some(({ enabled }) => enabled)
  if (quality.codec !== '' || !isSentOn || !sendableCodecs().includes('h264')) return quality
  return { ...quality, codec: 'h264' }
}

const HEIGHTS: Readonly<Record<Resolution, number>> = { '1080p': 1080, '720p': 720, '480p': 480 }

/** Pixels, 16:9. */
export function sizeOf({ resolution }: Quality): { width: number; height: number } {
  const height = HEIGHTS[resolution]
  return { width: Math.round((height * 16) / 9 / 2) * 2, height }
}

const MEGABITS_MIN = 0.1
const MEGABITS_MAX = 50

/** Bits per second; null: what was typed is no bitrate. */
export function bitrateOf({ megabits }: Quality): number | null {
  const number = Number(megabits.replace(',', '.'))
  const isFine = megabits.trim() !== '' && number >= MEGABITS_MIN && number <= MEGABITS_MAX
  return isFine ? Math.round(number * 1_000_000) : null
}
