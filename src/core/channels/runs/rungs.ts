import type { Rendition } from '../types.ts'

/** A rendition of a ladder, with its place there: what names its folder, whatever else is made beside it. */
export interface Rung extends Rendition {
  readonly index: number
}

/** A rung and what it costs. */
export interface WeighedRung {
  readonly rung: Rung
  /** Frames a second, as counted, or as they are expected to be. */
  readonly framesPerSecond: number
}

/** What sources have mostly, where neither the ladder nor a source says. */
const EXPECTED_FRAMES = 30
/** Below this, half of the frames is no moving picture any more. */
const HALVED_FROM = 24
/** What is kept back of what was measured. */
const MARGIN = 0.9

export const rungsOf = (video: readonly Rendition[]): Rung[] =>
  video.map((rendition, index) => ({ ...rendition, index }))

/** @param counted frames a second as they were made; null: not yet */
export const weigh = (rung: Rung, counted: number | null): WeighedRung => ({
  rung,
  framesPerSecond: counted ?? (rung.frameRate === null ? EXPECTED_FRAMES : rung.frameRate.value / rung.frameRate.scale),
})

/** Megapixels that have to be encoded in a second of media. */
export const megapixelsOf = ({ rung, framesPerSecond }: WeighedRung): number =>
  (rung.width * rung.height * framesPerSecond) / 1e6

export const sumOf = (rungs: readonly WeighedRung[]): number => rungs.reduce((sum, rung) => sum + megapixelsOf(rung), 0)

/**
 * What is left of some rungs when the largest go, as many as have to: at least one goes, and one stays. Of a single one
 * every second frame goes. Null: nothing can be spared.
 * @param capacity what can be encoded, megapixels a second
 */
export function lighter(rungs: readonly WeighedRung[], capacity: number): Rung[] | null {
  const [only, ...others] = rungs.toSorted((a, b) => megapixelsOf(b) - megapixelsOf(a))
  if (only === undefined) return null
  if (others.length === 0) return halved(only)
  const over = others.findIndex((_, at) => sumOf(others.slice(at)) <= MARGIN * capacity)
  const kept = over < 0 ? others.slice(-1) : others.slice(over)
  return inOrder(kept.map(({ rung }) => rung))
}

function halved({ rung, framesPerSecond }: WeighedRung): Rung[] | null {
  if (framesPerSecond < HALVED_FROM) return null
  return [{ ...rung, frameRate: { value: Math.round(framesPerSecond * 500), scale: 1000 } }]
}

/**
 * Some rungs and those of the full ladder that fit beside them, the smallest first. Null: none fits.
 * @param fits whether there is room for so many megapixels a second more
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
