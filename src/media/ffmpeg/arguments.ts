import type { AudioTrack, TrackInfo, VideoTrack } from '../frame.ts'

/** Splits a command line at its spaces. For constants only: it knows no quotes. */
export function words(text: string): string[] {
  return text.split(' ')
}

/**
 * The input: Matroska on standard input. Its header describes the tracks, so ffmpeg analyses hardly anything before the
 * first output. (`-fflags nobuffer` would drop the analysed frames, and with them the first keyframe.)
 */
export const MATROSKA_INPUT: readonly string[] = words(
  '-probesize 500000 -analyzeduration 100000 -fpsprobesize 0 -f matroska -i pipe:0',
)

/** Keeps the timestamps of the frames: a live source has no fixed rate. */
const X264_LIVE = [
  ...words('-c:v libx264 -preset superfast -tune zerolatency -pix_fmt yuv420p -crf 23'),
  ...words('-maxrate 6M -bufsize 12M -fps_mode passthrough -enc_time_base 1:90000'),
  ...words('-force_key_frames expr:gte(t,n_forced*2)'),
]

/** `async=1` fills gaps and small timestamp errors, so that audio and video stay in sync. */
const AAC = ['-c:a', 'aac', '-b:a', '128k', '-af', 'aresample=async=1']

/** Copies H.264 and encodes everything else as H.264, which every HLS player supports. */
const liveVideo = ({ codec }: VideoTrack): readonly string[] => (codec === 'h264' ? ['-c:v', 'copy'] : X264_LIVE)

const liveAudio = ({ codec }: AudioTrack): readonly string[] => (codec === 'aac' ? ['-c:a', 'copy'] : AAC)

/** Writes fragmented MP4 to standard output, with a fragment at each keyframe and at least every half second. */
export const hlsArguments = (tracks: readonly TrackInfo[]): string[] => [
  ...MATROSKA_INPUT,
  ...tracks.flatMap((track) => (track.kind === 'video' ? liveVideo(track) : liveAudio(track))),
  // A track without frames delays the other by one second at most.
  ...words('-max_interleave_delta 1000000'),
  ...words('-f mp4 -movflags frag_keyframe+empty_moov+default_base_moof -frag_duration 500000'),
  ...words('-flush_packets 1 pipe:1'),
]
