/**
 * How a broadcast arrives. The one definition, for the dashboard, webhooks and `sluice doctor`:
 *
 * - `stalled`: no media for `STALLED_MS`.
 * - `uneven`: over the last five minutes the bitrate, averaged over slots of ten seconds, varies by more than a quarter of
 *   its mean (coefficient of variation). It is steady again below a fifth, so that it does not change back and forth.
 * - `impaired`: it arrives, and something of it is wrong (`findings.ts`).
 * - `steady`: everything else. In the first minute and a half there are too few slots to judge the bitrate by.
 *
 * The first 30 seconds of a broadcast do not count: encoders of browsers start low and grow.
 */
export type StreamHealth = (typeof STREAM_HEALTH)[number]

export const STREAM_HEALTH = ['steady', 'impaired', 'uneven', 'stalled'] as const

/** The average bitrate of one slot. */
export interface BitrateSlot {
  /** The end of the slot, monotonic milliseconds. */
  readonly atMs: number
  /** Bits per second. */
  readonly bitrate: number
}

export interface BitrateRange {
  readonly lowest: number
  readonly highest: number
}

/** From one measurement of a stream to the next. */
export const SAMPLE_MS = 2_000
export const HEALTH_WINDOW_MS = 300_000
export const HEALTH_SLOT_MS = 10_000
/** Slots that end earlier in a broadcast are not recorded. */
export const SETTLING_MS = 30_000
const STALLED_MS = 5_000
const SLOTS_MIN = 6
const UNEVEN_ABOVE = 0.25
const STEADY_BELOW = 0.2

interface HealthFacts {
  /** The time since the last media. */
  readonly silentMs: number
  readonly before: StreamHealth
  /** Something is wrong with the media. */
  readonly isImpaired?: boolean
}

export function healthOf(
  slots: readonly BitrateSlot[],
  { silentMs, before, isImpaired = false }: HealthFacts,
): StreamHealth {
  if (silentMs >= STALLED_MS) return 'stalled'
  const limit = before === 'uneven' ? STEADY_BELOW : UNEVEN_ABOVE
  if (slots.length >= SLOTS_MIN && variationOf(slots) > limit) return 'uneven'
  return isImpaired ? 'impaired' : 'steady'
}

/** The lowest and highest slot; null when there are too few to judge by. */
export function rangeOf(slots: readonly BitrateSlot[]): BitrateRange | null {
  if (slots.length < SLOTS_MIN) return null
  const bitrates = slots.map(({ bitrate }) => bitrate)
  return { lowest: Math.min(...bitrates), highest: Math.max(...bitrates) }
}

/** The standard deviation, as a share of the mean. */
function variationOf(slots: readonly BitrateSlot[]): number {
  const mean = slots.reduce((sum, { bitrate }) => sum + bitrate, 0) / slots.length
  if (mean === 0) return 0
  const variance = slots.reduce((sum, { bitrate }) => sum + (bitrate - mean) ** 2, 0) / slots.length
  return Math.sqrt(variance) / mean
}
