const NAME_MAX = 64

/**
 * The one of `names` that was probably meant, or null. A name is close if it differs only in case, or by `update` in
 * front of one of the two, or by at most two edits (one, for names of fewer than four letters).
 */
export function closest(name: string, names: readonly string[]): string | null {
  if (name.length > NAME_MAX) return null
  const wanted = plain(name)
  const allowance = wanted.length < 4 ? 1 : 2
  let best: string | null = null
  let bestDistance = allowance + 1
  for (const candidate of names) {
    const distance = editDistance(wanted, plain(candidate))
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best
}

function plain(name: string): string {
  return name
    .toLowerCase()
    .replace(/[_-]/g, '')
    .replace(/^update/, '')
}

/** Levenshtein distance. Both arguments are short: see NAME_MAX. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let line = 1; line <= from.length; line++) {
    const next = [line]
    for (let column = 1; column <= to.length; column++) {
      const swap = at(row, column - 1) + (from[line - 1] === to[column - 1] ? 0 : 1)
      next.push(Math.min(swap, at(row, column) + 1, at(next, column - 1) + 1))
    }
    row = next
  }
  return at(row, to.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}
