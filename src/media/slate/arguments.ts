import type { Rung } from '../../core/channels/runs/rungs.ts'
import { encoderRates } from '../../core/hls/bandwidth.ts'
import type { SlateMedia, SlateMediaType } from '../../core/channels/slate.ts'
import { toPipe, videoOutput } from '../encoder/arguments.ts'
import { fitInto, KEYFRAMES, words } from '../ffmpeg/arguments.ts'
import { X264 } from '../ffmpeg/videoEncoders.ts'

/** ffmpeg's demuxer, and the decoders that may work: nothing else in a file is ever opened. */
const READERS: Readonly<Record<SlateMediaType, readonly [demuxer: string, decoders: string]>> = {
  'image/jpeg': ['jpeg_pipe', 'mjpeg'],
  'image/png': ['png_pipe', 'png'],
  'video/mp4': ['mov', 'h264,hevc,aac,mp3float,opus'],
}

/**
 * An uploaded file as input: of this format only, and of no other file or address, whatever it names.
 * @param file its name in the working folder
 */
export function slateInput(mediaType: SlateMediaType, file: string): string[] {
  const [demuxer, decoders] = READERS[mediaType]
  const limits = ['-codec_whitelist', decoders, '-protocol_whitelist', 'file', '-threads', '2']
  return [...limits, '-f', demuxer, '-i', `file:${file}`]
}

/** How long the loop of an image is: one group of pictures, seconds. */
const IMAGE_SECONDS = 2
/** Frames a second of an image: as many as fit the parts of every stream, whatever was broadcast before. */
const IMAGE_RATE = 20
const CLIP_RATE = 30
/** A slate of a large rendition needs no more, bits per second. It bounds the memory of a loop. */
const BITRATE_MAX = 4_000_000

/**
 * The frame rate of a slate in a rung. A whole number, so that loops end with a frame; and no higher than what the ladder
 * says, because the master playlist says it too. `core/hls/cutter.ts` cuts regular parts of each of these rates.
 */
function slateRate({ mediaType }: SlateMedia, { frameRate }: Pick<Rung, 'frameRate'>): number {
  const most = mediaType === 'video/mp4' ? CLIP_RATE : IMAGE_RATE
  return frameRate === null ? most : Math.max(1, Math.min(most, Math.floor(frameRate.value / frameRate.scale)))
}

/** How long the loop of a slate is, whole seconds. A clip is held at its end until then. */
export const slateSeconds = ({ durationMs }: SlateMedia): number =>
  durationMs === null ? IMAGE_SECONDS : Math.max(1, Math.ceil(durationMs / 1000))

/** More than the frames at the beginning that still know of nothing before them, and are not played. */
const LEAD_SECONDS = 1

export const AUDIO_RATE = 48_000
/** Samples in a frame of AAC. */
export const AAC_SAMPLES = 1024
/** 375 frames of AAC last exactly this long. */
const WHOLE_SECONDS = 8

/** After how many loops of a slate with audio its frames of AAC begin again: when both end together. */
function audioLoops(media: SlateMedia): number {
  const seconds = slateSeconds(media)
  let loops = 1
  while ((loops * seconds) % WHOLE_SECONDS !== 0) loops += 1
  return loops
}

/** The frames of audio until they begin again: one of silence, or those of whole loops. */
export const audioFrames = (media: SlateMedia): number =>
  media.hasAudio ? (audioLoops(media) * slateSeconds(media) * AUDIO_RATE) / AAC_SAMPLES : 1

export interface SlateEncoding {
  readonly media: SlateMedia
  /** The name of the uploaded file in the working folder. */
  readonly file: string
  /** At least one. */
  readonly rungs: readonly Rung[]
  /** Null: without audio. */
  readonly audioKbps: number | null
}

/**
 * Encodes a slate once, with libx264: for each rung, and its audio or silence, as fragmented MP4 to a pipe of its own.
 */
export function slateArguments({ media, file, rungs, audioKbps }: SlateEncoding): string[] {
  const audio =
    audioKbps === null ? [] : ['-map', '[a]', '-c:a', 'aac', '-b:a', `${audioKbps}k`, ...toPipe(rungs.length)]
  return [
    '-y',
    ...slateInput(media.mediaType, file),
    '-filter_complex',
    filters(media, rungs, audioKbps !== null),
    ...rungs.flatMap((rung, index) => videoOutput(X264, index, [...KEYFRAMES, ...slateRates(rung)])),
    ...audio,
  ]
}

function filters(media: SlateMedia, rungs: readonly Rung[], hasAudio: boolean): string {
  const outputs = rungs.map((_, index) => `[s${index}]`).join('')
  const seconds = slateSeconds(media)
  const video = rungs.map((rung, index) => {
    const rate = slateRate(media, rung)
    const fit = `${fitInto(rung.width, rung.height)},format=yuv420p`
    const made =
      media.durationMs === null
        ? `${fit},loop=loop=${seconds * rate - 1}:size=1:start=0,settb=1/90000,setpts=N*90000/${rate}`
        : `fps=${rate}:start_time=0,tpad=stop_mode=clone:stop_duration=${seconds},trim=end_frame=${seconds * rate},${fit}`
    return `[s${index}]${made}[v${index}]`
  })
  return [`[0:v:0]split=${rungs.length}${outputs}`, ...video, ...(hasAudio ? [audioFilter(media)] : [])].join(';')
}

/** The audio of a clip is as long as its video, and repeated until frames of AAC end with a loop. */
function audioFilter(media: SlateMedia): string {
  if (!media.hasAudio) return `anullsrc=r=${AUDIO_RATE}:cl=stereo,atrim=duration=${LEAD_SECONDS}[a]`
  const [samples, loops] = [slateSeconds(media) * AUDIO_RATE, audioLoops(media)]
  return [
    `[0:a:0]aresample=${AUDIO_RATE}:async=1:first_pts=0`,
    'aformat=sample_fmts=fltp:channel_layouts=stereo',
    `apad=whole_len=${samples}`,
    `atrim=end_sample=${samples}`,
    `aloop=loop=${loops}:size=${samples}`,
    `atrim=end_sample=${loops * samples + LEAD_SECONDS * AUDIO_RATE}`,
    `asetpts=N/SR/TB[a]`,
  ].join(',')
}

/** As good as it can be within the bitrate of the rung: most images need far less. */
function slateRates({ bitrate }: Rung): string[] {
  const { maxrate, bufsize } = encoderRates(Math.min(bitrate, BITRATE_MAX))
  return words(`-crf 21 -maxrate:v ${maxrate} -bufsize:v ${bufsize}`)
}
