import type { VideoRange } from '../../core/hls/facts.ts'
import { av1Transfer } from '../codecs/av1.ts'
import { hevcTransfer } from '../codecs/hevc.ts'
import type { TrackInfo } from '../frame.ts'

/** By transfer characteristics (ISO/IEC 23091-2). */
const RANGES: Readonly<Record<number, VideoRange>> = { 16: 'PQ', 18: 'HLG' }

/** VIDEO-RANGE of tracks (draft-pantos-hls-rfc8216bis section 4.4.6.2): H.264 and VP9 say none. */
export function videoRangeOf(tracks: readonly TrackInfo[]): VideoRange {
  const video = tracks.find(({ kind }) => kind === 'video')
  const transfer =
    video?.codec === 'hevc' ? hevcTransfer(video.config) : video?.codec === 'av1' ? av1Transfer(video.config) : null
  return RANGES[transfer ?? 0] ?? 'SDR'
}
