interface Modules {
  readonly size: number
  get(x: number, y: number): boolean
}

/** One rectangle for each run of dark modules in a row. */
export function pathOf(code: Modules): string {
  let path = ''
  for (let y = 0; y < code.size; y++)
    for (let x = 0; x < code.size; x++) {
      if (!code.get(x, y)) continue
      const from = x
      while (code.get(x + 1, y)) x++
      path += `M${from} ${y}h${x + 1 - from}v1H${from}z`
    }
  return path
}
