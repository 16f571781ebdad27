import { expect, test } from 'vitest'
import { err, ok } from '../../../../src/base/result.ts'
import type { Timing } from '../../../../src/core/channels/schedules/plan.ts'
import {
  comingPlan,
  futurePlan,
  readCreateScheduler,
  readSchedulerQuery,
  readUpdateScheduler,
} from '../../../../src/core/channels/schedules/requests.ts'
import { readOccurrencesQuery } from '../../../../src/core/channels/schedules/occurrencesQuery.ts'
import { startSame, withoutTarget } from '../../../../src/core/channels/schedules/targets.ts'

const NOW = Date.parse('2030-01-01T10:00:00Z')
const STARTS = { startDate: '2030-01-01', startTime: '10:01' }
const BODY = { name: 'Show', ...STARTS, channels: [{ channelId: 'ch_a' }] }
const TIMING: Timing = { ...STARTS, endDate: null, endTime: null, recurrence: null, timeZone: 'UTC' }
const create = (body: object) => readCreateScheduler(body, (timing) => futurePlan(timing, NOW))
const problemsOf = (body: object): object => {
  const read = create(body)
  return read.ok ? {} : read.error
}

test('a new scheduler is enabled, in UTC, and ends by hand, unless its body says otherwise', () => {
  expect(create(BODY)).toMatchObject({
    value: { rules: { ...BODY, enabled: true, endDate: null, endTime: null, recurrence: null, timeZone: 'UTC' } },
  })
  const all = {
    enabled: false,
    endDate: '2030-02-01',
    endTime: '11:00',
    recurrence: 'FREQ=DAILY',
    timeZone: 'Asia/Tokyo',
  }
  expect(create({ ...BODY, startDate: '2030-01-02', ...all })).toMatchObject({ value: { rules: all } })
})

test('its channels have two spellings, one of which is needed', () => {
  const { channels: _, ...rest } = BODY
  expect(create({ ...rest, channelIds: ['ch_a', 'ch_b'] })).toMatchObject({
    value: { rules: { channels: [{ channelId: 'ch_a' }, { channelId: 'ch_b' }] } },
  })
  expect(problemsOf(rest)).toEqual({ channels: [expect.stringContaining('is required')] })
  expect(problemsOf({ ...BODY, channelIds: ['ch_b'] })).toEqual({ channelIds: [expect.stringContaining('together')] })
  expect(problemsOf({ ...rest, channelIds: ['ch_a', 'ch_a'] })).toEqual({
    channels: [expect.stringContaining('twice')],
  })
  expect(Object.keys(problemsOf({ ...rest, channelIds: 'ch_a' }))).toEqual(['channelIds'])
  expect(Object.keys(problemsOf({ ...rest, channels: [] }))).toEqual(['channels'])
})

test('it begins in the future: at a later minute, and once more if it repeats', () => {
  expect(problemsOf({ ...BODY, startTime: '10:00' })).toEqual({ startDate: ['must lie in the future'] })
  expect(problemsOf({ ...BODY, startDate: '2030-02-30' })).toHaveProperty('startDate')
  const over = { ...TIMING, startDate: '2030-01-02', endDate: '2030-01-05', recurrence: 'FREQ=MONTHLY;BYMONTHDAY=6' }
  expect(futurePlan(over, NOW)).toEqual(err({ recurrence: ['would never begin'] }))
  const began = { ...TIMING, startDate: '2029-01-01', recurrence: 'FREQ=DAILY' }
  expect([comingPlan(began, NOW).ok, comingPlan({ ...began, recurrence: 'FREQ=DAILY;COUNT=9' }, NOW).ok]).toEqual([
    true,
    false,
  ])
  expect(comingPlan({ ...began, timeZone: 'Nowhere' }, NOW)).toMatchObject({
    error: { timeZone: [expect.any(String)] },
  })
})

test('an update has the fields of its body: null clears ends and recurrence, and false is a value', () => {
  expect(readUpdateScheduler({})).toStrictEqual(ok({}))
  const cleared = { enabled: false, endDate: null, endTime: null, recurrence: null }
  expect(readUpdateScheduler(cleared)).toEqual(ok(cleared))
  const all = {
    ...BODY,
    endDate: '2030-02-01',
    endTime: '11:00',
    recurrence: 'FREQ=DAILY',
    timeZone: 'UTC',
    enabled: true,
  }
  expect(readUpdateScheduler(all)).toEqual(ok(all))
  expect(readUpdateScheduler({ name: null }).ok).toBe(false)
})

test('the list filters and sorts by known words', () => {
  const filters = (query: Record<string, unknown>) => {
    const read = readSchedulerQuery(query)
    return read.ok ? read.value.filters : read.error.details?.map(({ path }) => path)
  }
  expect(filters({ status: 'terminated,idle', channelId: 'ch_a', sortBy: 'startTime', sortDirection: 'desc' })).toEqual(
    {
      status: ['idle', 'terminated'],
      channelId: 'ch_a',
      sortBy: 'startTime',
      sortDirection: 'desc',
    },
  )
  expect(filters({ status: 'idle,nope', channelId: 'en_a', sortBy: 'id', sortDirection: 'up', name: 'x' })).toEqual([
    'status',
    'channelId',
    'sortBy',
    'sortDirection',
    'name',
  ])
  expect(filters({ channelId: `ch_${'x'.repeat(61)}` })).toEqual(['channelId'])
})

test('a channel or an engine that is deleted is started no more, and a channel without its engines neither', () => {
  const targets = [
    { channelId: 'ch_a', engineIds: ['en_1', 'en_2'] },
    { channelId: 'ch_b' },
    { channelId: 'ch_c', engineIds: ['en_1'] },
  ]
  expect(withoutTarget(targets, { channelId: 'ch_b' })).toEqual([targets[0], targets[2]])
  expect(withoutTarget(targets, { channelId: 'ch_a', engineId: 'en_1' })).toEqual([
    { channelId: 'ch_a', engineIds: ['en_2'] },
    ...targets.slice(1),
  ])
  expect(withoutTarget(targets, { channelId: 'ch_c', engineId: 'en_1' })).toEqual(targets.slice(0, 2))
  expect(withoutTarget(targets, { channelId: 'ch_b', engineId: 'en_1' })).toEqual(targets)
  expect([startSame(targets, [...targets]), startSame(targets, targets.toReversed())]).toEqual([true, false])
  expect(startSame([{ channelId: 'a' }], [{ channelId: 'a', engineIds: ['en_1'] }])).toBe(false)
})

test('occurrences are asked for in a span that does not end before it begins', () => {
  const read = (query: object) => readOccurrencesQuery({ ...query }, NOW)
  const [from, until] = ['2030-01-02T00:00:00Z', '2030-01-01T00:00:00Z']
  expect(read({ from, until })).toEqual(err({ until: ['must not be before from'] }))
  expect(read({ from, until: from })).toEqual(ok({ fromMs: Date.parse(from), untilMs: Date.parse(from) }))
})
