import { write, writeSync } from 'node:fs'

/** Nobody will read from this descriptor again: its terminal, its pipe or itself is closed. */
const CLOSED: ReadonlySet<string | undefined> = new Set(['EPIPE', 'EIO', 'EBADF'])
/** A pipe that is not blocking, whose reader is slow. */
const RETRY_MS = 10
/** At the exit, what a slow reader has not taken after this many attempts is lost. */
const EXIT_ATTEMPTS = 100

/**
 * Writes lines to a file descriptor in order, without blocking and without throwing, whatever is behind it. Lines that find
 * no room, on a full disk or because a reader is slow, are dropped, and the next line that can be written is preceded by
 * one that says how many. `flush` is for the exit of the process.
 */
export class LineWriter {
  readonly #fd: number
  readonly #maxBytes: number
  readonly #droppedLine: (count: number) => string
  #waiting: Buffer[] = []
  #bytes = 0
  #current: Buffer | null = null
  #dropped = 0
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
    this.#current = this.#waiting.length > 0 ? Buffer.concat(this.#waiting) : null
    this.#waiting = []
    if (this.#current !== null) this.#write(this.#current)
  }

  #write(buffer: Buffer): void {
    write(this.#fd, buffer, (error, written) => {
      // Closed, or written by `flush`, in the meantime.
      if (this.#current !== buffer) return
      if (error?.code === 'EAGAIN') setTimeout(() => this.#write(buffer), RETRY_MS)
      else if (CLOSED.has(error?.code)) this.#close()
      else if (error) this.#drop(buffer)
      else this.#wrote(buffer, written)
    })
  }

  #wrote(buffer: Buffer, written: number): void {
    this.#bytes -= written
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

  /** Writes what waits, in this call. Lines that cannot be written are lost. */
  flush(): void {
    let rest = Buffer.concat([...(this.#current ? [this.#current] : []), ...this.#waiting])
    this.#close()
    for (let attempt = 0; rest.length > 0 && attempt < EXIT_ATTEMPTS; ) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
        attempt++
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
      }
    }
  }
}

const linesOf = (buffer: Buffer): number => buffer.reduce((count, byte) => (byte === 0x0a ? count + 1 : count), 0)
