import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PartInRoom } from '../../../src/media/engine.ts'
import { Placement } from '../../../src/media/relay/processes/placement.ts'
import { cases } from '../../support/randomCases.ts'

const PROCESSES = 3

/** Joins of one room, one after another. */
function roomOf(placement: Placement, room: string) {
  const join = (part: PartInRoom, count = 1): number[] =>
    Array.from({ length: count }, () => {
      const index = placement.processFor(room, part)
      placement.enter(room, index, part)
      return index
    })
  const leave = (index: number, part: PartInRoom): void => placement.leave(room, index, part)
  return { join, leave }
}

const report = (placement: Placement, index: number, ...loads: number[]) => {
  for (const load of loads) placement.report(index, load)
}

describe('a room with several processes', () => {
  const spread = () => new Placement({ processes: PROCESSES, maxProcessesARoom: PROCESSES })

  test('stays at home until that was over the mark for three reports in a row', () => {
    const placement = spread()
    const { join } = roomOf(placement, 'a')
    expect(join('source')).toEqual([0])
    report(placement, 0, 0.7, 0.7, 0.59, 0.6, 0.6)
    expect(join('viewer')).toEqual([0])
    report(placement, 0, 0.6)
    expect(join('viewer', 3)).toEqual([1, 1, 1])
    expect(join('source')).toEqual([0])
    report(placement, 0, 0.5)
    expect(join('viewer')).toEqual([0])
  })

  test('fills one more process at a time, the least loaded first', () => {
    const placement = spread()
    const { join } = roomOf(placement, 'a')
    join('source')
    report(placement, 0, 0.9, 0.9, 0.9)
    report(placement, 1, 0.4)
    report(placement, 2, 0.3)
    expect(join('viewer', 2)).toEqual([2, 2])
    report(placement, 2, 0.8, 0.8, 0.8)
    expect(join('viewer', 2)).toEqual([1, 1])
  })

  test('with no viewers at home has none there, also when each other process has one and the home is the least loaded', () => {
    const placement = new Placement({ processes: PROCESSES, maxProcessesARoom: PROCESSES, maxViewers: 0 })
    const { join } = roomOf(placement, 'a')
    join('source')
    for (const [index, load] of [0.1, 0.4, 0.5].entries()) report(placement, index, load)
    expect(join('viewer', 4)).toEqual([1, 2, 1, 1])
  })

  test('with every process over the mark goes to the least loaded of those that it has', () => {
    const placement = spread()
    const { join } = roomOf(placement, 'a')
    join('source')
    report(placement, 0, 0.9, 0.9, 0.9)
    expect(join('viewer')).toEqual([1])
    for (const index of [1, 2]) report(placement, index, 0.8, 0.8, 0.8)
    report(placement, 2, 0.7)
    expect(join('viewer')).toEqual([1])
  })

  test('takes 300 viewers to a process that has reported nothing, and to the one that follows a process that ended', () => {
    const placement = spread()
    const { join, leave } = roomOf(placement, 'a')
    join('source')
    expect(new Set(join('viewer', 300))).toEqual(new Set([0]))
    expect(join('viewer')).toEqual([1])
    leave(0, 'viewer')
    expect(join('viewer')).toEqual([0])
    report(placement, 0, 0.9, 0.9, 0.9)
    expect(join('viewer')).toEqual([1])
    leave(0, 'viewer')
    placement.forget(0)
    expect(join('viewer')).toEqual([0])
  })

  test('has its next process for a home when the first has lost all of its sessions', () => {
    const placement = spread()
    const { join, leave } = roomOf(placement, 'a')
    join('source')
    report(placement, 0, 0.9, 0.9, 0.9)
    expect(join('viewer')).toEqual([1])
    leave(0, 'source')
    expect(join('source')).toEqual([1])
  })

  test('has at most as many as it may', () => {
    const placement = new Placement({ processes: PROCESSES, maxProcessesARoom: 2 })
    const { join } = roomOf(placement, 'a')
    join('source')
    report(placement, 0, 0.9, 0.9, 0.9)
    expect(join('viewer')).toEqual([1])
    report(placement, 1, 0.8, 0.8, 0.8)
    expect(join('viewer')).toEqual([1])
  })
})

type Step =
  | { kind: 'join'; room: string; part: PartInRoom }
  | { kind: 'leave'; at: number }
  | { kind: 'report'; index: number; load: number }
  | { kind: 'end'; index: number }

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('join' as const),
        room: fc.constantFrom('a', 'b', 'c', 'd'),
        part: fc.constantFrom('source' as const, 'viewer' as const),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('leave' as const), at: fc.nat() }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('report' as const),
        index: fc.nat({ max: PROCESSES - 1 }),
        load: fc.constantFrom(0.1, 0.6, 1),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('end' as const), index: fc.nat({ max: PROCESSES - 1 }) }) },
  ),
  { maxLength: 80, size: 'max' },
)

interface Session {
  readonly room: string
  readonly part: PartInRoom
  readonly index: number
}

/** Replays joins, ends, reports and deaths. `check` sees each join with the sessions before it. */
function replay(
  maxProcessesARoom: number,
  all: readonly Step[],
  check: (join: Session, before: Session[]) => void,
): void {
  const placement = new Placement({ processes: PROCESSES, maxProcessesARoom })
  let sessions: Session[] = []
  const leave = (gone: readonly Session[]): void => {
    sessions = sessions.filter((session) => !gone.includes(session))
    for (const { room, index, part } of gone) placement.leave(room, index, part)
  }
  for (const step of all) {
    if (step.kind === 'report') placement.report(step.index, step.load)
    else if (step.kind === 'leave') leave(sessions.slice(step.at % (sessions.length + 1)).slice(0, 1))
    else if (step.kind === 'end') {
      leave(sessions.filter(({ index }) => index === step.index))
      placement.forget(step.index)
    } else {
      const joined = { room: step.room, part: step.part, index: placement.processFor(step.room, step.part) }
      check(joined, sessions)
      placement.enter(joined.room, joined.index, joined.part)
      sessions.push(joined)
    }
  }
}

test('one process a room: a session goes to that of its room, else to the one with the fewest sessions', () => {
  const check = ({ room, index }: Session, before: Session[]): void => {
    const counts = Array.from({ length: PROCESSES }, (_, at) => before.filter((session) => session.index === at).length)
    const own = before.find((session) => session.room === room)
    expect(index).toBe(own?.index ?? counts.indexOf(Math.min(...counts)))
  }
  fc.assert(
    fc.property(steps, (all) => replay(1, all, check)),
    cases(1000),
  )
})

test('sources are together whatever is reported, and a room has at most as many processes as it may', () => {
  const check = ({ room, part, index }: Session, before: Session[]): void => {
    const own = before.filter((session) => session.room === room)
    const source = own.find((session) => session.part === 'source')
    if (part === 'source' && source !== undefined) expect(index).toBe(source.index)
    expect(new Set([...own.map((session) => session.index), index]).size).toBeLessThanOrEqual(2)
  }
  fc.assert(
    fc.property(steps, (all) => replay(2, all, check)),
    cases(1000),
  )
})
