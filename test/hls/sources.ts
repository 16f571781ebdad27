import { spawn } from 'node:child_process'
import { ended } from '../support/channels.ts'

interface Source {
  /** Frames in a second; null: no video. */
  readonly rate: string | null
  readonly hasAudio: boolean
  /** Frames from one keyframe to the next. */
  readonly gop: number
  readonly bFrames: number
  /** Filters of the video, and of the audio. */
  readonly filters?: readonly [video: string, audio: string]
}

const PLAIN: Source = { rate: '25', hasAudio: true, gop: 50, bFrames: 0 }

/** In the eighth second of each minute the times jump by eight seconds. */
const JUMPS = 'PTS+floor((T+52)/60)*8/TB'

/** What encoders send, by name. */
export const SOURCES = {
  plain: PLAIN,
  'b-frames': { ...PLAIN, bFrames: 2 },
  '29.97': { ...PLAIN, rate: '30000/1001', gop: 60 },
  'variable-rate': { ...PLAIN, filters: ['select=gt(mod(n\\,11)\\,2)', 'anull'] },
  'gop-250': { ...PLAIN, gop: 250 },
  'audio-only': { ...PLAIN, rate: null },
  'video-only': { ...PLAIN, hasAudio: false },
  gap: { ...PLAIN, filters: [`setpts=${JUMPS}`, `asetpts=${JUMPS}`] },
  'video-gap': { ...PLAIN, filters: ['select=not(between(mod(t\\,60)\\,7\\,12))', 'anull'] },
} as const satisfies Readonly<Record<string, Source>>

export type SourceName = keyof typeof SOURCES

export const isSource = (name: string): name is SourceName => Object.hasOwn(SOURCES, name)

/** Pushes a source in real time to `rtmp://…`. `endChildren` ends it. */
export function pushSource(name: SourceName, url: string): void {
  const { rate, hasAudio, gop, bFrames, filters = ['null', 'anull'] }: Source = SOURCES[name]
  const video = ['-re', '-f', 'lavfi', '-i', `testsrc2=size=320x180:rate=${rate}`]
  const audio = ['-re', '-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000']
  const x264 = `-c:v libx264 -preset ultrafast -pix_fmt yuv420p -bf ${bFrames} -g ${gop} -sc_threshold 0 -fps_mode vfr`
  const args = [
    '-loglevel',
    'error',
    ...(rate === null ? [] : video),
    ...(hasAudio ? audio : []),
    ...(rate === null ? [] : ['-vf', filters[0], ...x264.split(' ')]),
    ...(hasAudio ? ['-af', filters[1], '-c:a', 'aac'] : []),
    '-f',
    'flv',
    url,
  ]
  ended(spawn('ffmpeg', args, { stdio: ['ignore', 'ignore', 'inherit'] }))
}
