import { describe, expect, test } from 'vitest'
import { parseRecurrence } from '../../../../src/core/channels/schedules/recurrence.ts'

const DAY_MS = 86_400_000
const DAILY = {
  freq: 'DAILY',
  interval: 1,
  byDay: [],
  byMonthDay: [],
  count: null,
  until: null,
  weekStart: 0,
}
const dayOf = (text: string): number => Date.parse(text) / DAY_MS

describe('a recurrence', () => {
  test.each([
    ['FREQ=DAILY', DAILY],
    ['rrule:freq=daily;interval=1000', { ...DAILY, interval: 1000 }],
    [
      'RRULE:FREQ=WEEKLY;BYDAY=SU,MO;WKST=SU',
      {
        byDay: [
          { weekday: 6, nth: null },
          { weekday: 0, nth: null },
        ],
        weekStart: 6,
      },
    ],
    [
      'FREQ=MONTHLY;BYDAY=1MO,-1FR,+5TU',
      {
        byDay: [
          { weekday: 0, nth: 1 },
          { weekday: 4, nth: -1 },
          { weekday: 1, nth: 5 },
        ],
      },
    ],
    ['FREQ=MONTHLY;BYMONTHDAY=1,31,-31;COUNT=1000', { byMonthDay: [1, 31, -31], count: 1000 }],
    ['FREQ=DAILY;UNTIL=20300228', { until: { kind: 'day', day: dayOf('2030-02-28') } }],
    ['FREQ=DAILY;UNTIL=20300228T235959', { until: { kind: 'wall', day: dayOf('2030-02-28'), seconds: 86_399 } }],
    ['FREQ=DAILY;UNTIL=20300228T010203Z', { until: { kind: 'instant', ms: Date.parse('2030-02-28T01:02:03Z') } }],
  ])('%s', (text, rule) => {
    expect(parseRecurrence(text)).toMatchObject({ ok: true, value: rule })
  })

  test.each([
    ['', '"" is no NAME=VALUE'],
    ['FREQ=DAILY;', '"" is no NAME=VALUE'],
    ['FREQ', '"FREQ" is no NAME=VALUE'],
    ['FREQ=', '"FREQ=" is no NAME=VALUE'],
    ['FREQ=DAILY=1', '"FREQ=DAILY=1" is no NAME=VALUE'],
    ['INTERVAL=2', 'FREQ must be one of DAILY, WEEKLY, MONTHLY'],
    ['FREQ=YEARLY', 'FREQ must be one of DAILY, WEEKLY, MONTHLY'],
    ['FREQ=DAILY;BYHOUR=2', 'BYHOUR is not supported; the parts are FREQ, INTERVAL'],
    ['FREQ=DAILY;freq=WEEKLY', 'freq is given twice'],
    ['FREQ=DAILY;INTERVAL=0', 'INTERVAL must be a whole number from 1 to 1000'],
    ['FREQ=DAILY;INTERVAL=1001', 'INTERVAL must be a whole number from 1 to 1000'],
    ['FREQ=DAILY;COUNT=1001', 'COUNT must be a whole number from 1 to 1000'],
    ['FREQ=DAILY;COUNT=1.5', 'COUNT must be a whole number from 1 to 1000'],
    ['FREQ=DAILY;COUNT=2;UNTIL=20300101', 'COUNT and UNTIL exclude each other'],
    ['FREQ=WEEKLY;BYMONTHDAY=1', 'BYMONTHDAY cannot stand beside FREQ=WEEKLY'],
    ['FREQ=DAILY;BYDAY=1MO', 'BYDAY with a number, such as 1MO, needs FREQ=MONTHLY'],
    ['FREQ=MONTHLY;BYDAY=6MO', 'BYDAY: "6MO" is no day such as MO, 1MO or -1FR'],
    ['FREQ=MONTHLY;BYDAY=MO,', 'BYDAY: "" is no day such as MO, 1MO or -1FR'],
    ['FREQ=MONTHLY;BYDAY=XX', 'BYDAY must name a day: MO, TU, WE, TH, FR, SA, SU'],
    ['FREQ=DAILY;WKST=1MO', 'WKST must name a day: MO, TU, WE, TH, FR, SA, SU'],
    ...['0', '32', '-32', '100', 'x'].map((day) => [
      `FREQ=MONTHLY;BYMONTHDAY=${day}`,
      'BYMONTHDAY must hold days from 1 to 31, or from -31 to -1',
    ]),
    ['FREQ=DAILY;UNTIL=20300230', 'UNTIL names a day that does not exist'],
    ['FREQ=DAILY;UNTIL=20300228T246060Z', 'UNTIL must be a date such as 20301231 or a moment such as 20301231T235959Z'],
    [`FREQ=DAILY;UNTIL=${'0'.repeat(500)}`, 'must have at most 500 characters'],
  ])('%s is refused with its reason', (text = '', reason = '') => {
    const read = parseRecurrence(text)
    expect(read.ok ? '' : read.error).toMatch(reason)
    expect(read.ok).toBe(false)
  })
})
