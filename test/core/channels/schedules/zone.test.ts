import * as fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { expect, test } from 'vitest'
import { dayAt, instantOf } from '../../../../src/core/channels/schedules/zone.ts'

const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Africa/Cairo',
  'UTC',
  'Asia/Gaza',
]
const DAY_MS = 86_400_000

test('local times become the instants that Temporal computes, and back, around every change of a clock', () => {
  const zone = fc.constantFrom(
    ...ZONES,
    'America/Sao_Paulo',
    'Africa/Casablanca',
    'Asia/Kathmandu',
    'Pacific/Kiritimati',
  )
  // Half of the days are those on which a clock of the zone changes.
  const day = fc.tuple(fc.integer({ min: 10_000, max: 25_000 }), fc.boolean(), fc.integer({ min: -1, max: 1 }))
  fc.assert(
    fc.property(zone, day, fc.integer({ min: 0, max: 1439 }), (name, [some, atChange, near], minutes) => {
      const from = Temporal.Instant.fromEpochMilliseconds(some * DAY_MS).toZonedDateTimeISO(name)
      const change = atChange ? from.getTimeZoneTransition('next') : null
      const date = (change ?? from).toPlainDate().add({ days: near })
      const chosen = Math.round(Date.UTC(date.year, date.month - 1, date.day) / DAY_MS)
      const wall = {
        year: date.year,
        month: date.month,
        day: date.day,
        hour: Math.floor(minutes / 60),
        minute: minutes % 60,
      }
      const theirs = Temporal.ZonedDateTime.from({ ...wall, timeZone: name }, { disambiguation: 'compatible' })
      expect(instantOf(name, chosen, minutes)).toBe(theirs.epochMilliseconds)
      const shown = theirs.toPlainDate()
      expect(dayAt(name, theirs.epochMilliseconds)).toBe(Date.UTC(shown.year, shown.month - 1, shown.day) / DAY_MS)
    }),
    { numRuns: 2000 },
  )
})
