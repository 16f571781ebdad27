import { segmentTimesOf } from '../../../core/channels/playlist.ts'

/** A playlist lists 10 segments: enough for 400 engines with 5 renditions each. The oldest entries go first. */
const SEGMENTS_MAX = 20_000

/**
 * Playing times of segments, learned from the playlists that viewers got. A viewer learns of a segment only from a
 * playlist, so every requested segment is listed here.
 */
export class SegmentTimes {
  readonly #msOf = new Map<string, number>()

  /** The number of cached playing times. */
  get size(): number {
    return this.#msOf.size
  }

  /** @param folder of the rendition */
  learn(folder: string, playlist: string): void {
    const listed = segmentTimesOf(playlist)
    const lastListed = listed.findLastIndex(([name, ms]) => this.#msOf.get(`${folder}/${name}`) === ms)
    for (const [name, ms] of listed.slice(lastListed + 1)) this.#msOf.set(`${folder}/${name}`, ms)
    for (const path of this.#msOf.keys()) {
      if (this.#msOf.size <= SEGMENTS_MAX) return
      this.#msOf.delete(path)
    }
  }

  /** Milliseconds; 0 if no playlist has named the segment. */
  of(path: string): number {
    return this.#msOf.get(path) ?? 0
  }
}
