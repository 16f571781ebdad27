import { open, stat } from 'node:fs/promises'
import type { Clock } from '../../../base/clock.ts'
import type { Sendfile } from '../../../base/sendfile.ts'
import type { Body } from '../media/transfer.ts'

/**
 * Viewers are at the live edge: they request the newest three segments of each rendition. Two seconds of the default
 * ladder are about 1 MB, so this is enough for 20 engines. Sluice reads from the file what does not fit.
 */
const CACHED_BYTES = 64 * 1024 * 1024
/** A larger segment would evict most of the others. */
const LARGEST_BYTES = CACHED_BYTES / 8
/** Below this size, copying from memory is as fast as sending from a file. */
const LEAST_FILE_BYTES = 32 * 1024
/** How long a segment counts as unchanged. Only a later run uses its name again, for other media. */
const FRESH_MS = 1000
/** Longer than viewers request a segment of a live playlist. */
const IDLE_MS = 10_000

interface CachedSegment extends Body {
  /** Distinguishes this file from a later one with the same name. */
  readonly identity: string
  checkedAtMs: number
  usedAtMs: number
}

/** Segments that viewers request, so that Sluice reads each file once. Bounded; an entry dies with its file. */
export class SegmentCache {
  readonly #clock: Clock
  /** The most recently checked segments are last. */
  readonly #cached = new Map<string, CachedSegment>()
  readonly #reading = new Map<string, Promise<Buffer | null>>()
  readonly #sendfile: Sendfile | null
  #size = 0

  /** @param sendfile null: the cache holds no file descriptors */
  constructor(clock: Clock, sendfile: Sendfile | null) {
    this.#clock = clock
    this.#sendfile = sendfile
  }

  /** Cached bytes. */
  get size(): number {
    return this.#size
  }

  /** Undefined: call `read`, which checks the file. */
  peek(path: string): Body | undefined {
    const cached = this.#cached.get(path)
    if (cached === undefined) return undefined
    const nowMs = this.#clock.monotonic()
    if (nowMs - cached.checkedAtMs >= FRESH_MS) return undefined
    cached.usedAtMs = nowMs
    return cached
  }

  /** Null: no such file. Concurrent calls for one path share one read. */
  read(path: string): Promise<Buffer | null> {
    const underWay = this.#reading.get(path)
    if (underWay !== undefined) return underWay
    const reading = this.#look(path).finally(() => this.#reading.delete(path))
    this.#reading.set(path, reading)
    return reading
  }

  /** Drops segments that viewers no longer request. Call it every few seconds. */
  sweep(): void {
    const since = this.#clock.monotonic() - IDLE_MS
    for (const [path, { usedAtMs }] of this.#cached) if (usedAtMs < since) this.#drop(path)
  }

  /** Drops everything. */
  clear(): void {
    for (const path of this.#cached.keys()) this.#drop(path)
  }

  async #look(path: string): Promise<Buffer | null> {
    const nowMs = this.#clock.monotonic()
    const found = await orNull(stat(path))
    const identity = found === null ? '' : `${found.ino} ${found.mtimeMs} ${found.size}`
    const cached = this.#cached.get(path)
    if (cached !== undefined && cached.identity === identity) {
      this.#cached.delete(path)
      this.#cached.set(path, { ...cached, checkedAtMs: nowMs, usedAtMs: nowMs })
      return cached.bytes
    }
    this.#drop(path)
    if (found === null) return null
    return orNull(this.#load(path, found.size, { identity, checkedAtMs: nowMs, usedAtMs: nowMs }))
  }

  async #load(path: string, size: number, found: Omit<CachedSegment, keyof Body>): Promise<Buffer> {
    const handle = await open(path)
    try {
      const bytes = await handle.readFile()
      // A file that was replaced between `stat` and `read` is cached on the next request.
      if (bytes.length === size && size <= LARGEST_BYTES) {
        const file = size >= LEAST_FILE_BYTES ? (this.#sendfile?.hold(handle.fd, size) ?? 0) : 0
        this.#cache(path, { ...found, bytes, file })
      }
      return bytes
    } finally {
      await handle.close()
    }
  }

  #cache(path: string, cached: CachedSegment): void {
    this.#cached.set(path, cached)
    this.#size += cached.bytes.length
    for (const oldest of this.#cached.keys()) {
      if (this.#size <= CACHED_BYTES) return
      this.#drop(oldest)
    }
  }

  #drop(path: string): void {
    const cached = this.#cached.get(path)
    if (cached === undefined) return
    this.#cached.delete(path)
    this.#size -= cached.bytes.length
    if (cached.file !== 0) this.#sendfile?.release(cached.file)
  }
}

/** Null if the file does not exist. */
export async function orNull<T>(looking: Promise<T>): Promise<T | null> {
  return looking.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw error
  })
}
