import type { Rule, Violation } from './violation.ts'

/** Of each rule. */
const VIOLATIONS_MAX = 100

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

  readonly #counts = new Map<Rule, number>()

  /** Keeps the first 100 of each rule: one that every playlist breaks would fill the memory, or hide the others. */
  add(violations: readonly Violation[]): void {
    for (const violation of violations) {
      const count = (this.#counts.get(violation.rule) ?? 0) + 1
      this.#counts.set(violation.rule, count)
      if (count <= VIOLATIONS_MAX) this.violations.push(violation)
    }
  }
}
