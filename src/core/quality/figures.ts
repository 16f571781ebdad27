/** Sums of what players reported. Each only rises, and those of two times or streams add up. */
const SUMS = [
  /** Sessions whose player reported, in the hour of its first report. */
  'players',
  /** Sessions that showed a picture, and how long that took. */
  'starts',
  'startMs',
  'playedMs',
  'stalls',
  'stalledMs',
  /** Behind the live edge, added up over reports that said it. */
  'behindMs',
  'behindReports',
  'frames',
  'dropped',
  'switches',
  /** The same of players that send CMCD. */
  'cmcdPlayers',
  'cmcdStarts',
  'cmcdStartMs',
  'starved',
  'bufferMs',
  'bufferReports',
  'kbps',
  'kbpsReports',
] as const
type Sum = (typeof SUMS)[number]

/** How well something played, as sums. */
export interface Quality {
  readonly sums: Record<Sum, number>
  /** Starts by their time, see `bucketOf`. */
  readonly startTimes: Map<number, number>
  /** Failures to start, by their reason. */
  readonly failures: Map<string, number>
  /** Milliseconds that were played, by the height of the picture. */
  readonly heights: Map<number, number>
}

export const noQuality = (): Quality => ({
  sums: Object.fromEntries(SUMS.map((name) => [name, 0])) as Record<Sum, number>,
  startTimes: new Map(),
  failures: new Map(),
  heights: new Map(),
})

/** Adds one to the other. */
export function addQuality(to: Quality, from: Quality): void {
  for (const name of SUMS) to.sums[name] += from.sums[name]
  for (const part of ['startTimes', 'failures', 'heights'] as const)
    for (const [key, n] of from[part]) raise(to[part] as Map<number | string, number>, key, n)
}

export function raise<K>(counts: Map<K, number>, key: K, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by)
}

/** One bucket is 5% longer than the one before, so that a median is right within 2.5%. */
const RATIO = Math.log(1.05)

export const bucketOf = (ms: number): number => Math.round(Math.log(Math.max(ms, 1)) / RATIO)

/** The time that this share of the starts did not exceed, milliseconds; null: there are none. */
export function startMsOf({ startTimes }: Quality, share: number): number | null {
  const buckets = [...startTimes].toSorted(([a], [b]) => a - b)
  const rank = Math.ceil(share * buckets.reduce((sum, [, n]) => sum + n, 0))
  let seen = 0
  for (const [bucket, n] of buckets) {
    seen += n
    if (seen >= rank) return Math.exp(bucket * RATIO)
  }
  return null
}

type Pairs<K> = readonly (readonly [K, number])[]

/** As the store has it: sums that are not 0 by their number, and the three maps. */
export type PackedQuality = readonly [
  sums: Pairs<number>,
  startTimes: Pairs<number>,
  failures: Pairs<string>,
  heights: Pairs<number>,
]

export const packQuality = ({ sums, startTimes, failures, heights }: Quality): PackedQuality => [
  SUMS.flatMap((name, at) => (sums[name] === 0 ? [] : [[at, sums[name]] as const])),
  [...startTimes],
  [...failures],
  [...heights],
]

export function unpackQuality([packed, startTimes, failures, heights]: PackedQuality): Quality {
  const { sums } = noQuality()
  for (const [at, sum] of packed) {
    const name = SUMS[at]
    if (name !== undefined) sums[name] = sum
  }
  return { sums, startTimes: new Map(startTimes), failures: new Map(failures), heights: new Map(heights) }
}
