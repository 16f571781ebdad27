import type { Violation } from './violation.ts'

const VIOLATIONS_MAX = 1000

/** What the validator has looked at: without it, no violation means nothing. */
export interface Seen {
  masters: number
  playlists: number
  blocking: number
  parts: number
  hints: number
  segments: number
  /** Segments that were requested after they had left the playlist. */
  removed: number
  /** Playlists and media that two viewers got at the same time. */
  compared: number
}

export class Report {
  readonly violations: Violation[] = []
  readonly seen: Seen = {
    masters: 0,
    playlists: 0,
    blocking: 0,
    parts: 0,
    hints: 0,
    segments: 0,
    removed: 0,
    compared: 0,
  }

  /** Keeps the first 1000 violations: a rule that every playlist breaks would fill the memory. */
  add(violations: readonly Violation[]): void {
    this.violations.push(...violations.slice(0, VIOLATIONS_MAX - this.violations.length))
  }
}
