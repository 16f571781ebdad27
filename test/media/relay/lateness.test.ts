import { expect, test } from 'vitest'
import { Lateness, LoopTurns, READ_MAX, SocketBacklog } from '../../../src/media/relay/transport/lateness.ts'

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

/** Turns of a socket. `reads`: how many datagrams each reads. */
function turns(backlog: SocketBacklog, reads: readonly number[], fromMs: number): boolean[] {
  return reads.map((count, at) => {
    for (let n = 0; n < count; n++) expect(backlog.read()).toBe(n === 0)
    return backlog.turned(fromMs + at * 40)
  })
}

test('a socket that is emptied in each turn needs no probe, and one that is not sends one every 100 ms', () => {
  const backlog = new SocketBacklog()
  expect(turns(backlog, [1, READ_MAX - 1], 0)).toEqual([false, false])
  expect(backlog.waitedMs(100)).toBeUndefined()
  const full = [READ_MAX, READ_MAX, READ_MAX, READ_MAX, READ_MAX]
  expect(turns(backlog, full, 1000)).toEqual([true, false, false, true, false])
})

test('what is read before a probe came before it, and what is read around it has waited as long', () => {
  const backlog = new SocketBacklog()
  turns(backlog, [READ_MAX], 1000)
  expect(backlog.waitedMs(4000)).toBe(3000)
  backlog.probed(1000, 4700)
  expect(backlog.waitedMs(4701)).toBe(3700)
  turns(backlog, [1], 4800)
  expect(backlog.waitedMs(4800)).toBeUndefined()
})

test('a probe that the kernel drops is forgotten with the next one that comes back', () => {
  const backlog = new SocketBacklog()
  turns(backlog, [READ_MAX], 1000)
  turns(backlog, [READ_MAX], 1100)
  backlog.probed(1100, 1150)
  expect(backlog.waitedMs(1160)).toBe(50)
})
