import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { offTarget } from '../../src/core/restream/state.ts'
import { StreamDemand } from '../../src/media/streamDemand.ts'

const pull = (key: string, id = 1) => ({
  key,
  id,
  accountId: 'a',
  streamName: key,
  when: 'onDemand' as const,
  demandAtMs: 0,
  node: null,
  state: offTarget(0),
})

test('viewers wait until their stream begins, for as long as they may', async () => {
  const [demand, clock] = [new StreamDemand(), new ManualClock()]
  demand.follow([pull('door'), pull('yard')])
  const waits = ['door', 'door', 'yard'].map((key) => demand.wait(key, clock, 8_000))
  expect([...demand.awaited]).toEqual(['door', 'yard'])
  demand.begun('door')
  expect(await Promise.all(waits.slice(0, 2))).toEqual([true, true])
  clock.advance(8_000)
  expect(await waits[2]).toBe(false)
  expect([...demand.awaited]).toEqual([])
})

test('viewers whose pull is deleted, or whose server stops, wait no longer', async () => {
  const [demand, clock] = [new StreamDemand(), new ManualClock()]
  demand.follow([pull('door'), pull('yard')])
  const waits = ['door', 'yard'].map((key) => demand.wait(key, clock, 8_000))
  demand.follow([pull('yard')])
  expect(await waits[0]).toBe(true)
  demand.follow([])
  expect(await waits[1]).toBe(true)
})

test('viewers of at most 1,000 streams wait, so those of one stream keep no others from waiting', async () => {
  const [demand, clock] = [new StreamDemand(), new ManualClock()]
  const crowd = Array.from({ length: 1001 }, () => demand.wait('stream 0', clock, 8_000))
  const others = Array.from({ length: 999 }, (_, n) => demand.wait(`stream ${n + 1}`, clock, 8_000))
  expect(await demand.wait('stream 1000', clock, 8_000)).toBe(false)
  const late = demand.wait('stream 0', clock, 8_000)
  demand.begun('stream 0')
  expect((await Promise.all([...crowd, late])).every(Boolean)).toBe(true)
  const next = demand.wait('stream 1000', clock, 8_000)
  expect([...demand.awaited]).toHaveLength(1000)
  clock.advance(8_000)
  expect((await Promise.all([...others, next])).some(Boolean)).toBe(false)
})
