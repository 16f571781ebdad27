import { CACHE_LINE_MAX } from '../../core/usage/cacheLog.ts'

export interface LogLine {
  /** Null: the line is longer than any that counts. */
  readonly text: string | null
  /** The byte position after it, in the log. */
  readonly end: number
}

const NEWLINE = 0x0a

/** Splits a log into lines. Of a line that is too long it keeps nothing, so that no line takes much memory. */
export class LineSplitter {
  #position: number
  #held: Buffer[] = []
  #bytes = 0

  /** @param position of the first byte, in the log */
  constructor(position: number) {
    this.#position = position
  }

  /** The lines that end in this chunk. */
  *split(chunk: Buffer): Generator<LogLine> {
    for (let at = 0; at < chunk.length; ) {
      const newline = chunk.indexOf(NEWLINE, at)
      const end = newline < 0 ? chunk.length : newline
      this.#hold(chunk.subarray(at, end))
      this.#position += end - at
      if (newline < 0) return
      this.#position += 1
      yield { text: this.#take(), end: this.#position }
      at = newline + 1
    }
  }

  #hold(bytes: Buffer): void {
    this.#bytes += bytes.length
    if (this.#bytes <= CACHE_LINE_MAX) this.#held.push(Buffer.from(bytes))
    else this.#held = []
  }

  #take(): string | null {
    const text = this.#bytes <= CACHE_LINE_MAX ? Buffer.concat(this.#held).toString() : null
    this.#held = []
    this.#bytes = 0
    return text
  }
}
