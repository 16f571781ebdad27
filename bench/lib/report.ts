/** The middle of some figures. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}

/** One line per figure: what, how much, against what, and whether the target is met. The exit status tells the same. */
export function report(line: { what: string; ratio: number; target: string; met: boolean; detail: string }): void {
  console.log(
    `${line.what}: ${line.ratio.toFixed(2)} (target ${line.target}: ${line.met ? 'met' : 'MISSED'}) - ${line.detail}`,
  )
  if (!line.met) process.exitCode = 1
}
