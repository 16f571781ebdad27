import { words } from '../words/words.ts'

/** Between two times of a plot. */
export type Step = 'second' | 'minute' | 'day'

/** Of the day on which clocks are put forward. */
const SHORTEST_DAY = 23 * 3600
const MINUTE = 60

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
 * Times of the axis: the clock, and at midnight the day. Those in one minute are told apart by their seconds.
 * @param increment seconds between two of them
 */
export const axisTime = (seconds: number, increment: number): string => {
  const at = new Date(seconds * 1000)
  if (increment < MINUTE) return clockWithSeconds.format(at)
  return at.getHours() === 0 && at.getMinutes() === 0 ? day.format(at) : clock.format(at)
}

const WHOLE: Readonly<Record<Step, Intl.DateTimeFormat>> = {
  second: new Intl.DateTimeFormat(words.locale, { dateStyle: 'medium', timeStyle: 'medium' }),
  minute: new Intl.DateTimeFormat(words.locale, { dateStyle: 'medium', timeStyle: 'short' }),
  day: new Intl.DateTimeFormat(words.locale, { weekday: 'short', day: 'numeric', month: 'short' }),
}

/** A time with its day, as exactly as it takes to tell it from the next one. */
export const wholeTime = (seconds: number, step: Step): string => WHOLE[step].format(new Date(seconds * 1000))
