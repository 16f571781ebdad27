import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { RestreamUsage } from '../../src/services/restreamUsage.ts'
import type { RestreamHour, Store } from '../../src/store/store.ts'

const HOUR_MS = 3_600_000
const feed = { accountId: 'a', streamName: 's', feedId: 'f' }

/** A store that keeps what is put, unless it is unavailable. */
function begin() {
  const clock = new ManualClock()
  clock.advance(HOUR_MS - (clock.now() % HOUR_MS))
  const rows = new Map<number, RestreamHour>()
  const puts: number[] = []
  let isAvailable = true
  const restreamHours = {
    put: async (hours: readonly RestreamHour[]) => {
      if (!isAvailable) throw new Error('unavailable')
      puts.push(hours.length)
      for (const hour of hours) rows.set(hour.hourMs, hour)
    },
  }
  const store = { transaction: (work: (tx: object) => unknown) => work({ restreamHours }) } as unknown as Store
  const usage = new RestreamUsage(clock)
  return {
    clock,
    usage,
    puts,
    write: () => usage.write(store),
    sums: () => [...rows.values()].map(({ bytesOut }) => bytesOut),
    available: (is: boolean) => (isAvailable = is),
  }
}

const used = (bytesOut: number) => ({ liveMs: 1000, bytesIn: 1, bytesOut })

test('each hour has its own total, which replaces the one before', async () => {
  const { clock, usage, write, sums } = begin()
  usage.add(feed, used(10))
  await write()
  usage.add(feed, used(5))
  await write()
  expect(sums()).toEqual([15])
  clock.advance(HOUR_MS)
  usage.add(feed, used(3))
  await write()
  expect(sums()).toEqual([15, 3])
})

test('an hour goes on where it was when a clock that was an hour ahead is put back', async () => {
  const { clock, usage, write, sums } = begin()
  usage.add(feed, used(10))
  await write()
  clock.setWall(HOUR_MS)
  usage.add(feed, used(3))
  await write()
  clock.setWall(-HOUR_MS)
  usage.add(feed, used(5))
  await write()
  expect(sums()).toEqual([15, 3])
})

test('a row is written again only when it changed, and what could not be written is written later', async () => {
  const { clock, usage, write, sums, puts, available } = begin()
  usage.add(feed, used(10))
  await write()
  await write()
  expect(puts).toEqual([1])
  available(false)
  usage.add(feed, used(7))
  await expect(write()).rejects.toThrow()
  clock.advance(HOUR_MS)
  usage.add(feed, used(1))
  available(true)
  await write()
  expect([sums(), puts]).toEqual([
    [17, 1],
    [1, 2],
  ])
})
