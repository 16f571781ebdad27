import { expect, test } from 'vitest'
import { Parts } from '../../src/app/parts.ts'
import { ManualClock } from '../../src/base/clock.ts'
import { StopTimeout } from '../../src/store/stopTimeout.ts'

test('the parts of a server share one grace, which begins with the stop, and stop in their order also when one fails', async () => {
  const clock = new ManualClock()
  const parts = new Parts({ clock, graceMs: () => 10_000, stopTimeout: new StopTimeout() })
  const left: [string, number][] = []
  for (const name of ['leases', 'deliveries', 'http', 'packager'] as const)
    parts.add(name, () => {
      left.push([name, parts.graceMs])
      clock.advance(6_000)
      if (name === 'http') throw new Error('it fails')
    })
  clock.advance(60_000)
  expect(parts.graceMs).toBe(10_000)
  await expect(parts.stop()).rejects.toThrow('it fails')
  expect(left).toEqual([
    ['packager', 10_000],
    ['http', 4_000],
    ['deliveries', 0],
    ['leases', 0],
  ])
})
