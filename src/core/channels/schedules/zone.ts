const DAY_MS = 86_400_000

/** One for each zone that was asked for; making one costs more than a hundred questions to it. */
const clocks = new Map<string, Intl.DateTimeFormat>()
const CLOCKS_MAX = 64

/** True for the name of a zone of the IANA database, such as `Europe/Vienna` or `UTC`. Bare offsets are no zones. */
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
 * When a clock on the wall of the zone shows this time, epoch milliseconds. A time that the zone leaps over moves forward
 * by the length of the leap; of one that comes twice it is the first ("compatible" in the words of RFC 5545). By `Intl`,
 * because a library for this takes seven megabytes of every server; a test holds it against one.
 */
export function instantOf(zone: string, day: number, minutes: number): number {
  const wall = day * DAY_MS + minutes * 60_000
  const before = wall - offsetAt(zone, wall - DAY_MS)
  const after = wall - offsetAt(zone, wall + DAY_MS)
  const shown = [before, after].filter((instant) => instant + offsetAt(zone, instant) === wall)
  return shown.length > 0 ? Math.min(...shown) : before
}

/** The day on the wall of the zone at an instant. */
export const dayAt = (zone: string, atMs: number): number => Math.floor((atMs + offsetAt(zone, atMs)) / DAY_MS)

/** How far the zone's clocks are ahead of UTC, milliseconds. */
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
  const known = clocks.get(zone)
  if (known) return known
  const digits = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  const made = new Intl.DateTimeFormat('en-US', { ...digits, second: 'numeric', hourCycle: 'h23', timeZone: zone })
  if (clocks.size >= CLOCKS_MAX) clocks.clear()
  clocks.set(zone, made)
  return made
}
