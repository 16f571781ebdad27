import type { PixelSize } from '../../base/pixelSize.ts'
import { CODECS } from '../codecs/codecs.ts'
import { fitInto, words } from '../ffmpeg/arguments.ts'
import { filesScript } from '../ffmpeg/concatScript.ts'
import type { RecordingPart, PartTrack } from './recordingFiles.ts'

const ENCODE_VIDEO = words('-c:v libx264 -preset veryfast -crf 21 -pix_fmt yuv420p')
const ENCODE_AUDIO = words('-c:a aac -b:a 160k')
/** Writes the index first, so that a player can start and seek before it has the whole file. */
const OUTPUT = words('-movflags +faststart -f mp4 -y')

/** One process takes so many parts: each takes 30 MB in full HD, from the first picture to the last of all. */
const AT_ONCE = 5

/** What a process of ffmpeg is given: see `FfmpegJob`. */
export interface FinishingStep {
  readonly args: readonly string[]
  readonly script?: string
}

/** Joins the parts of a recording into one MP4 at `output`. Copies the media where possible. */
export function finishingSteps(parts: readonly RecordingPart[], output: string): FinishingStep[] {
  const all = parts.flatMap(({ tracks }) => tracks)
  const [only, ...more] = parts
  const joinsAll = only !== undefined && more.length === 0 ? convertOne(only) : convertSeveral(parts, all)
  const toOutput = [...OUTPUT, output]
  if (parts.length <= AT_ONCE) return [{ args: [...inputsOf(parts), ...joinsAll, ...toOutput] }]
  const groups = Array.from({ length: Math.ceil(parts.length / AT_ONCE) }, (_, at) => ({
    some: parts.slice(at * AT_ONCE, (at + 1) * AT_ONCE),
    joined: `${output}.${at}.mkv`,
  }))
  return [
    ...groups.map(({ some, joined }) => ({
      args: [...inputsOf(some), ...convertSeveral(some, all), '-f', 'matroska', '-y', joined],
    })),
    {
      args: [...words('-f concat -safe 0 -i pipe:0 -c copy'), ...toOutput],
      script: filesScript(groups.map(({ joined }) => joined)),
    },
  ]
}

/** Names the format, so that ffmpeg takes no publisher's data for another one. */
const inputsOf = (parts: readonly RecordingPart[]): string[] =>
  parts.flatMap(({ file }) => ['-f', 'matroska', '-i', file])

function convertOne({ tracks }: RecordingPart): string[] {
  const { video, audio } = kindsOf(tracks)
  return [
    ...(video === undefined ? ['-vn'] : CODECS[video.codec].inMp4 ? copyVideo(video) : encodeVideo(sizeOf(tracks))),
    ...(audio === undefined ? ['-an'] : CODECS[audio.codec].inMp4 ? words('-c:a copy') : encodeAudio()),
  ]
}

/** HEVC with its parameter sets in the header (`hvc1`): Safari does not play the other kind. */
const copyVideo = ({ codec }: PartTrack): string[] =>
  codec === 'hevc' ? words('-c:v copy -tag:v hvc1') : words('-c:v copy')

/** A browser's camera has a variable rate, and its size may change: keeps the timestamps and scales to the largest size. */
const encodeVideo = (size: PixelSize | null): string[] => [
  ...ENCODE_VIDEO,
  ...words('-fps_mode passthrough -enc_time_base 1:90000'),
  ...(size === null ? [] : ['-vf', fitted(size)]),
]

const encodeAudio = (): string[] => [...ENCODE_AUDIO, ...words('-ar 48000 -af aresample=async=1')]

/** Converts parts of different formats to the size of all and joins them; missing video is black, missing audio silent. */
function convertSeveral(parts: readonly RecordingPart[], all: readonly PartTrack[]): string[] {
  const { video, audio } = kindsOf(all)
  const size = sizeOf(all) ?? { width: 1280, height: 720 }
  const chains = parts.flatMap(({ tracks }, index) => {
    const has = kindsOf(tracks)
    return [
      ...(video === undefined ? [] : [`${has.video ? `[${index}:v]` : black(size)}${fitted(size)},fps=30[v${index}]`]),
      ...(audio === undefined ? [] : [`${has.audio ? `[${index}:a]` : SILENCE}${STEREO}[a${index}]`]),
    ]
  })
  const joined = parts.map((_, index) => `${video ? `[v${index}]` : ''}${audio ? `[a${index}]` : ''}`).join('')
  const outputs = `${video ? '[v]' : ''}${audio ? '[a]' : ''}`
  const concat = `${joined}concat=n=${parts.length}:v=${video ? 1 : 0}:a=${audio ? 1 : 0}${outputs}`
  return [
    '-filter_complex',
    [...chains, concat].join(';'),
    ...(video ? ['-map', '[v]', ...ENCODE_VIDEO] : []),
    ...(audio ? ['-map', '[a]', ...ENCODE_AUDIO] : []),
  ]
}

/** `concat` extends a short input to the length of its part. */
const SILENCE = 'anullsrc=r=48000:cl=stereo:d=0.1,'
const STEREO = 'aresample=48000:async=1,aformat=sample_fmts=fltp:channel_layouts=stereo'
const black = ({ width, height }: PixelSize): string => `color=c=black:s=${width}x${height}:r=30:d=0.1,`

const fitted = ({ width, height }: PixelSize): string => `${fitInto(width, height)},format=yuv420p`

const kindsOf = (tracks: readonly PartTrack[]) => ({
  video: tracks.find((track) => track.kind === 'video'),
  audio: tracks.find((track) => track.kind === 'audio'),
})

/** The largest size, in even numbers as H.264 needs; null when none is known. */
function sizeOf(tracks: readonly PartTrack[]): PixelSize | null {
  const sized = tracks.filter(({ width = 0, height = 0 }) => width > 0 && height > 0)
  const area = ({ width = 0, height = 0 }: PartTrack): number => width * height
  const [largest] = sized.sort((a, b) => area(b) - area(a))
  return largest ? { width: even(largest.width ?? 0), height: even(largest.height ?? 0) } : null
}

const even = (length: number): number => length + (length % 2)
