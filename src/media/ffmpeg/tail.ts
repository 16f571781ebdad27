import type { Readable } from 'node:stream'

const MAX_CHARACTERS = 4096

/** The end of a process's output. */
export interface Tail {
  text(): string
}

/** Keeps the last 4096 characters of a stream, starting at the beginning of a line. */
export function tailOf(stream: Readable | null): Tail {
  let text = ''
  let cut = false
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    if (text.length <= MAX_CHARACTERS) return
    text = text.slice(-MAX_CHARACTERS)
    cut = true
  })
  return { text: () => (cut ? text.slice(text.indexOf('\n') + 1) : text).trim() }
}
