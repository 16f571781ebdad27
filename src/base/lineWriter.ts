import { write, writeSync } from 'node:fs'
import { hasCode } from './errorCode.ts'

/** The reader will not return: the terminal, the pipe or the descriptor itself is closed. */
const CLOSED: ReadonlySet<string | undefined> = new Set(['EPIPE', 'EIO', 'EBADF'])
/** Pause before the next attempt on a non-blocking pipe with a slow reader. */
const RETRY_MS = 10
/** At exit, lines that a slow reader has not taken after this many attempts are lost. */
const EXIT_ATTEMPTS = 100

/**
 * Writes lines to a file descriptor in order. It never blocks and never throws, whatever the descriptor is. When a
 * full disk or a slow reader leaves no room, lines are dropped. The next line that can be written follows a line
 * with the number of dropped ones. Call `flush` when the process exits.
 */
export class LineWriter {
  readonly #fd: number
  readonly #maxBytes: number
  readonly #droppedLine: (count: number) => string
  #waiting: Buffer[] = []
  #bytes = 0
  #current: Buffer | null = null
  #dropped = 0
  /** A full disk took the beginning of a line. */
  #isMidLine = false
  #closed = false

  constructor(fd: number, { maxBytes, droppedLine }: { maxBytes: number; droppedLine: (count: number) => string }) {
    this.#fd = fd
    this.#maxBytes = maxBytes
    this.#droppedLine = droppedLine
  }

  write(line: string): void {
    if (this.#closed) return
    const bytes = Buffer.from(line)
    if (this.#bytes + bytes.length > this.#maxBytes) {
      this.#dropped++
      return
    }
    if (this.#dropped > 0) this.#push(Buffer.from(this.#droppedLine(this.#dropped)))
    this.#dropped = 0
    this.#push(bytes)
    if (this.#current === null) this.#next()
  }

  #push(bytes: Buffer): void {
    this.#waiting.push(bytes)
    this.#bytes += bytes.length
  }

  #next(): void {
    if (this.#isMidLine && this.#waiting.length > 0) {
      this.#waiting.unshift(Buffer.from('\n'))
      this.#bytes += 1
    }
    this.#current = this.#waiting.length > 0 ? Buffer.concat(this.#waiting) : null
    this.#waiting = []
    if (this.#current !== null) this.#write(this.#current)
  }

  #write(buffer: Buffer): void {
    write(this.#fd, buffer, (error, written) => {
      // The writer was closed, or `flush` wrote the buffer, in the meantime.
      if (this.#current !== buffer) return
      if (error?.code === 'EAGAIN') setTimeout(() => this.#write(buffer), RETRY_MS)
      else if (CLOSED.has(error?.code)) this.#close()
      else if (error) this.#drop(buffer)
      else this.#wrote(buffer, written)
    })
  }

  #wrote(buffer: Buffer, written: number): void {
    this.#bytes -= written
    if (written > 0) this.#isMidLine = buffer[written - 1] !== LINE_FEED
    if (written === buffer.length) {
      this.#next()
      return
    }
    this.#current = buffer.subarray(written)
    this.#write(this.#current)
  }

  #drop(buffer: Buffer): void {
    this.#dropped += linesOf(buffer)
    this.#bytes -= buffer.length
    this.#next()
  }

  #close(): void {
    this.#closed = true
    this.#waiting = []
    this.#current = null
  }

  /** Writes all waiting lines synchronously. Lines that cannot be written are lost. */
  flush(): void {
    let rest = Buffer.concat([...(this.#current ? [this.#current] : []), ...this.#waiting])
    this.#close()
    for (let attempt = 0; rest.length > 0 && attempt < EXIT_ATTEMPTS; ) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest))
      } catch (error) {
        if (!hasCode(error, 'EAGAIN')) return
        attempt++
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
      }
    }
  }
}

const LINE_FEED = 0x0a

const linesOf = (buffer: Buffer): number => buffer.reduce((count, byte) => (byte === LINE_FEED ? count + 1 : count), 0)
