import type { Readable } from 'node:stream'

const MAX_CHARACTERS = 4096

/** The end of what a process says. */
export interface Tail {
  text(): string
}

/** Keeps the last 4096 characters of a stream, from the beginning of a line on. */
export function tailOf(stream: Readable | null): Tail {
  let kept = ''
  let cut = false
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    kept += chunk
    if (kept.length <= MAX_CHARACTERS) return
    kept = kept.slice(-MAX_CHARACTERS)
    cut = true
  })
  return { text: () => (cut ? kept.slice(kept.indexOf('\n') + 1) : kept).trim() }
}
