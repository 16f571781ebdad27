import type { Dialled } from '../../core/channels/dialled.ts'
import type { Rung } from '../../core/channels/runs/rungs.ts'
import type { AbrLadder, Rendition } from '../../core/channels/types.ts'
import { MATROSKA_INPUT, words } from '../ffmpeg/arguments.ts'

/** Seconds of a segment; the segments of all renditions begin at the same frame. */
const SEGMENT_SECONDS = 2

/** A playlist lists 20 seconds; a few more segments stay on disk for viewers with an older playlist. */
const LISTED = 10
const UNLISTED = 5

const THUMBNAIL_EVERY_SECONDS = 5

/** Distinguishes a process of an engine, and its files, from earlier ones. */
export interface Launch {
  /** Counts the processes of an engine, from 0; the names of their files begin with it. */
  readonly launch: number
  /**
   * Number of the first segment when there is no playlist to continue. It must not be higher than the numbers of an
   * existing playlist: ffmpeg would use it, and renumber the listed segments.
   */
  readonly firstNumber: number
}

export interface LadderInput extends Launch {
  /** At least one. */
  readonly rungs: readonly Rung[]
  readonly audioKbps: AbrLadder['audioKbps']
  /** Whether the source has audio. */
  readonly hasAudio: boolean
  /** Where the media comes from. `push`: Matroska on standard input; `pull`: the source that `pullScript` names there. */
  readonly input: 'push' | 'pull'
}

/**
 * Encodes H.264 and AAC for the rungs of a ladder, as HLS with fMP4 segments, and a thumbnail. Writes into the working
 * folder: `main.m3u8`, `thumbnail.jpeg`, and a folder `0/`, `1/` … for each index in the ladder. The third process writes
 * `2_1750000000.m4s`, and the init segment `2_0.mp4`, into `0/`.
 */
export function ladderArguments(ladder: LadderInput): string[] {
  const { rungs: video, audioKbps, hasAudio, input, launch, firstNumber } = ladder
  const withAudio = hasAudio && audioKbps !== null
  return [
    '-y',
    ...(input === 'push' ? MATROSKA_INPUT : PULL_INPUT),
    '-filter_complex',
    filters(video),
    ...video.flatMap((_, index) => ['-map', `[v${index}]`, ...(withAudio ? ['-map', '0:a:0'] : [])]),
    ...X264,
    ...video.flatMap(rates),
    ...(withAudio ? [...AAC, '-b:a', `${audioKbps}k`] : []),
    ...HLS,
    ...words(`-start_number ${firstNumber} -hls_segment_filename %v/${launch}_%d.m4s`),
    // ffmpeg replaces `%v` only where there are several renditions.
    ...words(`-hls_fmp4_init_filename ${launch}_${video.length > 1 ? '%v' : (video[0]?.index ?? 0)}.mp4`),
    '-var_stream_map',
    video.map((rung, at) => `v:${at}${withAudio ? `,a:${at}` : ''},name:${rung.index}`).join(' '),
    '%v/index.m3u8',
    ...THUMBNAIL,
  ]
}

/** Only protocols of live sources, so that neither an address nor a playlist can open a file. */
const PROTOCOLS = 'rtmp,rtmps,srt,tcp,udp,tls,crypto'

const PROBE = { probesize: '1000000', analyzeduration: '1000000' }

/** Seconds. Timestamps within one RTMP or SRT stream do not jump this far; see `TIMES_JUMPED`. */
const JUMP_SECONDS = 10

/**
 * The script on standard input names the source, because every user of the machine can read arguments. Unlike a plain
 * input, this one does not correct timestamps that jump: ffmpeg logs it and guesses.
 */
const PULL_INPUT = [
  ...words(`-dts_error_threshold ${JUMP_SECONDS} -protocol_whitelist pipe,${PROTOCOLS}`),
  ...Object.entries(PROBE).flatMap(([name, value]) => [`-${name}`, value]),
  // `safe 0` allows addresses in the script, which Sluice writes. `auto_convert 0` leaves H.264 unchanged.
  ...words('-f concat -safe 0 -auto_convert 0 -i pipe:0'),
]

/** ffmpeg's message when the timestamps of a pulled source jumped. The next process begins with the new ones. */
export const TIMES_JUMPED = /invalid dropping/

/**
 * A script for ffmpeg's concat demuxer that names the source to pull. The source itself must not be a script or another
 * list: only the formats that RTMP and SRT carry are allowed.
 */
export function pullScript({ url, options }: Dialled): string {
  const timeout = url.startsWith('rtmp') ? { rw_timeout: '10000000' } : {}
  const all = {
    protocol_whitelist: PROTOCOLS,
    format_whitelist: 'flv,live_flv,mpegts',
    ...PROBE,
    ...timeout,
    ...options,
  }
  const lines = Object.entries(all).map(([name, value]) => `option ${name} ${quoted(value)}`)
  return `${['ffconcat version 1.0', `file ${quoted(url)}`, ...lines].join('\n')}\n`
}

/** @throws for a control character, which could end the line; a checked address has none */
function quoted(text: string): string {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f]/.test(text)) throw new Error('a source with control characters cannot be pulled')
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
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

/** A keyframe at the start of each segment, aligned across renditions, and nowhere else. */
const X264 = [
  ...words('-c:v libx264 -preset superfast -tune zerolatency -pix_fmt yuv420p -profile:v high -g 600 -sc_threshold 0'),
  '-force_key_frames',
  `expr:gte(t,n_forced*${SEGMENT_SECONDS})`,
  ...words('-fps_mode passthrough -enc_time_base 1:90000'),
]

const rates = ({ bitrate }: Rendition, index: number): string[] => [
  `-b:v:${index}`,
  String(bitrate),
  `-maxrate:v:${index}`,
  String(Math.round(bitrate * 1.1)),
  `-bufsize:v:${index}`,
  String(bitrate * 2),
]

const AAC = words('-c:a aac -ar 48000 -ac 2 -af aresample=async=1')

/** `append_list` continues the playlists after a restart. `core/channels/playlist.ts` adds what it omits. */
const HLS = [
  ...words(`-f hls -hls_time ${SEGMENT_SECONDS} -hls_list_size ${LISTED} -hls_delete_threshold ${UNLISTED}`),
  ...words('-hls_segment_type fmp4'),
  ...words('-hls_flags delete_segments+independent_segments+program_date_time+append_list+omit_endlist+temp_file'),
  ...words('-max_interleave_delta 1000000 -master_pl_name main.m3u8'),
]

/** `-color_range pc` replaces the deprecated `yuvj420p`, for which ffmpeg logs a warning in every run. */
const THUMBNAIL = [
  ...words('-map [thumb] -c:v mjpeg -q:v 5 -pix_fmt yuv420p -color_range pc -strict unofficial -fps_mode passthrough'),
  ...words('-f image2 -update 1 -atomic_writing 1 thumbnail.jpeg'),
]
