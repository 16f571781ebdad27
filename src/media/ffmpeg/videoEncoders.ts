import { err, ok, type Result } from '../../base/result.ts'
import { words, X264_TIMES } from './arguments.ts'

/** How ffmpeg encodes H.264 for channels and for the renditions of feeds. */
export interface VideoEncoder {
  readonly name: VideoEncoderName
  /** Options before the inputs: the device. */
  readonly device: readonly string[]
  /** Follows the last filter of each output with a comma; empty: none. Some encoders take only pictures in their own memory. */
  readonly upload: string
  /** Options of an output. No B-frames, and keyframes only where they are forced. */
  readonly options: readonly string[]
  /** Further ones where the source decides how far frames are apart. */
  readonly ofSourceRate: readonly string[]
  /** Whether `-crf` and `-maxrate` together encode as well as they can up to a bitrate. */
  readonly hasCrf: boolean
  /** Further options of the MP4 muxer. */
  readonly muxing: readonly string[]
}

/** What every hardware encoder gets. `-g` is more than the time between forced keyframes. */
const COMMON = '-bf 0 -g 600'

/** The device of this process. */
const NAME = 'encoder'

/**
 * The options of each encoder, as `ffmpeg -h encoder=NAME` describes them since version 5.1. Each forces IDR frames, works
 * on one frame at a time where it can be told to, and encodes with a variable bitrate below `-maxrate`.
 *
 * - NVENC: a forced keyframe is an IDR frame only with `-forced-idr`. `-delay 0` returns each frame at once.
 * - VAAPI and Quick Sync: `-async_depth` is the number of frames in work. A forced keyframe of VAAPI is an IDR frame.
 * - VideoToolbox: without `-allow_sw` it refuses to encode without hardware.
 * - V4L2 names no profiles. It has its parameter sets in the stream only, so the header of the MP4 waits for the first frame (`delay_moov`).
 */
const OPTIONS = {
  libx264: words('-preset superfast -tune zerolatency -pix_fmt yuv420p -profile:v high -g 600 -sc_threshold 0'),
  h264_nvenc: words(
    `-preset p2 -tune ll -rc vbr -forced-idr 1 -no-scenecut 1 -delay 0 -zerolatency 1 -pix_fmt yuv420p -profile:v high ${COMMON}`,
  ),
  h264_vaapi: words(`-async_depth 1 -profile:v high ${COMMON}`),
  h264_qsv: words(
    `-preset veryfast -forced_idr 1 -look_ahead 0 -async_depth 1 -pix_fmt nv12 -profile:v high ${COMMON}`,
  ),
  h264_videotoolbox: words(`-realtime 1 -allow_sw 0 -pix_fmt nv12 -profile:v high ${COMMON}`),
  h264_v4l2m2m: words(`-num_output_buffers 32 -num_capture_buffers 32 -pix_fmt yuv420p ${COMMON}`),
} as const

export type VideoEncoderName = keyof typeof OPTIONS

/** Options that choose a device, and whether it is the path of one, as of a render node, or the number of one. */
const DEVICES: Readonly<Partial<Record<VideoEncoderName, { is: 'path' | 'number'; none?: string; of: string }>>> = {
  h264_nvenc: { is: 'number', of: '' },
  h264_vaapi: { is: 'path', none: `vaapi=${NAME}`, of: `vaapi=${NAME}:` },
  h264_qsv: { is: 'path', of: `qsv=${NAME},child_device=` },
}

/** libx264, which needs no hardware. */
export const X264: VideoEncoder = {
  name: 'libx264',
  device: [],
  upload: '',
  options: ['-c:v', 'libx264', ...OPTIONS.libx264],
  ofSourceRate: X264_TIMES,
  hasCrf: true,
  muxing: [],
}

/**
 * The encoder with this name on this device. The error is a sentence for the operator.
 * @param device the path of a device, the number of one, or empty: ffmpeg chooses
 */
export function videoEncoderOf(name: VideoEncoderName, device: string): Result<VideoEncoder, string> {
  const problem = device === '' ? null : deviceProblem(name, device)
  if (problem !== null) return err(problem)
  if (name === 'libx264') return ok(X264)
  const onGpu = name === 'h264_nvenc' && device !== '' ? ['-gpu', device] : []
  return ok({
    name,
    device: deviceOptions(name, device),
    upload: name === 'h264_vaapi' ? 'format=nv12,hwupload' : '',
    options: ['-c:v', name, ...OPTIONS[name], ...onGpu],
    ofSourceRate: [],
    hasCrf: false,
    muxing: name === 'h264_v4l2m2m' ? words('-movflags +delay_moov') : [],
  })
}

function deviceProblem(name: VideoEncoderName, device: string): string | null {
  const takes = DEVICES[name]
  if (takes === undefined) return `ffmpeg.device: ${name} takes no device; leave it empty`
  const isNumber = /^\d+$/.test(device)
  if (isNumber === (takes.is === 'number')) return null
  const example = takes.is === 'number' ? 'the number of a GPU, such as 0' : 'a path such as /dev/dri/renderD128'
  return `ffmpeg.device: ${name} takes ${example}, not ${device}`
}

/** `-filter_hw_device` is the device to which `hwupload` copies pictures. */
function deviceOptions(name: VideoEncoderName, device: string): string[] {
  const { of, none } = DEVICES[name] ?? { of: '' }
  const opened = device === '' ? none : of === '' ? undefined : `${of}${device}`
  if (opened === undefined) return []
  return ['-init_hw_device', opened, ...(name === 'h264_vaapi' ? ['-filter_hw_device', NAME] : [])]
}
