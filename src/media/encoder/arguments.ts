import type { Rung } from '../../core/channels/runs/rungs.ts'
import type { AbrLadder, Rendition } from '../../core/channels/types.ts'
import { encoderRates } from '../../core/hls/bandwidth.ts'
import { fitInto, KEYFRAMES, MATROSKA_INPUT, scaledInto, words } from '../ffmpeg/arguments.ts'
import { outputPipe } from '../ffmpeg/ffmpeg.ts'
import type { VideoEncoder } from '../ffmpeg/videoEncoders.ts'

const THUMBNAIL_EVERY_SECONDS = 5
/** Pixels; of a picture that is more than twice as high as wide, the height is twice this. */
const THUMBNAIL_WIDTH = 640

/**
 * Added to the times of each output, microseconds: AAC begins a little before its source, and a time below zero would
 * become a huge one.
 */
export const OFFSET_US = 10_000_000

export interface LadderInput {
  /** At least one. */
  readonly rungs: readonly Rung[]
  readonly audioKbps: AbrLadder['audioKbps']
  /** What the source has: video, audio or both. */
  readonly hasVideo: boolean
  /** The indexes of its audio tracks (`Frame.audioIndex`), in order. */
  readonly audioTracks: readonly number[]
}

/** The audio tracks that an encoder makes: beside video all of them, else only the first. */
export const encodedAudioTracks = ({
  hasVideo,
  audioTracks,
  audioKbps,
}: Pick<LadderInput, 'hasVideo' | 'audioTracks' | 'audioKbps'>): readonly number[] =>
  audioKbps === null ? [] : audioTracks.slice(0, hasVideo ? audioTracks.length : 1)

/** The rungs that a process encodes: none without video, and not the copied one. */
export const encodedRungs = ({ hasVideo, rungs }: Pick<LadderInput, 'hasVideo' | 'rungs'>): readonly Rung[] =>
  hasVideo ? rungs.filter(({ copy }) => !copy) : []

/** Whether a rung is copied, and the others follow its keyframes. */
const copies = ({ hasVideo, rungs }: Pick<LadderInput, 'hasVideo' | 'rungs'>): boolean =>
  hasVideo && rungs.some(({ copy }) => copy)

/**
 * Encodes H.264 for the rungs of a ladder, and each audio track as AAC once for all of them. Each goes to a pipe of its own,
 * audio after the rungs, as fragmented MP4 with one frame in a fragment. With video, thumbnails go to the last pipe.
 */
export function ladderArguments(ladder: LadderInput, encoder: VideoEncoder): string[] {
  const { audioKbps, hasVideo } = ladder
  const rungs = encodedRungs(ladder)
  const audioTracks = encodedAudioTracks(ladder)
  const keyframes = copies(ladder) ? KEYFRAMES_OF_SOURCE : KEYFRAMES
  return [
    // A decoder that works on several frames in parallel would hold them back.
    ...words('-y -thread_type slice'),
    ...(rungs.length > 0 ? encoder.device : []),
    // Only the thumbnail is made of the video.
    ...(hasVideo && rungs.length === 0 ? words('-skip_frame nokey') : []),
    '-copyts',
    ...MATROSKA_INPUT,
    ...(hasVideo ? ['-filter_complex', filters(rungs, encoder)] : []),
    ...rungs.flatMap((rung, index) => {
      const times = rung.frameRate === null ? encoder.ofSourceRate : []
      return videoOutput(encoder, index, [...times, ...keyframes, ...rates(rung)])
    }),
    ...audioTracks.flatMap((_, index) => [
      ...words(`-map 0:a:${index} -b:a ${audioKbps}k`),
      ...AAC,
      ...toPipe(rungs.length + index),
    ]),
    ...(hasVideo ? [...THUMBNAIL, outputPipe(rungs.length + audioTracks.length)] : []),
  ]
}

/** Each rung has exactly its size; sources with another aspect ratio are letterboxed. So a stream never changes its size. */
function filters(video: readonly Rendition[], encoder: VideoEncoder): string {
  const outputs = video.map((_, index) => `[s${index}]`).join('')
  const rungs = video.map(({ width: w, height: h, frameRate }, index) => {
    const rate = frameRate === null ? '' : `fps=${frameRate.value}/${frameRate.scale},`
    return `[s${index}]${rate}${fitInto(w, h)}${uploadTo(encoder)}[v${index}]`
  })
  const often = `select='isnan(prev_selected_t)+gte(t-prev_selected_t,${THUMBNAIL_EVERY_SECONDS})'`
  return [
    `[0:v:0]split=${video.length + 1}${outputs}[s]`,
    ...rungs,
    `[s]${often},${scaledInto(THUMBNAIL_WIDTH, 2 * THUMBNAIL_WIDTH)}:out_range=full,setsar=1[thumb]`,
  ].join(';')
}

/** What follows the last filter of an output. */
export const uploadTo = ({ upload }: VideoEncoder): string => (upload === '' ? '' : `,${upload}`)

/** Encodes what a filter graph calls `v` and this index, with keyframes only where `how` forces them, to the pipe with it. */
export const videoOutput = ({ options, muxing }: VideoEncoder, index: number, how: readonly string[]): string[] => [
  '-map',
  `[v${index}]`,
  ...options,
  ...how,
  ...toPipe(index, muxing),
]

/** Keyframes where the source has them; `-g` is more than the ten seconds between those of a source that is copied. */
const KEYFRAMES_OF_SOURCE = words('-fps_mode passthrough -enc_time_base 1:90000 -force_key_frames source -g 1500')

/** A bitrate on the average, and the most. */
export function rates({ bitrate }: Pick<Rendition, 'bitrate'>): string[] {
  const { maxrate, bufsize } = encoderRates(bitrate)
  return words(`-b:v ${bitrate} -maxrate:v ${maxrate} -bufsize:v ${bufsize}`)
}

const AAC = words('-c:a aac -ar 48000 -ac 2 -af aresample=async=1')

/** `frag_discont` keeps the times: without it each output would begin at zero by itself, and audio would be out of sync. */
const FRAGMENTS = [
  ...words('-f mp4 -video_track_timescale 90000 -avoid_negative_ts disabled -use_editlist 0 -flush_packets 1'),
  ...words('-movflags frag_every_frame+empty_moov+default_base_moof+skip_trailer+frag_discont'),
  ...words(`-output_ts_offset ${OFFSET_US / 1_000_000}`),
]

/** Writes to the pipe with this index. @param muxing further options of the muxer */
export const toPipe = (output: number, muxing: readonly string[] = []): string[] => [
  ...FRAGMENTS,
  ...muxing,
  outputPipe(output),
]

/**
 * JPEGs with their lengths in front (`ThumbnailReader`), for `outputPipe`. `-color_range pc` replaces the deprecated `yuvj420p`,
 * for which ffmpeg logs a warning in every run.
 */
const THUMBNAIL = [
  ...words('-map [thumb] -c:v mjpeg -q:v 5 -pix_fmt yuv420p -color_range pc -strict unofficial -fps_mode passthrough'),
  ...words('-f mpjpeg -flush_packets 1'),
]
