import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type FileHandle, open, stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { operatorText } from '../../base/errorCode.ts'
import { CACHE_LINE_MAX } from '../../core/usage/cacheLog.ts'

/** One log, from its first byte. */
export interface CacheLog {
  /** 64 hexadecimal digits. */
  readonly id: string
  /** Its bytes from a position on. Yields an empty chunk when there is nothing new for a moment. */
  read(from: number): AsyncIterable<Buffer>
}

const TICK_MS = 250
/** A cache that was told to open its log again may still finish lines in the old one. */
const ROTATED_MS = 2000
const CHUNK_BYTES = 64 * 1024
const NOTHING = Buffer.alloc(0)

/** What a pipe brings, until it ends. A pipe cannot be read again, so it is a log of its own each time. */
export function pipedLog(pipe: Readable, stop: AbortSignal): CacheLog {
  return { id: randomBytes(32).toString('hex'), read: () => chunksOf(pipe, stop) }
}

async function* chunksOf(pipe: Readable, stop: AbortSignal): AsyncGenerator<Buffer> {
  while (!stop.aborted) {
    const chunk = pipe.read() as Buffer | null
    if (chunk === null && pipe.readableEnded) return
    yield chunk ?? NOTHING
    if (chunk === null && !pipe.readableEnded) await eventOrTick(pipe)
  }
}

async function eventOrTick(pipe: Readable): Promise<void> {
  const waiting = new AbortController()
  const { signal } = waiting
  const over = () => undefined
  const events = ['readable', 'end'].map((name) => once(pipe, name, { signal }).catch(over))
  await Promise.race([...events, delay(TICK_MS, undefined, { signal }).catch(over)])
  waiting.abort()
}

export interface LogFileOptions {
  readonly path: string
  /** Read to its end, and do not wait for more. */
  readonly isOnce: boolean
  readonly stop: AbortSignal
  /** Tells the operator that the file cannot be opened, once until it can. */
  readonly note: (text: string) => void
}

/**
 * The logs that a file name stands for, one after another: when the file is replaced, because it was rotated, the next one
 * follows after the end of this one.
 */
export async function* filedLogs(options: LogFileOptions): AsyncGenerator<CacheLog> {
  const { path, isOnce, stop, note } = options
  let isMissing = false
  while (!stop.aborted) {
    const file = await open(path).catch((error: unknown) => {
      if (isOnce) throw error
      if (!isMissing) note(`${operatorText(error)}, and is awaited`)
      return null
    })
    isMissing = file === null
    if (file !== null) {
      try {
        const id = await identityOf(file, options)
        if (id !== null) yield { id, read: (from) => follow(file, from, options) }
      } finally {
        await file.close()
      }
    }
    if (isOnce) return
    await delay(TICK_MS)
  }
}

/** The hash of its first line, which a renamed or copied log keeps. Null: it has none yet. */
async function identityOf(file: FileHandle, { path, isOnce, stop }: LogFileOptions): Promise<string | null> {
  for (;;) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(CACHE_LINE_MAX), 0, CACHE_LINE_MAX, 0)
    const end = buffer.subarray(0, bytesRead).indexOf('\n')
    if (end >= 0 || bytesRead === CACHE_LINE_MAX)
      return createHash('sha256')
        .update(buffer.subarray(0, end < 0 ? bytesRead : end))
        .digest('hex')
    if (isOnce || stop.aborted || (await isReplaced(file, path, bytesRead))) return null
    await delay(TICK_MS)
  }
}

async function* follow(file: FileHandle, from: number, { path, isOnce, stop }: LogFileOptions): AsyncGenerator<Buffer> {
  let at = from
  let replacedMs: number | null = null
  while (!stop.aborted) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, at)
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
    if (bytesRead > 0) continue
    if (isOnce || (replacedMs !== null && performance.now() - replacedMs > ROTATED_MS)) return
    if (replacedMs === null && (await isReplaced(file, path, at))) replacedMs = performance.now()
    await delay(TICK_MS)
  }
}

/** Whether another file has this name now, or this one was emptied. */
async function isReplaced(file: FileHandle, path: string, at: number): Promise<boolean> {
  const [own, named] = await Promise.all([file.stat(), stat(path).catch(() => null)])
  return named === null || named.ino !== own.ino || named.dev !== own.dev || own.size < at
}
