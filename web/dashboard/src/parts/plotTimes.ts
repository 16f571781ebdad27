import { words } from '../words/words.ts'

/** Between two times of a plot. */
export type Step = 'second' | 'minute' | 'day'

/** Of the day on which clocks are put forward. */
const SHORTEST_DAY = 23 * 3600
const MINUTE = 60
const HOUR_MS = 3_600_000
export const DAY_SECONDS = 86_400

/** @param times epoch seconds, ascending */
export function stepOf(times: readonly number[]): Step {
  const apart = Math.min(...times.slice(1).map((time, at) => time - (times[at] ?? time)))
  if (apart < MINUTE) return 'second'
  return apart >= SHORTEST_DAY && Number.isFinite(apart) ? 'day' : 'minute'
}

const clock = new Intl.DateTimeFormat(words.locale, { hour: '2-digit', minute: '2-digit' })
const clockWithSeconds = new Intl.DateTimeFormat(words.locale, { timeStyle: 'medium' })
const day = new Intl.DateTimeFormat(words.locale, { day: 'numeric', month: 'short' })

/**
 * A time in the day that begins here: later, where clocks are put forward at midnight, and earlier, where midnight is no whole hour
 * of UTC, of which the server has sums.
 */
const inDay = (seconds: number): Date => new Date(seconds * 1000 + HOUR_MS - 1)

/**
 * Times of the axis: the clock, and at midnight the day. Those in one minute are told apart by their seconds.
 * @param increment seconds between two of them
 */
export const axisTime = (seconds: number, increment: number): string => {
  const at = new Date(seconds * 1000)
  if (increment < MINUTE) return clockWithSeconds.format(at)
  if (increment >= DAY_SECONDS) return day.format(inDay(seconds))
  return at.getHours() === 0 && at.getMinutes() === 0 ? day.format(at) : clock.format(at)
}

/**
 * The times of an axis of days, so many seconds apart: each begins a day of the data. The library would take an hour for what all
 * zones change their clocks by.
 */
export const axisDays = (times: ArrayLike<number>, increment: number): number[] =>
  Array.from(times).filter((_, at) => at % (increment / DAY_SECONDS) === 0)

const WHOLE: Readonly<Record<Step, Intl.DateTimeFormat>> = {
  second: new Intl.DateTimeFormat(words.locale, { dateStyle: 'medium', timeStyle: 'medium' }),
  minute: new Intl.DateTimeFormat(words.locale, { dateStyle: 'medium', timeStyle: 'short' }),
  day: new Intl.DateTimeFormat(words.locale, { weekday: 'short', day: 'numeric', month: 'short' }),
}

/** The short name of a zone's time, which tells one hour from the next when clocks are put back. */
const zone = new Intl.DateTimeFormat(words.locale, { timeZoneName: 'short' })
const zoneName = (ms: number): string => zone.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? ''

/** A time with its day, as exactly as it takes to tell it from the next one. */
export function wholeTime(seconds: number, step: Step): string {
  const [ms, format] = [seconds * 1000, WHOLE[step]]
  if (step === 'day') return format.format(inDay(seconds))
  const shown = format.format(ms)
  const comesTwice = [ms - HOUR_MS, ms + HOUR_MS].some((other) => format.format(other) === shown)
  return comesTwice ? `${shown} ${zoneName(ms)}` : shown
}
