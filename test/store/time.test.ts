import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Clock } from '../../src/base/clock.ts'
import { DatabaseTime } from '../../src/store/time.ts'

const START_MS = 1_750_000_000_000

/** A machine and a database with separate clocks, and a query that takes time. */
class World implements Clock {
  databaseMs = START_MS
  wallMs = START_MS
  monotonicMs = 0
  there = 0
  back = 0
  isAway = false
  now = (): number => this.wallMs
  monotonic = (): number => this.monotonicMs
  sleep = (): Promise<void> => Promise.resolve()
  readonly time = new DatabaseTime({ time: () => this.#answer() }, this)

  pass(ms: number): void {
    this.databaseMs += ms
    this.wallMs += ms
    this.monotonicMs += ms
  }

  async #answer(): Promise<number> {
    if (this.isAway) throw new Error('away')
    this.pass(this.there)
    const answer = this.databaseMs
    this.pass(this.back)
    return answer
  }

  get errorMs(): number {
    return this.time.clock.now() - this.databaseMs
  }
}

describe('a clock that is set by the database', () => {
  test('is correct within the duration of the query, however wrong the machine is', async () => {
    const times = fc.nat(5_000)
    const wrong = fc.integer({ min: -4_000_000, max: 4_000_000 })
    await fc.assert(
      fc.asyncProperty(wrong, fc.array(fc.tuple(times, times), { minLength: 1 }), async (aheadMs, questions) => {
        const world = new World()
        world.wallMs += aheadMs
        let bound = Number.POSITIVE_INFINITY
        for (const [there, back] of questions) {
          Object.assign(world, { there, back })
          await world.time.look()
          // A slow query never makes it worse.
          bound = Math.min(bound, there + back)
          expect(Math.abs(world.errorMs)).toBeLessThanOrEqual(bound)
        }
        expect(world.time.offsetMs).toBe(world.time.clock.now() - world.wallMs)
      }),
    )
  })

  test('goes on as before when the clock of the machine is set, until the database says otherwise', async () => {
    const world = new World()
    await world.time.look()
    world.wallMs += 3_600_000
    world.pass(4_000)
    expect(world.errorMs).toBe(0)
    await world.time.look()
    expect([world.errorMs, world.time.offsetMs]).toEqual([0, -3_600_000])
  })

  test('keeps its correction while the database does not answer', async () => {
    const world = new World()
    world.wallMs -= 60_000
    await world.time.look()
    const failing = new DatabaseTime({ time: () => Promise.reject(new Error('away')) }, world)
    await expect(failing.look()).rejects.toThrow('away')
    expect(failing.clock.now()).toBe(world.wallMs)
    world.pass(5_000)
    expect(world.errorMs).toBe(0)
  })
})

describe('the time of the database is even', () => {
  const LEASE_MS = 15_000
  const isEven = (world: World): Promise<boolean> => world.time.isEven(LEASE_MS)

  test('at first, while it runs, and while answers take long', async () => {
    const world = new World()
    for (const [there, back] of [
      [0, 0],
      [4_000, 0],
      [0, 4_000],
      [0, 0],
    ] as const) {
      Object.assign(world, { there, back })
      expect(await isEven(world)).toBe(true)
      world.pass(3_600_000)
    }
  })

  test.each([3_600_000, 3_000, -3_000, -3_600_000])('again only one lease after a jump of %i ms', async (ms) => {
    const world = new World()
    expect(await isEven(world)).toBe(true)
    world.pass(5_000)
    world.databaseMs += ms
    expect(await isEven(world)).toBe(false)
    world.pass(LEASE_MS - 1)
    expect(await isEven(world)).toBe(false)
    world.pass(1)
    expect(await isEven(world)).toBe(true)
  })

  test('again only one lease after the database was away, since no node could renew a lease meanwhile', async () => {
    const world = new World()
    expect(await isEven(world)).toBe(true)
    world.isAway = true
    world.pass(LEASE_MS)
    await expect(world.time.look()).rejects.toThrow('away')
    world.isAway = false
    world.pass(LEASE_MS)
    expect(await isEven(world)).toBe(false)
    world.pass(LEASE_MS - 1)
    expect(await isEven(world)).toBe(false)
    world.pass(1)
    expect(await isEven(world)).toBe(true)
  })

  test('again only one lease after a node has said that leases could not be renewed', async () => {
    const world = new World()
    expect(await isEven(world)).toBe(true)
    world.time.interrupted()
    world.pass(LEASE_MS - 1)
    expect(await isEven(world)).toBe(false)
    world.pass(1)
    expect(await isEven(world)).toBe(true)
  })

  test('whatever the clock of the machine does, unless the machine was suspended', async () => {
    const world = new World()
    expect(await isEven(world)).toBe(true)
    world.wallMs += 3_600_000
    expect(await isEven(world)).toBe(true)
    // Suspended: its monotonic clock did not run.
    world.databaseMs += 60_000
    expect(await isEven(world)).toBe(false)
  })
})
