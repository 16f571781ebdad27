import { Temporal } from 'temporal-polyfill'
import { dateOf } from './days.ts'

/** True for the name of a zone of the IANA database, such as `Europe/Vienna` or `UTC`. Bare offsets are no zones. */
export function isZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9+_/-]{0,63}$/.test(name)) return false
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name)
    return true
  } catch {
    return false
  }
}

/**
 * When a clock on the wall of the zone shows this time, epoch milliseconds. A time that the zone leaps over moves forward
 * by the length of the leap; of one that comes twice it is the first ("compatible" in the words of RFC 5545 and Temporal).
 */
export function instantOf(zone: string, day: number, minutes: number): number {
  const { year, month, day: date } = dateOf(day)
  const wall = { year, month, day: date, hour: Math.floor(minutes / 60), minute: minutes % 60, timeZone: zone }
  return Temporal.ZonedDateTime.from(wall, { disambiguation: 'compatible' }).epochMilliseconds
}

/** The day on the wall of the zone at an instant. */
export function dayAt(zone: string, atMs: number): number {
  const { year, month, day } = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone)
  return Date.UTC(year, month - 1, day) / 86_400_000
}
