import type { Rendition } from '../types.ts'

/** A rendition with its index in the ladder. The index names it in URLs, whichever other renditions are encoded. */
export interface Rung extends Rendition {
  readonly index: number
}

/** A rung and its encoding cost. */
export interface WeighedRung {
  readonly rung: Rung
  /** Frames per second, counted or expected. */
  readonly framesPerSecond: number
}

/** The usual frame rate, where neither the ladder nor the source gives one. */
export const EXPECTED_FRAMES = 30
/** Below this rate, half of the frames no longer look like motion. */
const HALVED_FROM = 24
/** The share of the measured capacity that may be used. */
const MARGIN = 0.9

/** @param copies false: what the ladder would copy is encoded */
export const rungsOf = (video: readonly Rendition[], copies = true): Rung[] =>
  video.map(({ copy, ...rendition }, index) => ({ ...rendition, index, ...(copy && copies ? { copy } : {}) }))

/** @param counted encoded frames per second; null: not counted yet */
export const weigh = (rung: Rung, counted: number | null): WeighedRung => ({
  rung,
  framesPerSecond: counted ?? (rung.frameRate === null ? EXPECTED_FRAMES : rung.frameRate.value / rung.frameRate.scale),
})

/** Megapixels to encode per second of media: none where the rung is copied. */
export const megapixelsOf = ({ rung, framesPerSecond }: WeighedRung): number =>
  rung.copy ? 0 : (rung.width * rung.height * framesPerSecond) / 1e6

export const sumOf = (rungs: readonly WeighedRung[]): number => rungs.reduce((sum, rung) => sum + megapixelsOf(rung), 0)

/**
 * The rungs that remain when the largest are dropped, as many as necessary: at least one is dropped and one stays.
 * A copied one always stays, and costs nothing. From a single one every second frame is dropped. Null: nothing can be
 * dropped.
 * @param capacity megapixels per second that can be encoded
 */
export function lighter(rungs: readonly WeighedRung[], capacity: number): Rung[] | null {
  const [only, ...others] = rungs.toSorted((a, b) => megapixelsOf(b) - megapixelsOf(a))
  if (only === undefined || only.rung.copy) return null
  if (others.length === 0) return halved(only)
  const over = others.findIndex((_, at) => sumOf(others.slice(at)) <= MARGIN * capacity)
  const remaining = over < 0 ? others.slice(-1) : others.slice(over)
  return inOrder(remaining.map(({ rung }) => rung))
}

function halved({ rung, framesPerSecond }: WeighedRung): Rung[] | null {
  if (framesPerSecond < HALVED_FROM) return null
  return [{ ...rung, frameRate: { value: Math.round(framesPerSecond * 500), scale: 1000 } }]
}

/**
 * The current rungs plus those of the full ladder that fit beside them, the smallest first. Null: none fits.
 * @param fits whether there is capacity for this many more megapixels per second
 */
export function heavier(
  full: readonly WeighedRung[],
  now: readonly Rung[],
  fits: (megapixels: number) => boolean,
): Rung[] | null {
  const isWhole = ({ rung }: WeighedRung): boolean => now.some((one) => one.index === rung.index && isSame(one, rung))
  const missing = full.filter((one) => !isWhole(one)).toSorted((a, b) => megapixelsOf(a) - megapixelsOf(b))
  const many = missing.findLastIndex((_, at) => fits(sumOf(missing.slice(0, at + 1)))) + 1
  if (many === 0) return null
  const back = missing.slice(0, many).map(({ rung }) => rung)
  return inOrder([...now.filter(({ index }) => back.every((rung) => rung.index !== index)), ...back])
}

const isSame = (a: Rung, b: Rung): boolean =>
  a.frameRate === b.frameRate ||
  (a.frameRate?.value === b.frameRate?.value && a.frameRate?.scale === b.frameRate?.scale)

const inOrder = (rungs: readonly Rung[]): Rung[] => rungs.toSorted((a, b) => a.index - b.index)
