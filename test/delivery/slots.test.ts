import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { claim, type Due, emptySlots, finish, type DeliverySlots, paced, saturated } from '../../src/delivery/slots.ts'

const sum = (counts: Iterable<number>) => [...counts].reduce((a, b) => a + b, 0)
const due = (rows: Record<number, number>): Due[] =>
  Object.entries(rows).map(([id, count]) => dueTo(Number(id), { rows: count }))
const dueTo = (webhookId: number, over: Partial<Due>): Due => ({
  webhookId,
  accountId: 'a',
  receiver: String(webhookId),
  isFailing: false,
  rows: 1,
  ...over,
})
const busyOf = ({ inFlight }: DeliverySlots) => sum(inFlight.values())
const slowOnes = ({ paces }: DeliverySlots) => [...paces].filter(([, pace]) => pace === 'slow').map(([id]) => id)

/** A simulated process: rows wait for slots, and a claimed row is in progress until the test ends it. */
class World {
  slots: DeliverySlots = emptySlots()
  readonly waiting = new Map<number, number>()
  readonly served = new Map<number, number>()
  readonly #accountOf: (webhookId: number) => string
  readonly #receiverOf: (webhookId: number) => string

  constructor(accountOf = (_webhookId: number): string => 'a', receiverOf = (webhookId: number) => String(webhookId)) {
    this.#accountOf = accountOf
    this.#receiverOf = receiverOf
  }

  add(webhookId: number, rows: number): void {
    this.waiting.set(webhookId, (this.waiting.get(webhookId) ?? 0) + rows)
  }

