import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import { FlvReader } from '../../src/media/rtmp/flvTags.ts'
import type { Message } from '../../src/media/rtmp/messages.ts'
import { ended } from '../support/channels.ts'
import { keptOf } from '../support/clips.ts'

const run = promisify(execFile)

interface Source {
  /** Frames in a second; null: no video. */
  readonly rate: string | null
  readonly hasAudio: boolean
  /** Frames from one keyframe to the next. */
  readonly gop: number
  readonly bFrames: number
  /** Video with a buffer of one second, thousands of bits per second. Without it the quality is constant. */
  readonly kbits?: number
  /** Filters of the video, and of the audio. */
  readonly filters?: readonly [video: string, audio: string]
  /** Sends audio also while there is no video. By default ffmpeg holds it back, as its order needs. */
  readonly audioGoesOn?: boolean
}

const PLAIN: Source = { rate: '25', hasAudio: true, gop: 50, bFrames: 0 }

/** In the eighth second of each minute the times jump by eight seconds. */
const JUMPS = 'PTS+floor((T+52)/60)*8/TB'

/** Grey, which needs no bits, then noise for four seconds, which needs more than there are. */
const NOISE = {
  ...PLAIN,
  rate: '50',
  gop: 100,
  hasAudio: false,
  filters: ['drawbox=c=gray:t=fill,noise=alls=100:allf=t:enable=gte(mod(t\\,6)\\,2)', 'anull'],
} as const

/** What publishers send, by name. */
export const SOURCES = {
  plain: PLAIN,
  'b-frames': { ...PLAIN, bFrames: 2 },
  '29.97': { ...PLAIN, rate: '30000/1001', gop: 60 },
  'variable-rate': { ...PLAIN, filters: ['select=gt(mod(n\\,11)\\,2)', 'anull'] },
  'gop-250': { ...PLAIN, gop: 250 },
  'audio-only': { ...PLAIN, rate: null },
  'video-only': { ...PLAIN, hasAudio: false },
  gap: { ...PLAIN, filters: [`setpts=${JUMPS}`, `asetpts=${JUMPS}`] },
  noise: NOISE,
  'noise-of-known-bitrate': { ...NOISE, kbits: 2000 },
  slides: { ...PLAIN, rate: '1/3', gop: 4, audioGoesOn: true },
  'video-gap': { ...PLAIN, filters: ['select=not(between(mod(t\\,60)\\,7\\,12))', 'anull'], audioGoesOn: true },
} as const satisfies Readonly<Record<string, Source>>

export type SourceName = keyof typeof SOURCES

export const isSource = (name: string): name is SourceName => Object.hasOwn(SOURCES, name)

/** What ffmpeg reads for a source, and how it encodes that as FLV. */
function argumentsOf(name: SourceName): { input: string[]; output: string[] } {
  const {
    rate,
    hasAudio,
    gop,
    bFrames,
    filters = ['null', 'anull'],
    audioGoesOn = false,
    kbits,
  }: Source = SOURCES[name]
  // One input: ffmpeg reads another one only when the video has got as far.
  const tracks = [
    ...(rate === null ? [] : [`testsrc2=size=320x180:rate=${rate}`]),
    ...(hasAudio ? ['sine=frequency=440:sample_rate=48000'] : []),
  ].map((track, at) => `${track}[out${at}]`)
  const x264 = `-c:v libx264 -preset ultrafast -pix_fmt yuv420p -bf ${bFrames} -g ${gop} -sc_threshold 0 -fps_mode vfr`
  const output = [
    ...(rate === null ? [] : ['-vf', filters[0], ...x264.split(' ')]),
    ...(kbits === undefined ? [] : `-b:v ${kbits}k -maxrate ${kbits}k -bufsize ${kbits}k`.split(' ')),
    ...(hasAudio ? ['-af', filters[1], '-c:a', 'aac'] : []),
    ...(audioGoesOn ? ['-max_interleave_delta', '100000'] : []),
    '-f',
    'flv',
  ]
  return { input: ['-f', 'lavfi', '-i', tracks.join(';')], output }
}

/** Pushes a source in real time to `rtmp://…`. `endChildren` ends it. */
export function pushSource(name: SourceName, url: string, errors: 'inherit' | 'ignore' = 'inherit'): ChildProcess {
  const { input, output } = argumentsOf(name)
  const args = ['-loglevel', 'error', '-re', ...input, ...output, url]
  return ended(spawn('ffmpeg', args, { stdio: ['ignore', 'ignore', errors] }))
}

/** Of a recording. It has what differs in a source: a jump, or seconds without video. */
const RECORDED_SECONDS = 30
const recordings = new Map<SourceName, Promise<readonly Message[]>>()

/** The first half minute of a source, as tags of FLV. */
export function recordingOf(name: SourceName): Promise<readonly Message[]> {
  const made = recordings.get(name) ?? record(name)
  recordings.set(name, made)
  return made
}

async function record(name: SourceName): Promise<readonly Message[]> {
  const { input, output } = argumentsOf(name)
  const args = ['-loglevel', 'error', ...input, '-t', String(RECORDED_SECONDS), ...output, 'pipe:1']
  const made = async () => (await run('ffmpeg', args, { encoding: 'buffer', maxBuffer: 1 << 28 })).stdout
  const flv = await keptOf(['recording', args], made)
  // Where ffmpeg is in no hurry it writes audio far behind the video.
  return new FlvReader().push(flv).sort((one, other) => one.timestamp - other.timestamp)
}
