import { inHls } from '../codecs/inHls.ts'
import type { AudioTrack, TrackInfo, VideoTrack } from '../frame.ts'

/** Splits a command line at its spaces. For constants only: it knows no quotes. */
export function words(text: string): string[] {
  return text.split(' ')
}

/**
 * Scales a picture as large as fits into this size, both even; options of `scale` may follow. `dar` is the shape that viewers
 * see: broadcast equipment sends pixels that are not square. A side of an extreme shape would become 0 without `max`.
 */
export const scaledInto = (width: number, height: number): string =>
  `scale=w='max(2,2*round(min(${width},${height}*dar)/2))':h='max(2,2*round(min(${height},${width}/dar)/2))'`

/** Filters that give a picture exactly this size, with square pixels; one with another aspect ratio is letterboxed. */
export const fitInto = (width: number, height: number): string =>
  `${scaledInto(width, height)},pad=${width}:${height}:(ow-iw)/2:(oh-ih)/2,setsar=1`

/**
 * The input: Matroska on standard input. Its header describes the tracks, so ffmpeg analyses hardly anything before the
 * first output. (`-fflags nobuffer` would drop the analysed frames, and with them the first keyframe.)
 */
export const MATROSKA_INPUT: readonly string[] = words(
  '-probesize 500000 -analyzeduration 100000 -fpsprobesize 0 -f matroska -i pipe:0',
)

/**
 * A keyframe every two seconds, and one after a gap: an expression with `n_forced` would then force one at every frame until
 * it has caught up. Keeps the timestamps of the frames: a live source has no fixed rate.
 */
export const KEYFRAMES: readonly string[] = [
  ...words('-fps_mode passthrough -enc_time_base 1:90000 -force_key_frames'),
  'expr:if(isnan(prev_forced_t),1,gt(floor(t/2+0.01),floor(prev_forced_t/2+0.01)))',
]

/**
 * x264 divides the bitrate by the times of the frames. With `zerolatency` alone it divides it by a frame rate that never
 * changes: a camera that falls from 30 frames a second to 15 would get half of its bitrate. Each frame waits for the next
 * one, which shows how long it lasts.
 */
export const X264_TIMES: readonly string[] = words('-x264-params force-cfr=0')

/** H.264 of these pixels has even sides, and a window that is shared may not: it loses its last column or row. */
export const EVEN_SIDES: readonly string[] = words('-vf crop=trunc(iw/2)*2:trunc(ih/2)*2')

const X264_LIVE = [
  ...EVEN_SIDES,
  ...words('-c:v libx264 -preset superfast -tune zerolatency -pix_fmt yuv420p -crf 23 -maxrate 6M -bufsize 12M'),
  ...X264_TIMES,
  ...KEYFRAMES,
]

/**
 * `async=1` fills gaps and small timestamp errors, so that audio and video stay in sync. Opus has 48 kHz, and players do not all
 * take AAC with the 8 kHz of G.711, nor with a layout of channels of its own.
 */
export const AAC: readonly string[] = words(
  '-c:a aac -b:a 128k -ar 48000 -af aresample=async=1,aformat=channel_layouts=mono|stereo|5.1',
)

/** Copies H.264 and encodes everything else as H.264, which every HLS player supports. */
const liveVideo = (track: VideoTrack): readonly string[] => (inHls(track) === 'always' ? ['-c:v', 'copy'] : X264_LIVE)

const liveAudio = (track: AudioTrack): readonly string[] => (inHls(track) === 'always' ? ['-c:a', 'copy'] : AAC)

/** Added to all times of the output: an encoder's first frame may be a little before those of its source, which begin at 0. */
export const HLS_OFFSET_MS = 10_000

/**
 * Makes H.264 and AAC of the tracks, with the times of the source. FLV has one frame in a tag and writes it at once. A
 * decoder that works on several frames in parallel would hold them back.
 */
export const hlsArguments = (tracks: readonly TrackInfo[]): string[] => [
  ...words('-thread_type slice -copyts'),
  ...MATROSKA_INPUT,
  ...tracks.flatMap((track) => (track.kind === 'video' ? liveVideo(track) : liveAudio(track))),
  // A track without frames delays the other by one second at most.
  ...words(`-max_interleave_delta 1000000 -output_ts_offset ${HLS_OFFSET_MS / 1000}`),
  ...words('-f flv -flvflags no_duration_filesize -flush_packets 1 pipe:1'),
]
