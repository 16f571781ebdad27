import type { Frame, TrackInfo } from './frame.ts'

/** Offsets in whole milliseconds differ by rounding. A frame takes longer than this. */
const ROUNDING_US = 3000
const BASELINE = 66
/** As many show it. */
const LOOKS = 2

/**
 * Tells whether video has B-frames, which WebRTC cannot carry: the time from decoding to presentation changes between its
 * frames. Where it is constant, nothing is reordered. Codecs other than H.264 and HEVC, and H.264 baseline, never have any.
 */
export class Reordering {
  #isPossible = true
  #firstUs: number | null = null
  #looks = 0

  /** Whether enough frames were looked at. */
  get isDecided(): boolean {
    return !this.#isPossible || this.#looks >= LOOKS
  }

  /** `undecided`: one more frame has to show it. */
  look({ kind, timeUs, decodeTimeUs }: Frame): 'no' | 'undecided' | 'yes' {
    if (kind !== 'video' || !this.#isPossible) return 'no'
    this.#looks += 1
    const offsetUs = timeUs - decodeTimeUs
    const isFirst = this.#firstUs === null
    this.#firstUs ??= offsetUs
    if (Math.abs(offsetUs - this.#firstUs) > ROUNDING_US) return 'yes'
    return isFirst && offsetUs !== 0 ? 'undecided' : 'no'
  }

  /** Other tracks begin. */
  tracks(tracks: readonly TrackInfo[]): void {
    const video = tracks.find(({ kind }) => kind === 'video')
    this.#isPossible = video?.codec === 'hevc' || (video?.codec === 'h264' && video.config[1] !== BASELINE)
    this.#firstUs = null
    this.#looks = 0
  }
}