  /** Queries like the runner: for due rows of webhooks that are not saturated, in turn, in parts until one gets a slot. */
  claim(): void {
    const without = saturated(this.slots)
    if (without === null) return
    const [fullAccounts, full] = [new Set(without.accountIds), new Set(without.webhookIds)]
    const rows = [...this.waiting]
      .map(([id, rows]) => dueTo(id, { accountId: this.#accountOf(id), receiver: this.#receiverOf(id), rows }))
      .filter(({ webhookId, accountId, rows }) => rows > 0 && !full.has(webhookId) && !fullAccounts.has(accountId))
      .sort((a, b) => a.webhookId - b.webhookId)
    const { lastServed, limits } = this.slots
    const inTurn = [...new Set([...rows.filter((one) => one.webhookId > lastServed), ...rows])]
    for (let from = 0; from < inTurn.length; from += limits.total) {
      const { slots, claims } = claim(this.slots, inTurn.slice(from, from + limits.total))
      this.slots = slots
      for (const { webhookId, take } of claims) {
        this.waiting.set(webhookId, this.waiting.get(webhookId)! - take)
        this.served.set(webhookId, (this.served.get(webhookId) ?? 0) + take)
      }
      if (claims.length > 0) return
    }
  }

  /** As the runner, until no webhook gets another one. */
  claimAll(): void {
    for (let before = -1; before < busyOf(this.slots); ) {
      before = busyOf(this.slots)
      this.claim()
    }
  }

  finish(webhookId: number): void {
    if (this.slots.inFlight.has(webhookId)) this.slots = finish(this.slots, webhookId)
  }

  /** Every exchange in progress takes long. */
  allAreSlow(): void {
    for (const id of this.slots.inFlight.keys()) this.slots = paced(this.slots, id, 'slow')
  }

  /** Exchanges with these have been quick. */
  wereQuick(webhookIds: readonly number[]): void {
    for (const id of webhookIds) this.slots = paced(this.slots, id, 'quick')
  }

  finishAllBut(hanging: (webhookId: number) => boolean): void {
    for (const [id, count] of this.slots.inFlight) {
      if (!hanging(id)) for (let i = 0; i < count; i++) this.finish(id)
    }
  }
}

const action = fc.oneof(
  fc.record({
    do: fc.constant('add' as const),
    id: fc.integer({ min: 1, max: 40 }),
    rows: fc.integer({ min: 1, max: 20 }),
  }),
  fc.record({ do: fc.constant('finish' as const), id: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ do: fc.constant('claim' as const) }),
)

describe('delivery slots', () => {
  test('never exceed the limits of a webhook or the process, and the counts stay correct', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 200, size: 'max' }), (actions) => {
        const world = new World()
        for (const step of actions) {
          if (step.do === 'add') world.add(step.id, step.rows)
          else if (step.do === 'finish') world.finish(step.id)
          else world.claim()
          const { inFlight } = world.slots
          expect(busyOf(world.slots)).toBeLessThanOrEqual(128)
          for (const count of inFlight.values()) expect(count >= 1 && count <= 4).toBe(true)
          for (const count of world.waiting.values()) expect(count).toBeGreaterThanOrEqual(0)
        }
      }),
    )
  })

  test('leave no slot unused that a waiting webhook could have', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 200, size: 'max' }), (actions) => {
        const world = new World()
        for (const step of actions) {
          if (step.do === 'add') world.add(step.id, step.rows)
          else if (step.do === 'finish') world.finish(step.id)
        }
        world.claim()
        const before = busyOf(world.slots)
        world.claim()
        expect(busyOf(world.slots)).toBe(before)
        if (before < 128)
          for (const [id, rows] of world.waiting) expect(rows === 0 || world.slots.inFlight.has(id)).toBe(true)
      }),
    )
  })

  test('starve no webhook: while slots are released, each is served at least once per round', () => {
    fc.assert(
      fc.property(fc.integer({ min: 129, max: 300 }), (webhooks) => {
        const world = new World()
        for (let id = 1; id <= webhooks; id++) world.add(id, 1000)
        // An account leaves a quarter of the 128 slots to others, and a quarter of its own to webhooks that have been quick.
        for (let round = 0; round < Math.ceil(webhooks / 72); round++) {
          world.claim()
          world.finishAllBut(() => false)
        }
        expect(world.served.size).toBe(webhooks)
        expect(Math.max(...world.served.values()) - Math.min(...world.served.values())).toBeLessThanOrEqual(1)
      }),
    )
  })

  test('give a single webhook all of its slots, and several the same share', () => {
    expect(claim(emptySlots(), due({ 7: 100 })).claims).toEqual([{ webhookId: 7, take: 4 }])
    const { claims } = claim(emptySlots(), due({ 1: 9, 2: 1, 3: 9 }))
    expect(claims).toEqual([
      { webhookId: 1, take: 4 },
      { webhookId: 2, take: 1 },
      { webhookId: 3, take: 4 },
    ])
  })

  test('continue after the webhook that was served last', () => {
    const one = emptySlots({ perWebhook: 1, total: 1 })
    const order: number[] = []
    let slots = one
    for (let i = 0; i < 5; i++) {
      const next = claim(slots, due({ 3: 9, 5: 9, 9: 9 }))
      const served = next.claims[0]!.webhookId
      order.push(served)
      slots = finish(next.slots, served)
    }
    expect(order).toEqual([3, 5, 9, 3, 5])
  })

  test('go in the order of ids, whatever the order of the query, and once around', () => {
    const limits = { perWebhook: 1, total: 2 }
    const orderFrom = (lastServed: number) => {
      const { slots, claims } = claim({ ...emptySlots(limits), lastServed }, due({ 9: 1, 3: 1, 5: 1 }))
      return [...claims.map(({ webhookId }) => webhookId), slots.lastServed]
    }
    expect([0, 3, 4, 5, 9].map(orderFrom)).toEqual([
      [3, 5, 5],
      [5, 9, 9],
      [5, 9, 9],
      [9, 3, 3],
      [3, 5, 5],
    ])
  })

  test('are counted: a webhook without deliveries in progress has no entry, and one with room can be asked for more', () => {
    const { slots } = claim(emptySlots(), due({ 1: 4, 2: 1 }))
    expect(saturated(slots)).toEqual({ accountIds: [], webhookIds: [1] })
    const ended = finish(slots, 2)
    expect([[...ended.inFlight], saturated(ended)?.webhookIds]).toEqual([[[1, 4]], [1]])
    expect(() => finish(ended, 2)).toThrow('nothing was in progress')
    expect([...finish(ended, 1).inFlight]).toEqual([[1, 3]])
  })

  test('contain hanging receivers: healthy webhooks get as many slots as without them', () => {
    const rowsServed = (hanging: number) => {
      const world = new World()
      for (let id = 1; id <= hanging; id++) world.add(id, 1000)
      world.claim()
      for (let id = 101; id <= 110; id++) world.add(id, 1000)
      for (let round = 0; round < 10; round++) {
        world.claim()
        world.finishAllBut((id) => id <= hanging)
      }
      return Array.from({ length: 10 }, (_, i) => world.served.get(101 + i))
    }
    expect(rowsServed(1)).toEqual(rowsServed(0))
    expect(rowsServed(0)).toEqual(Array(10).fill(40))
  })

  test('keep slots for healthy webhooks when many hang, and leave saturated ones out of the query', () => {
    const world = new World()
    for (let id = 1; id <= 40; id++) world.add(id, 1000)
    for (let i = 0; i < 20; i++) world.claim()
    expect(busyOf(world.slots)).toBeLessThan(128)
    expect(saturated(world.slots)!.webhookIds.sort((a, b) => a - b)).toEqual(
      Array.from({ length: 40 }, (_, i) => i + 1),
    )
    world.add(99, 50)
    for (let i = 0; i < 50; i++) {
      world.claim()
      expect(world.slots.inFlight.has(99)).toBe(true)
      world.finishAllBut((id) => id <= 40)
    }
    expect(world.served.get(99)).toBe(50)
  })

  test('remain for other accounts, and for other webhooks of their account, when hundreds of receivers hang', () => {
    const [hanging, own, foreign] = [200, 5000, 9000]
    const world = new World((id) => (id === foreign ? 'b' : 'a'))
    for (let id = 1; id <= hanging; id++) world.add(id, 1000)
    world.claim()
    world.add(foreign, 10_000)
    world.add(own, 10_000)
    const served = (id: number): number => world.served.get(id) ?? 0
    for (let seconds = 0; seconds < 105; seconds++) {
      world.allAreSlow()
      const before = served(foreign)
      // Each exchange with these takes a second and more; with the others it is over at once.
      for (let quick = 0; quick < 5; quick++) {
        world.claim()
        for (const id of [own, foreign]) while (world.slots.inFlight.has(id)) world.finish(id)
        world.wereQuick([own, foreign])
      }
      expect(served(foreign) - before).toBeGreaterThanOrEqual(5)
      if (seconds % 15 === 14) world.finishAllBut(() => false)
    }
    // From the time on when all that hang have been tried.
    expect(slowOnes(world.slots)).toHaveLength(hanging)
    const before = served(own)
    for (let round = 0; round < 3; round++) world.claim()
    expect(served(own) - before).toBe(4)
    expect([...world.slots.inFlight.values()].reduce((all, count) => all + count, 0)).toBeLessThan(128)
  })

  test('are shared by slow webhooks like by others, until one of their exchanges is quick', () => {
    let slots = claim(emptySlots(), due({ 1: 1 })).slots
    slots = paced(slots, 1, 'slow')
    expect(slowOnes(slots)).toEqual([1])
    slots = paced(finish(slots, 1), 1, 'quick')
    expect([slowOnes(slots), slots.owners.size]).toEqual([[], 0])
  })

  test('of an account are not all taken by a receiver that was quick and begins to hang', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 4 }), (hanging, each) => {
        const world = new World(undefined, (id) => (id <= hanging ? 'hangs' : 'answers'))
        const ids = Array.from({ length: hanging }, (_, at) => at + 1)
        world.wereQuick(ids)
        for (const id of ids) world.add(id, each)
        for (let round = 0; round < 5; round++) world.claim()
        expect(busyOf(world.slots)).toBeLessThanOrEqual(48)
        // It has not had an exchange yet, and gets what it would have alone.
        world.add(1000, 9)
        world.claim()
        expect(world.served.get(1000)).toBe(4)
      }),
    )
  })

  test('of an account are not all taken by receivers that never answered: one that was quick is sent to at once', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 300 }), (hanging, receivers) => {
        const world = new World(undefined, (id) => (id <= hanging ? String(id % receivers) : 'answers'))
        world.wereQuick([1000])
        for (let id = 1; id <= hanging; id++) world.add(id, 4)
        for (let round = 0; round < 5; round++) world.claim()
        expect(busyOf(world.slots)).toBeLessThanOrEqual(72)
        for (let seconds = 0; seconds < 15; seconds++) {
          world.add(1000, 1)
          world.claimAll()
          expect(world.slots.inFlight.get(1000)).toBe(1)
          world.finish(1000)
          world.allAreSlow()
        }
      }),
    )
  })

  test('of an account are shared by four that take long, so that new webhooks that all hang soon leave one to another new one', () => {
    const world = new World()
    for (let id = 1; id <= 200; id++) world.add(id, 4)
    world.add(1000, 1)
    for (let seconds = 0; seconds < 5; seconds++) {
      world.claimAll()
      expect(busyOf(world.slots)).toBeLessThanOrEqual(4 * 96)
      world.allAreSlow()
    }
    expect(world.served.get(1000)).toBe(1)
  })

  test('are none where the last one is in use, and none for a quarter of one', () => {
    const { slots } = claim(emptySlots({ perWebhook: 1, total: 1 }), due({ 1: 9 }))
    expect([saturated(slots), claim(slots, due({ 2: 9 })).claims]).toEqual([null, []])
    const slow = paced(slots, 1, 'slow')
    expect([saturated(slow), claim(slow, due({ 2: 9 })).claims]).toEqual([null, []])
  })

  test('are 128, of which an account leaves a quarter to others, and half of what is left to its webhooks without any', () => {
    const rows = (webhooks: number, each: number, accountOf: (id: number) => string): Due[] =>
      Array.from({ length: webhooks }, (_, at) => dueTo(at + 1, { accountId: accountOf(at + 1), rows: each }))
    const quick = new Map(Array.from({ length: 200 }, (_, at) => [at + 1, 'quick' as const]))
    const busyWith = (all: Due[], paces: DeliverySlots['paces'] = quick) =>
      busyOf(claim({ ...emptySlots(), paces }, all).slots)
    expect(busyWith(rows(200, 1, String))).toBe(128)
    expect(busyWith(rows(200, 1, () => 'a'))).toBe(96)
    expect(busyWith(rows(20, 9, () => 'a'))).toBe(64)
    // Of those of an account, webhooks that have not been quick leave a quarter to others, and one receiver half.
    expect(
      busyWith(
        rows(200, 1, () => 'a'),
        new Map(),
      ),
    ).toBe(72)
    expect(busyWith(rows(200, 1, () => 'a').map((one) => ({ ...one, receiver: 'one' })))).toBe(48)
    // The more it has, the more must be free: of five slots it leaves four.
    expect(claim(emptySlots({ perWebhook: 4, total: 5 }), due({ 1: 9 })).claims).toEqual([{ webhookId: 1, take: 1 }])
  })

  test('go to slow webhooks of one account up to a quarter, however many they are', () => {
    const all = Array.from({ length: 200 }, (_, at) => at + 1)
    const slow = { ...emptySlots(), paces: new Map(all.map((id) => [id, 'slow' as const])) }
    const rows = all.map((webhookId) => dueTo(webhookId, {}))
    const { slots } = claim(slow, rows)
    expect(busyOf(slots)).toBe(31)
    expect(saturated(slots)?.webhookIds).toHaveLength(31)
    // Beside them the others have what they would have.
    expect(claim(slots, due({ 201: 9 })).claims).toEqual([{ webhookId: 201, take: 4 }])
  })

  test('go to webhooks that failed the last time as to slow ones, until an exchange of this process was quick', () => {
    const failing = Array.from({ length: 200 }, (_, at) => dueTo(at + 1, { isFailing: true }))
    const { slots } = claim(emptySlots(), failing)
    expect(busyOf(slots)).toBe(31)
    // A new one is sent to at once.
    expect(claim(slots, [...failing, dueTo(201, { rows: 9 })]).claims).toEqual([{ webhookId: 201, take: 4 }])
    const quick = paced(finish(slots, 1), 1, 'quick')
    expect(claim(quick, [dueTo(1, { isFailing: true, rows: 9 })]).claims).toEqual([{ webhookId: 1, take: 4 }])
  })

  test('forget the pace that has been the same for longest, of more webhooks than two accounts can have', () => {
    const most = Array.from({ length: 2000 }, (_, at) => at + 1)
    const full: DeliverySlots = { ...emptySlots(), paces: new Map(most.slice(1).map((id) => [id, 'slow'])) }
    expect(paced(full, 2000, 'slow')).toBe(full)
    const two = paced(paced(full, 2001, 'quick'), 2, 'quick')
    expect([two.paces.size, two.paces.get(2)]).toEqual([2000, 'quick'])
    const three = paced(two, 2002, 'slow')
    expect([three.paces.size, three.paces.has(2), three.paces.has(3), three.paces.get(2002)]).toEqual([
      2000,
      true,
      false,
      'slow',
    ])
  })

  test('throw when a delivery ends that never started', () => {
    expect(() => finish(emptySlots(), 1)).toThrow('nothing was in progress')
  })
})
