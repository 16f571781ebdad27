import { readFile, stat } from 'node:fs/promises'
import type { Clock } from '../../../base/clock.ts'

/**
 * Viewers are at the live edge: they ask for the newest three segments of each rendition. Two seconds of the default
 * ladder are about 1 MB, so this is enough for 20 engines, and what does not fit is read from its file as before.
 */
const KEPT_BYTES = 64 * 1024 * 1024
/** One that is larger would push out most of the others. */
const LARGEST_BYTES = KEPT_BYTES / 8
/** So long a segment is taken to be what it was. A name is used again only by a later run, for other seconds of media. */
const FRESH_MS = 1000
/** Longer than the segments of a live playlist are asked for by anybody. */
const IDLE_MS = 10_000

interface Kept {
  readonly bytes: Buffer
  /** Tells this file from another of its name. */
  readonly identity: string
  checkedAtMs: number
  usedAtMs: number
}

/** Segments that are being watched, so that each is read from its file once. Bounded; an entry dies with its file. */
export class SegmentCache {
  readonly #clock: Clock
  /** Those that were checked last are at the end. */
  readonly #kept = new Map<string, Kept>()
  readonly #reading = new Map<string, Promise<Buffer | null>>()
  #size = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How many bytes are kept. */
  get size(): number {
    return this.#size
  }

  /** Undefined: `read` has to look. */
  peek(path: string): Buffer | undefined {
    const kept = this.#kept.get(path)
    if (kept === undefined) return undefined
    const nowMs = this.#clock.monotonic()
    if (nowMs - kept.checkedAtMs >= FRESH_MS) return undefined
    kept.usedAtMs = nowMs
    return kept.bytes
  }

  /** Null: there is no such file. Those who ask at the same time share one look. */
  read(path: string): Promise<Buffer | null> {
    const underWay = this.#reading.get(path)
    if (underWay !== undefined) return underWay
    const reading = this.#look(path).finally(() => this.#reading.delete(path))
    this.#reading.set(path, reading)
    return reading
  }

  /** Lets go of what nobody asks for any more; to be called every few seconds. */
  sweep(): void {
    const since = this.#clock.monotonic() - IDLE_MS
    for (const [path, { usedAtMs }] of this.#kept) if (usedAtMs < since) this.#drop(path)
  }

  async #look(path: string): Promise<Buffer | null> {
    const nowMs = this.#clock.monotonic()
    const found = await orNull(stat(path))
    const identity = found === null ? '' : `${found.ino} ${found.mtimeMs} ${found.size}`
    const kept = this.#kept.get(path)
    this.#drop(path)
    if (kept !== undefined && kept.identity === identity) {
      this.#keep(path, { ...kept, checkedAtMs: nowMs, usedAtMs: nowMs })
      return kept.bytes
    }
    const bytes = found === null ? null : await orNull(readFile(path))
    // A file that was exchanged between the two looks is kept the next time.
    if (bytes !== null && bytes.length === found?.size && bytes.length <= LARGEST_BYTES) {
      this.#keep(path, { bytes, identity, checkedAtMs: nowMs, usedAtMs: nowMs })
    }
    return bytes
  }

  #keep(path: string, kept: Kept): void {
    this.#kept.set(path, kept)
    this.#size += kept.bytes.length
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= KEPT_BYTES) return
      this.#drop(oldest)
    }
  }

  #drop(path: string): void {
    this.#size -= this.#kept.get(path)?.bytes.length ?? 0
    this.#kept.delete(path)
  }
}

/** Null where a file is not there. */
export async function orNull<T>(looking: Promise<T>): Promise<T | null> {
  return looking.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw error
  })
}
