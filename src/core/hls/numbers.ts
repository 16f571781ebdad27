import type { PieceKey } from './facts.ts'

/** 2026-01-01T00:00:00Z. Numbers that begin here stay below 2^31 for 17 years, which is what players count with. */
const EPOCH_MS = 1_767_225_600_000
/** A part lasts 0.3 seconds or more, except the last one of a segment. */
const PARTS_PER_SECOND = 4

/**
 * One discontinuity in this time is allowed for, seconds. Their number has to stay small: with each playlist hls.js looks at
 * all numbers up to the present one.
 */
const DISCONTINUITY_SECONDS = 600

/** Where the numbers of a stream begin. */
export interface FirstNumbers {
  readonly segment: number
  readonly part: number
  readonly discontinuity: number
}

/**
 * Numbers for a stream that begins now. They come from the clock, so that they never fall when the stream begins again
 * after a pause or a crash: a segment, on the average, uses up more than one second. The clock alone is too coarse for
 * discontinuities: a stream that begins again needs a higher one than the stream before, too.
 */
export function firstNumbers(nowMs: number): FirstNumbers {
  const seconds = Math.max(0, Math.floor((nowMs - EPOCH_MS) / 1000))
  return {
    segment: seconds,
    part: seconds * PARTS_PER_SECOND,
    discontinuity: Math.floor(seconds / DISCONTINUITY_SECONDS),
  }
}

export const initName = (hash: string): string => `init-${hash}.mp4`
export const segmentName = (n: number): string => `s${n}.m4s`
export const partName = (n: number): string => `p${n}.m4s`

const NAME = /^(?:init-[0-9a-f]{8}\.mp4|(s|p)(?:0|[1-9]\d{0,9})\.m4s)$/

/** The kind of piece that has this file name; null: none has. */
export function kindOf(name: string): PieceKey['kind'] | null {
  const found = NAME.exec(name)
  if (found === null) return null
  return found[1] === undefined ? 'init' : found[1] === 's' ? 'segment' : 'part'
}

/** The number in the name of a segment or part. */
export const numberOf = (name: string): number => Number.parseInt(name.slice(1), 10)
