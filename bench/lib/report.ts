/** The median. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}

export function p99(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.NaN
}

/**
 * Prints one line per figure: subject, ratio, target, and whether the target is met. Sets the exit status accordingly.
 */
export function report(line: { what: string; ratio: number; target: string; met: boolean; detail: string }): void {
  // Small ones have more digits, or two trees would seem to differ by a quarter where one digit changes.
  const ratio = line.ratio.toFixed(Math.abs(line.ratio) < 0.1 ? 4 : 2)
  console.log(`${line.what}: ${ratio} (target ${line.target}: ${line.met ? 'met' : 'MISSED'}) - ${line.detail}`)
  if (!line.met) process.exitCode = 1
}
