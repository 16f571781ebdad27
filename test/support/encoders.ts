import type { FindingCode } from '../../src/core/streams/findings.ts'
import { FlvReader } from '../../src/media/rtmp/flvTags.ts'
import { type Message, MESSAGE } from '../../src/media/rtmp/messages.ts'
import { clip } from './clips.ts'

const SECONDS = 30
/** The times of a clock that is set every ten seconds. */
const SET_EVERY_MS = 10_000
const SET_BY_MS = 7000

interface Encoder {
  readonly size?: string
  /** In place of 440 Hz. */
  readonly tone?: string
  readonly video?: string
  readonly audio?: string
  /** What it does to the timestamps of the recording. */
  readonly times?: (message: Message) => number
  /** What Sluice says of it; null: nothing. */
  readonly finding: FindingCode | null
}

const isAudio = ({ type }: Message): boolean => type === MESSAGE.audio
const isMedia = ({ type }: Message): boolean => type !== MESSAGE.data

/** Encoders with one thing set wrong each, and some that are set right. ffmpeg really encodes all of them. */
export const ENCODERS = {
  good: { finding: null },
  'good, High, 50 frames a second': {
    video: '-r 50 -profile:v high -preset veryfast -tune zerolatency -g 100',
    finding: null,
  },
  'good, mono': { audio: '-ac 1 -ar 48000', finding: null },
  'good, without sound': { audio: '-an', finding: null },
  'a keyframe every 20 s': { video: '-g 500', finding: 'keyframe_interval' },
  'B-frames': { video: '-bf 2 -tune film', finding: 'b_frames' },
  '12 frames a second for 30': {
    video: '-r 30 -g 24 -vf select=lt(mod(n\\,5)\\,2) -fps_mode vfr',
    finding: 'frame_rate',
  },
  silence: { tone: 'anullsrc=r=48000:cl=stereo', finding: 'audio_silent' },
  'silence in mono': { tone: 'anullsrc=r=44100:cl=mono', finding: 'audio_silent' },
  'sound 2 s behind the picture': {
    times: (message) => message.timestamp - (isAudio(message) ? 2000 : 0),
    finding: 'audio_video_skew',
  },
  'a clock that is set again and again': {
    times: ({ timestamp }) => timestamp + Math.floor(timestamp / SET_EVERY_MS) * SET_BY_MS,
    finding: 'clock_jumps',
  },
  'timestamps of 0': { times: () => 0, finding: 'clock_jumps' },
  'mono of 8 kHz': { audio: '-ac 1 -ar 8000', finding: 'audio_rate' },
  'High 4:4:4': { video: '-pix_fmt yuv444p -profile:v high444', finding: 'video_profile' },
  'a camera that stands still': {
    video: '-vf select=not(between(mod(t\\,10)\\,4\\,5.5)) -g 25 -fps_mode vfr -max_interleave_delta 100000',
    finding: 'video_gaps',
  },
  '2 Mbit/s': {
    size: '640x360',
    video: '-vf noise=alls=100:allf=t -b:v 2000k -minrate 2000k -maxrate 2000k -bufsize 500k',
    finding: 'link_slow',
  },
} as const satisfies Readonly<Record<string, Encoder>>

export type EncoderName = keyof typeof ENCODERS

export const ENCODER_NAMES = Object.keys(ENCODERS) as readonly EncoderName[]

/** Half a minute of what an encoder sends, as messages of RTMP in the order of sending. */
export function recordedBy(name: EncoderName): readonly Message[] {
  const {
    size = '160x90',
    tone = 'sine=frequency=440:sample_rate=48000',
    video = '',
    audio = '',
    times,
  }: Encoder = ENCODERS[name]
  const args = [
    `-t ${SECONDS} -f lavfi -i testsrc2=size=${size}:rate=${/-r (\d+)/.exec(video)?.[1] ?? 25}`,
    `-t ${SECONDS} -f lavfi -i ${tone}`,
    `-c:v libx264 -preset ultrafast -tune zerolatency -pix_fmt yuv420p -g 50 ${video.replace(/-r \d+/, '')} -c:a aac ${audio}`,
  ]
  // Where ffmpeg is in no hurry it writes audio far behind the video.
  const sent = new FlvReader()
    .push(clip(args.join(' '), 'flv'))
    .toSorted((one, other) => one.timestamp - other.timestamp)
  if (times === undefined) return sent
  return sent.map((message) => ({ ...message, timestamp: isMedia(message) ? Math.max(0, times(message)) : 0 }))
}
