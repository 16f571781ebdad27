/** Slices that count, of about a second each. */
const SLICES = 10
/** A tone as loud as can be is 3 dB below the loudest level: what is above that has lost its peaks. */
const CLIPPED = 2

/** Of packets without any sound. */
export const SILENT_LEVEL = 127

export interface LevelFigures {
  readonly audioLevelDb?: number
  readonly clippedAudio?: number
}

/** Of about one second. */
interface Slice {
  packets: number
  clipped: number
  loudest: number
}

const newSlice = (): Slice => ({ packets: 0, clipped: 0, loudest: SILENT_LEVEL })

/** How loud audio was in the last ten seconds, by the levels of its packets (RFC 6464): decibels below the loudest there is. */
export class LevelMeter {
  readonly #slices: Slice[] = []
  #now = newSlice()

  packet(level: number): void {
    this.#now.packets += 1
    if (level <= CLIPPED) this.#now.clipped += 1
    if (level < this.#now.loudest) this.#now.loudest = level
  }

  /** Ends a slice. Call it once a second. */
  slice(): void {
    this.#slices.push(this.#now)
    if (this.#slices.length > SLICES) this.#slices.shift()
    this.#now = newSlice()
  }

  figures(): LevelFigures {
    const sum = (of: (slice: Slice) => number): number => this.#slices.reduce((total, slice) => total + of(slice), 0)
    const packets = sum(({ packets: n }) => n)
    if (packets === 0) return {}
    const loudest = Math.min(...this.#slices.map((slice) => slice.loudest))
    return {
      audioLevelDb: 0 - loudest,
      clippedAudio: Math.round((1000 * sum(({ clipped }) => clipped)) / packets) / 1000,
    }
  }
}
