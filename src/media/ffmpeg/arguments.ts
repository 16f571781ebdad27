import type { AudioTrack, TrackInfo, VideoTrack } from '../frame.ts'

/** An argument vector, written as one types it. For constants only: nothing is quoted. */
export function words(text: string): string[] {
  return text.split(' ')
}

/**
 * The input: Matroska on standard input. Its header tells all that is needed, so nothing is analysed before the first
 * output. (`-fflags nobuffer` would drop the frames that were looked at, and with them the first keyframe.)
 */
export const MATROSKA_INPUT: readonly string[] = words(
  '-probesize 500000 -analyzeduration 100000 -fpsprobesize 0 -f matroska -i pipe:0',
)

/** Converts with the times of the frames as they are: a live source has no fixed rate. */
const X264_LIVE = [
  ...words('-c:v libx264 -preset superfast -tune zerolatency -pix_fmt yuv420p -crf 23'),
  ...words('-maxrate 6M -bufsize 12M -fps_mode passthrough -enc_time_base 1:90000'),
  ...words('-force_key_frames expr:gte(t,n_forced*2)'),
]

/** Gaps and small errors of the times are filled, so that sound and pictures stay together. */
const AAC = ['-c:a', 'aac', '-b:a', '128k', '-af', 'aresample=async=1']

/** H.264 as it is, everything else as H.264: what every HLS player can show. */
const liveVideo = ({ codec }: VideoTrack): readonly string[] => (codec === 'h264' ? ['-c:v', 'copy'] : X264_LIVE)

const liveAudio = ({ codec }: AudioTrack): readonly string[] => (codec === 'aac' ? ['-c:a', 'copy'] : AAC)

/** Fragmented MP4 on standard output, a fragment at each keyframe and at least every half second. */
export const hlsArguments = (tracks: readonly TrackInfo[]): string[] => [
  ...MATROSKA_INPUT,
  ...tracks.flatMap((track) => (track.kind === 'video' ? liveVideo(track) : liveAudio(track))),
  // A track that is silent for a second does not hold back the other.
  ...words('-max_interleave_delta 1000000'),
  ...words('-f mp4 -movflags frag_keyframe+empty_moov+default_base_moof -frag_duration 500000'),
  ...words('-flush_packets 1 pipe:1'),
]
