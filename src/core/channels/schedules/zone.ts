import { DAY_MS } from '../../../base/time.ts'

/** One per requested zone: creating a formatter costs more than a hundred uses of it. */
const clocks = new Map<string, Intl.DateTimeFormat>()
const CLOCKS_MAX = 64

/** True for a zone name of the IANA database, such as `Europe/Vienna` or `UTC`. Bare offsets are not zones. */
export function isZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9+_/-]{0,63}$/.test(name)) return false
  try {
    clockOf(name)
    return true
  } catch {
    return false
  }
}

/**
 * The instant at which wall clocks of the zone show this time, epoch milliseconds. A time that the zone skips moves
 * forward by the length of the gap; of a repeated time it is the first ("compatible" in the words of RFC 5545). Uses
 * `Intl`, because a library for this takes seven megabytes of every server; a test compares the results with one.
 */
export function instantOf(zone: string, day: number, minutes: number): number {
  const wall = day * DAY_MS + minutes * 60_000
  const before = wall - offsetAt(zone, wall - DAY_MS)
  const after = wall - offsetAt(zone, wall + DAY_MS)
  const shown = [before, after].filter((instant) => instant + offsetAt(zone, instant) === wall)
  return shown.length > 0 ? Math.min(...shown) : before
}

/** The local day in the zone at an instant. */
export const dayAt = (zone: string, atMs: number): number => Math.floor((atMs + offsetAt(zone, atMs)) / DAY_MS)

/** The zone's offset from UTC, milliseconds. */
function offsetAt(zone: string, atMs: number): number {
  const shown = new Map(
    clockOf(zone)
      .formatToParts(atMs)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const part = (type: Intl.DateTimeFormatPartTypes): number => shown.get(type) ?? 0
  const wall = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
  return wall - Math.floor(atMs / 1000) * 1000
}

function clockOf(zone: string): Intl.DateTimeFormat {
  const cached = clocks.get(zone)
  if (cached) return cached
  const digits = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  const made = new Intl.DateTimeFormat('en-US', { ...digits, second: 'numeric', hourCycle: 'h23', timeZone: zone })
  if (clocks.size >= CLOCKS_MAX) clocks.clear()
  clocks.set(zone, made)
  return made
}
