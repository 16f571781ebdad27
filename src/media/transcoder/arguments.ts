import type { Dialled } from '../../core/channels/dialled.ts'
import type { Rung } from '../../core/channels/runs/rungs.ts'
import type { AbrLadder, Rendition } from '../../core/channels/types.ts'
import { MATROSKA_INPUT, words } from '../ffmpeg/arguments.ts'

/** Seconds of a segment; every rendition begins one at the same picture. */
const SEGMENT_SECONDS = 2

/** What is kept of the past: 20 seconds are listed, and a few more lie ready for viewers who read an old playlist. */
const LISTED = 10
const KEPT_MORE = 5

const THUMBNAIL_EVERY_SECONDS = 5

/** What tells a process of an engine, and its files, from those before it. */
export interface Launch {
  /** Counts the processes of an engine; the names of their files begin with it. */
  readonly launch: number
  /**
   * Of the first segment where there is no playlist to go on with. Where there is one it must not be higher than its
   * numbers: ffmpeg would take it, and number anew what is listed.
   */
  readonly firstNumber: number
}

export interface LadderInput extends Launch {
  /** At least one. */
  readonly rungs: readonly Rung[]
  readonly audioKbps: AbrLadder['audioKbps']
  /** Whether the source has sound. */
  readonly sound: boolean
  /** Where the media comes from. `push`: Matroska on standard input; `pull`: the source that `pullScript` names there. */
  readonly input: 'push' | 'pull'
}

/**
 * H.264 and AAC for rungs of a ladder, as HLS with fMP4 segments, and a thumbnail, written into the working folder:
 * `main.m3u8`, then `0/`, `1/` … by their place in the ladder, `thumbnail.jpeg`. The third process writes
 * `2_1750000000.m4s`, and the init segment `2_0.mp4` into `0/`.
 */
export function ladderArguments({ rungs: video, audioKbps, sound, input, launch, firstNumber }: LadderInput): string[] {
  const withAudio = sound && audioKbps !== null
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
    // The rendition is put in only where there are several.
    ...words(`-hls_fmp4_init_filename ${launch}_${video.length > 1 ? '%v' : (video[0]?.index ?? 0)}.mp4`),
    '-var_stream_map',
    video.map((rung, at) => `v:${at}${withAudio ? `,a:${at}` : ''},name:${rung.index}`).join(' '),
    '%v/index.m3u8',
    ...THUMBNAIL,
  ]
}

/** Only what a live source is reached by: an address that names a file, or a playlist that does, is none. */
const PROTOCOLS = 'rtmp,rtmps,srt,tcp,udp,tls,crypto'

const PROBE = { probesize: '1000000', analyzeduration: '1000000' }

/** Seconds. What RTMP and SRT carry as one stream does not jump so far; see `TIMES_JUMPED`. */
const JUMP_SECONDS = 10

/**
 * The script on standard input names the source, because arguments can be read by every user of the machine. Of a source
 * whose times jump, this input (unlike a plain one) does not mend them: ffmpeg says so and guesses.
 */
const PULL_INPUT = [
  ...words(`-dts_error_threshold ${JUMP_SECONDS} -protocol_whitelist pipe,${PROTOCOLS}`),
  ...Object.entries(PROBE).flatMap(([name, value]) => [`-${name}`, value]),
  // `safe 0`: the script is ours, and may name addresses. H.264 stays as it comes.
  ...words('-f concat -safe 0 -auto_convert 0 -i pipe:0'),
]

/** What ffmpeg says when the times of a source that is pulled have jumped. The next process begins with the new ones. */
export const TIMES_JUMPED = /invalid dropping/

/**
 * What is pulled, as a script for the concat demuxer of ffmpeg. The source itself may not be one, or any other list: it
 * may only be what RTMP and SRT carry.
 */
export function pullScript({ url, options }: Dialled): string {
  const patience = url.startsWith('rtmp') ? { rw_timeout: '10000000' } : {}
  const all = {
    protocol_whitelist: PROTOCOLS,
    format_whitelist: 'flv,live_flv,mpegts',
    ...PROBE,
    ...patience,
    ...options,
  }
  const lines = Object.entries(all).map(([name, value]) => `option ${name} ${quoted(value)}`)
  return `${['ffconcat version 1.0', `file ${quoted(url)}`, ...lines].join('\n')}\n`
}

/** @throws for what could end its line: an address that was checked has nothing of the kind */
function quoted(text: string): string {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f]/.test(text)) throw new Error('a source with control characters cannot be pulled')
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** Every rung has exactly its size, with bars where the source has another shape: so a stream never changes within. */
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

/** A key picture every segment, in all renditions at once, and nowhere else. */
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

/** `append_list`: after a restart the old playlists go on. What it leaves out, `core/channels/playlist.ts` puts in. */
const HLS = [
  ...words(`-f hls -hls_time ${SEGMENT_SECONDS} -hls_list_size ${LISTED} -hls_delete_threshold ${KEPT_MORE}`),
  ...words('-hls_segment_type fmp4'),
  ...words('-hls_flags delete_segments+independent_segments+program_date_time+append_list+omit_endlist+temp_file'),
  ...words('-max_interleave_delta 1000000 -master_pl_name main.m3u8'),
]

/** Full range under the name that is not deprecated, or ffmpeg complains in every run. */
const THUMBNAIL = [
  ...words('-map [thumb] -c:v mjpeg -q:v 5 -pix_fmt yuv420p -color_range pc -strict unofficial -fps_mode passthrough'),
  ...words('-f image2 -update 1 -atomic_writing 1 thumbnail.jpeg'),
]
