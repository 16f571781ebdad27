import type { Rung } from '../../core/channels/runs/rungs.ts'
import type { AbrLadder, Rendition } from '../../core/channels/types.ts'
import { encoderRates } from '../../core/hls/bandwidth.ts'
import { KEYFRAMES, MATROSKA_INPUT, words } from '../ffmpeg/arguments.ts'
import { outputPipe } from '../ffmpeg/ffmpeg.ts'
import { PULL_INPUT } from './pullInput.ts'

const THUMBNAIL_EVERY_SECONDS = 5

/** The name of the thumbnail in the working folder. */
export const THUMBNAIL_FILE = 'thumbnail.jpeg'

/**
 * Added to the times of each output, microseconds: AAC begins a little before its source, and a time below zero would
 * become a huge one.
 */
export const OFFSET_US = 10_000_000

export interface LadderInput {
  /** At least one. */
  readonly rungs: readonly Rung[]
  readonly audioKbps: AbrLadder['audioKbps']
  /** Whether the source has audio. */
  readonly hasAudio: boolean
  /** Where the media comes from. `push`: Matroska on standard input; `pull`: the source that `pullScript` names there. */
  readonly input: 'push' | 'pull'
}

/** Whether an encoder makes audio. */
export const makesAudio = ({ hasAudio, audioKbps }: Pick<LadderInput, 'hasAudio' | 'audioKbps'>): boolean =>
  hasAudio && audioKbps !== null

/**
 * Encodes H.264 for the rungs of a ladder, and AAC once for all of them. Each goes to a pipe of its own, audio to the last
 * one, as fragmented MP4 with one frame in a fragment. Writes a thumbnail into the working folder.
 */
export function ladderArguments(ladder: LadderInput): string[] {
  const { rungs, audioKbps, input } = ladder
  return [
    // A decoder that works on several frames in parallel would hold them back.
    ...words('-y -thread_type slice'),
    ...(input === 'push' ? ['-copyts', ...MATROSKA_INPUT] : PULL_INPUT),
    '-filter_complex',
    filters(rungs),
    ...rungs.flatMap((rung, index) => ['-map', `[v${index}]`, ...X264, ...KEYFRAMES, ...rates(rung), ...toPipe(index)]),
    ...(makesAudio(ladder) ? [...AAC, '-b:a', `${audioKbps}k`, ...toPipe(rungs.length)] : []),
    ...THUMBNAIL,
  ]
}

/** Each rung has exactly its size; sources with another aspect ratio are letterboxed. So a stream never changes its size. */
function filters(video: readonly Rendition[]): string {
  const outputs = video.map((_, index) => `[s${index}]`).join('')
  const rungs = video.map(({ width: w, height: h, frameRate }, index) => {
    const rate = frameRate === null ? '' : `fps=${frameRate.value}/${frameRate.scale},`
    const fit = `scale=w=${w}:h=${h}:force_original_aspect_ratio=decrease:force_divisible_by=2`
    return `[s${index}]${rate}${fit},pad=${w}:${h}:(ow-iw)/2:(oh-ih)/2,setsar=1[v${index}]`
  })
  const often = `select='isnan(prev_selected_t)+gte(t-prev_selected_t,${THUMBNAIL_EVERY_SECONDS})'`
  return [
    `[0:v:0]split=${video.length + 1}${outputs}[s]`,
    ...rungs,
    `[s]${often},scale=w=640:h=-2:out_range=full[thumb]`,
  ].join(';')
}

/** Keyframes only where they are forced, the same in all rungs. */
const X264 = words(
  '-c:v libx264 -preset superfast -tune zerolatency -pix_fmt yuv420p -profile:v high -g 600 -sc_threshold 0',
)

function rates({ bitrate }: Rendition): string[] {
  const { maxrate, bufsize } = encoderRates(bitrate)
  return words(`-b:v ${bitrate} -maxrate:v ${maxrate} -bufsize:v ${bufsize}`)
}

const AAC = words('-map 0:a:0 -c:a aac -ar 48000 -ac 2 -af aresample=async=1')

/** `frag_discont` keeps the times: without it each output would begin at zero by itself, and audio would be out of sync. */
const FRAGMENTS = [
  ...words('-f mp4 -video_track_timescale 90000 -avoid_negative_ts disabled -use_editlist 0 -flush_packets 1'),
  ...words('-movflags frag_every_frame+empty_moov+default_base_moof+skip_trailer+frag_discont'),
  ...words(`-output_ts_offset ${OFFSET_US / 1_000_000}`),
]

const toPipe = (output: number): string[] => [...FRAGMENTS, outputPipe(output)]

/** `-color_range pc` replaces the deprecated `yuvj420p`, for which ffmpeg logs a warning in every run. */
const THUMBNAIL = [
  ...words('-map [thumb] -c:v mjpeg -q:v 5 -pix_fmt yuv420p -color_range pc -strict unofficial -fps_mode passthrough'),
  ...words(`-f image2 -update 1 -atomic_writing 1 ${THUMBNAIL_FILE}`),
]
