import { useRef } from 'preact/hooks'

/** How far back a list goes. */
export type PastRange = 'hour' | 'day' | 'week' | 'all'

const HOURS: Readonly<Record<PastRange, number>> = { hour: 1, day: 24, week: 168, all: 0 }
export const PAST_RANGES: readonly PastRange[] = ['hour', 'day', 'week', 'all']
const MINUTE_MS = 60_000

/** The start of a range; undefined: all that is on record. To the minute, so that a reload asks the same. */
export function sinceOf(range: PastRange, nowMs: number): string | undefined {
  const hours = HOURS[range]
  if (hours === 0) return undefined
  return new Date(Math.floor(nowMs / MINUTE_MS) * MINUTE_MS - hours * 60 * MINUTE_MS).toISOString()
}

type SinceOfPage = (range: PastRange, cursor: string | undefined, nowMs: number) => string | undefined

/**
 * Gives the start of a range for each page of a list. A cursor goes with the filters of its first page, so all pages of
 * one walk have the same start, also when a minute has passed in between.
 */
export function sinceOfPages(): SinceOfPage {
  let since: string | undefined
  return (range, cursor, nowMs) => {
    if (cursor === undefined) since = sinceOf(range, nowMs)
    return since
  }
}

/** `sinceOfPages` for a page that is drawn many times. */
export function useSince(range: PastRange): (cursor: string | undefined) => string | undefined {
  const ofPage = useRef<SinceOfPage | null>(null)
  ofPage.current ??= sinceOfPages()
  return (cursor) => ofPage.current?.(range, cursor, Date.now())
}

/** The range that a text names, as one of an old link; another text gives `otherwise`. */
export const readPastRange = (name: string | null, otherwise: PastRange): PastRange =>
  PAST_RANGES.find((one) => one === name) ?? otherwise
