import { expect, test } from 'vitest'
import { Lateness, LoopTurns } from '../../../src/media/relay/transport/lateness.ts'

test('a datagram that waited for more than 300 ms is late, and each report begins again', () => {
  const lateness = new Lateness()
  expect([0, 300, 301].map((ms) => lateness.read(ms))).toEqual([false, false, true])
  lateness.dropped()
  expect(lateness.take()).toEqual({ meanMs: 601 / 3, mostMs: 301, late: 1 })
  expect(lateness.take()).toEqual({ meanMs: 0, mostMs: 0, late: 0 })
})

test('where a socket does not say it, a datagram waited for half of the turns in which it can have come', () => {
  const turns = new LoopTurns(1000)
  for (const atMs of [1020, 1040]) turns.turn(atMs)
  expect(turns.waitedMs(1042)).toBe(11)
  turns.turn(1740)
  expect(turns.waitedMs(1744)).toBe(352)
  turns.turn(1760)
  expect(turns.waitedMs(1760)).toBe(10)
})
