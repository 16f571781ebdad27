/** One error in the configuration. It contains no secret, so it may be shown and logged. */
export interface ConfigProblem {
  /** The key in dotted form, or '' when the source as a whole is invalid. */
  readonly key: string
  /** The location: `config.yaml:12`, `SLUICE_SERVER_PORT`, or `command line`. */
  readonly source: string
  readonly reason: string
  /** The allowed values, in words. */
  readonly allowed?: string
}

/** One line for the operator. */
export function formatConfigProblem({ key, source, reason, allowed }: ConfigProblem): string {
  const subject = key === '' || key === source ? source : `${source}: ${key}`
  return `${subject}: ${reason}${allowed === undefined ? '' : ` (allowed: ${allowed})`}`
}

/** The candidate that `word` was most likely meant to be, or undefined when none is close. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  // Names are short. A long one is not a typing error, and comparing costs the product of both lengths.
  if (word.length > 80) return undefined
  const scored = candidates.map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
  const best = scored.reduce((a, b) => (b.distance < a.distance ? b : a), { candidate: '', distance: Infinity })
  return best.distance <= Math.max(2, Math.floor(word.length / 4)) ? best.candidate : undefined
}

/** Insertions, deletions and replacements from `a` to `b`, ignoring case (Levenshtein). */
function editDistance(a: string, b: string): number {
  const from = a.toLowerCase()
  const to = b.toLowerCase()
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < to.length; j++) {
      const replace = (row[j] ?? 0) + (from[i] === to[j] ? 0 : 1)
      next.push(Math.min(replace, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}
