import { isObject } from '../../base/objects.ts'
import { err, ok, type Result } from '../../base/result.ts'

// What caches report of their logs: lines as they write them, and batches as `sluice cache-log` posts them.

/** A line that says what a cache sent to a viewer. */
export interface CacheLine {
  readonly ticket: string
  readonly stream: string
  readonly bytes: number
}

/** The answers of a cache to one ticket. */
export interface SentByCache extends CacheLine {
  readonly answers: number
}

/** What is in a range of a cache's log, by ticket and stream. */
export interface CacheLogBatch {
  /** The log, without its path: 64 hexadecimal digits. */
  readonly log: string
  /** Byte positions in the log: the first byte of the range, and the first one after it. */
  readonly from: number
  readonly to: number
  readonly sent: readonly SentByCache[]
}

/** A ticket has at most 4,096 characters, and the rest of a line less than a hundred. */
export const CACHE_LINE_MAX = 8192
/** Tickets in one batch. */
export const CACHE_TICKETS_MAX = 1000
/** Far above any segment: ten seconds of 100 Mbit/s take 125 MB. */
const ANSWER_MAX_BYTES = 256 * 1024 * 1024
/** Far above what a cache answers between two batches. */
const ANSWERS_MAX = 1_000_000
/** 1 PB: far above any log, rotated or not. */
const POSITION_MAX = 1e15

/** `TIME STATUS BYTES PATH`: the path comes last, because clients choose it. */
const LINE =
  /^\S{1,40} 2\d\d (\d{1,9}) \/hls\/~([\w.-]{1,4096})\/([\w-]{1,64})\/[\w-]{1,64}\/[\w-]{1,40}\.\w{3,4}(?:\?\S*)?$/

/** Other paths, checks and refusals. */
const OTHER = /^\S{1,40} (?:[1345]\d\d .*|\d{3} \d{1,9} (?!\/hls\/~)\S*|\d{3} \d{1,9} \/hls\/~\S+\/check(?:\?\S*)?)$/

/** What a line of a cache's log counts; `other`: nothing, rightly. */
export function readCacheLine(line: string): CacheLine | 'other' | 'malformed' {
  const [, bytes = '', ticket, stream] = LINE.exec(line) ?? []
  if (ticket !== undefined && stream !== undefined && Number(bytes) <= ANSWER_MAX_BYTES)
    return { ticket, stream, bytes: Number(bytes) }
  return OTHER.test(line) ? 'other' : 'malformed'
}

const isWhole = (value: unknown, most: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= most

/** Checks a posted batch. The error is a sentence. */
export function readCacheLogBatch(body: unknown): Result<CacheLogBatch, string> {
  if (!isObject(body)) return err('The body must be a JSON object')
  const { log, from, to, sent } = body
  if (typeof log !== 'string' || !/^[0-9a-f]{64}$/.test(log)) return err('log must be 64 hexadecimal digits')
  if (!isWhole(from, POSITION_MAX) || !isWhole(to, POSITION_MAX) || to < from)
    return err('from and to must be byte positions, to not before from')
  if (!Array.isArray(sent) || sent.length > CACHE_TICKETS_MAX)
    return err(`sent must be a list of at most ${CACHE_TICKETS_MAX} tickets`)
  if (to === from && sent.length > 0) return err('sent must be empty when to equals from')
  const read = sent.map(readSent)
  const wrong = read.indexOf(null)
  if (wrong >= 0) return err(`sent[${wrong}] must have ticket, stream, answers and bytes, within their bounds`)
  return ok({ log, from, to, sent: read.filter((one) => one !== null) })
}

function readSent(value: unknown): SentByCache | null {
  if (!isObject(value)) return null
  const { ticket, stream, answers, bytes } = value
  if (typeof ticket !== 'string' || !/^[\w.-]{1,4096}$/.test(ticket)) return null
  if (typeof stream !== 'string' || !/^[\w-]{1,64}$/.test(stream)) return null
  if (!isWhole(answers, ANSWERS_MAX) || !isWhole(bytes, answers * ANSWER_MAX_BYTES)) return null
  return { ticket, stream, answers, bytes }
}
