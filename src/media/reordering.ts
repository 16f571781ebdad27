import type { Frame, TrackInfo } from './frame.ts'

/** Offsets in whole milliseconds differ by rounding. A frame takes longer than this. */
const ROUNDING_US = 3000
const BASELINE = 66

/**
 * Tells whether video has B-frames, which WebRTC cannot carry: the time from decoding to presentation changes between its
 * frames. Where it is constant, nothing is reordered. H.264 baseline never has any.
 */
export class Reordering {
  #isPossible = true
  #firstUs: number | null = null

  /** `undecided`: one more frame has to show it. */
  look({ kind, timeUs, decodeTimeUs }: Frame): 'no' | 'undecided' | 'yes' {
    if (kind !== 'video' || !this.#isPossible) return 'no'
    const offsetUs = timeUs - decodeTimeUs
    const isFirst = this.#firstUs === null
    this.#firstUs ??= offsetUs
    if (Math.abs(offsetUs - this.#firstUs) > ROUNDING_US) return 'yes'
    return isFirst && offsetUs !== 0 ? 'undecided' : 'no'
  }

  /** Other tracks begin. */
  tracks(tracks: readonly TrackInfo[]): void {
    const video = tracks.find(({ kind }) => kind === 'video')
    this.#isPossible = !(video?.codec === 'h264' && video.config[1] === BASELINE)
    this.#firstUs = null
  }
}
