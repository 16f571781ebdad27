import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addressKey, parseAddress } from '../../../src/core/access/address.ts'
import { type SessionSlot, type SlotRequest, SessionSlots } from '../../../src/core/sessions/slots.ts'

const LIMITS = {
  max: 20,
  publisherShare: 0.1,
  tokenShare: 0.9,
  maxViewersPerAddress: 0,
  maxPublishersPerAddress: 0,
  maxConnectingPerAddress: 0,
}

const viewer = (over: Partial<SlotRequest> = {}): SlotRequest => ({
  action: 'view',
  addressKey: '192.0.2.1',
  holder: { tokenId: 1 },
  connects: false,
  ...over,
})
const publisher = (over: Partial<SlotRequest> = {}) => viewer({ action: 'publish', holder: { tokenId: 2 }, ...over })

/** Takes slots until one is refused: how many, and why. */
function fill(slots: SessionSlots, request: (at: number) => SlotRequest) {
  for (let taken = 0; ; taken += 1) {
    const why = slots.refusal(request(taken))
    if (why !== null) return [taken, why]
    slots.take(request(taken))
  }
}

describe('a slot', () => {
  test('of the share of publishers is closed to viewers, and publishers may take all free slots', () => {
    const slots = new SessionSlots(LIMITS)
    expect(fill(slots, (at) => viewer({ holder: { tokenId: at } }))).toEqual([18, 'too_many_sessions'])
    expect(fill(slots, (at) => publisher({ holder: { tokenId: at } }))).toEqual([2, 'too_many_sessions'])
    expect(fill(new SessionSlots(LIMITS), (at) => publisher({ holder: { tokenId: at } }))[0]).toBe(20)
  })

  test('is limited per address, separately for viewers and publishers', () => {
    const slots = new SessionSlots({ ...LIMITS, maxViewersPerAddress: 3, maxPublishersPerAddress: 2 })
    expect(fill(slots, () => viewer())).toEqual([3, 'too_many_from_address'])
    expect(fill(slots, () => publisher())).toEqual([2, 'too_many_from_address'])
    expect(slots.refusal(viewer({ addressKey: '192.0.2.2' }))).toBeNull()
    const single = new SessionSlots({ ...LIMITS, maxViewersPerAddress: 1 })
    expect(fill(single, () => viewer())).toEqual([1, 'too_many_from_address'])
  })

  test('is limited for a network of IPv6 too, halfway to all slots, and freed there', () => {
    const slots = new SessionSlots({ ...LIMITS, maxViewersPerAddress: 4, maxConnectingPerAddress: 2 })
    const from = (at: number) => viewer({ addressKey: `2001:db8:1:${at}::/64`, holder: { tokenId: at } })
    // 18 slots are for viewers.
    expect(fill(slots, from)).toEqual([11, 'too_many_from_address'])
    expect(slots.refusal(viewer({ addressKey: '2001:db8:2:1::/64' }))).toBeNull()
    const connecting = new SessionSlots({ ...LIMITS, maxConnectingPerAddress: 2 })
    expect(fill(connecting, (at) => ({ ...from(at), connects: true }))).toEqual([10, 'too_many_connecting'])
    const single = new SessionSlots({ ...LIMITS, maxViewersPerAddress: 18 })
    const taken = Array.from({ length: 18 }, (_, at) => single.take(from(at)))
    for (const slot of taken) slot.release()
    expect(fill(single, from)).toEqual([18, 'too_many_sessions'])
  })

  test('of a proxy that does not name its client is not counted by its address', () => {
    const slots = new SessionSlots({ ...LIMITS, maxViewersPerAddress: 3, maxConnectingPerAddress: 2 })
    const proxied = viewer({ addressKey: null, connects: true, holder: null })
    expect(fill(slots, () => proxied)).toEqual([18, 'too_many_sessions'])
  })

  test('is limited to a share per token, and per account for viewers without a token', () => {
    const slots = new SessionSlots(LIMITS)
    expect(fill(slots, () => viewer())).toEqual([17, 'too_many_with_token'])
    expect(slots.refusal(viewer({ holder: { tokenId: 9 } }))).toBeNull()
    // Before the token is known, its limit is not checked.
    expect(slots.refusal(viewer({ holder: null }))).toBeNull()
    const open = new SessionSlots(LIMITS)
    expect(fill(open, () => viewer({ holder: { accountId: 'a' } }))).toEqual([17, 'too_many_without_token'])
    expect(open.refusal(viewer({ holder: { accountId: 'b' } }))).toBeNull()
    // That of publishers is of all slots, and no share is less than one.
    expect(fill(new SessionSlots(LIMITS), () => publisher())).toEqual([18, 'too_many_with_token'])
    expect(fill(new SessionSlots({ ...LIMITS, tokenShare: 0 }), () => viewer())).toEqual([1, 'too_many_with_token'])
  })

  test('that is released is free for one other, and the node is full for viewers only without one', () => {
    const slots = new SessionSlots(LIMITS)
    const taken = Array.from({ length: 17 }, (_, at) => slots.take(viewer({ holder: { tokenId: at } })))
    expect([slots.isFullForViewers(), slots.isFullForViewers(1)]).toEqual([false, true])
    slots.take(viewer({ holder: null }))
    expect(slots.isFullForViewers()).toBe(true)
    for (const slot of taken.splice(0, 2)) slot.release()
    expect(fill(slots, (at) => viewer({ holder: { tokenId: 100 + at } }))).toEqual([2, 'too_many_sessions'])
  })

  test('without a media connection is limited per address, until it is connected', () => {
    const slots = new SessionSlots({ ...LIMITS, maxConnectingPerAddress: 2 })
    const [first] = [slots.take(viewer({ connects: true })), slots.take(viewer({ connects: true }))]
    expect(slots.refusal(viewer({ connects: true }))).toBe('too_many_connecting')
    expect(slots.refusal(viewer())).toBeNull()
    expect(slots.refusal(publisher({ connects: true }))).toBeNull()
    first.connected()
    first.connected()
    expect(slots.refusal(viewer({ connects: true }))).toBeNull()
    slots.take(viewer({ connects: true }))
    expect(slots.refusal(viewer({ connects: true }))).toBe('too_many_connecting')
  })

  test('counts until its end is recorded', () => {
    const slots = new SessionSlots(LIMITS)
    expect(slots.refusal(viewer(), 17)).toBeNull()
    expect(slots.refusal(viewer(), 18)).toBe('too_many_sessions')
    expect(slots.refusal(publisher(), 18)).toBeNull()
    expect(slots.refusal(publisher(), 20)).toBe('too_many_sessions')
  })

  test('exists on a node of one session, whatever the shares', () => {
    for (const tokenShare of [0, 0.9, 1]) {
      const slots = new SessionSlots({ ...LIMITS, max: 1, tokenShare })
      expect(slots.refusal(viewer())).toBeNull()
      slots.take(viewer())
      expect(slots.refusal(publisher())).toBe('too_many_sessions')
    }
  })

  test('is released exactly once, in any order: the counts match the slots in use, and end at zero', () => {
    const request = fc.record({
      action: fc.constantFrom('view' as const, 'publish' as const),
      addressKey: fc.constantFrom('a', 'b'),
      holder: fc.constantFrom({ tokenId: 1 }, { tokenId: 2 }, { accountId: 'x' }, null),
      connects: fc.boolean(),
    })
    const step = fc.record({ kind: fc.constantFrom('take', 'take', 'connected', 'release'), request, at: fc.nat(40) })
    const limits = { ...LIMITS, max: 10, tokenShare: 0.4, maxViewersPerAddress: 4, maxConnectingPerAddress: 2 }
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
        const slots = new SessionSlots(limits)
        let held: Held[] = []
        for (const { kind, request: one, at } of steps) {
          const chosen = held[at % (held.length || 1)]
          if (kind === 'take' && slots.refusal(one) === null) held.push({ ...one, slot: slots.take(one) })
          if (kind !== 'take') chosen?.slot[kind]()
          if (kind === 'connected' && chosen) chosen.connects = false
          if (kind === 'release') held = held.filter((other) => other !== chosen)
          expect(slots.refusal(one)).toBe(recounted(held, one, limits))
          // A repeated release counts once.
          if (kind !== 'take') chosen?.slot[kind]()
        }
        for (const { slot } of held) slot.release()
        expect(fill(slots, () => viewer())).toEqual(fill(new SessionSlots(limits), () => viewer()))
      }),
    )
  })
})

type Held = { -readonly [K in keyof SlotRequest]: SlotRequest[K] } & { slot: SessionSlot }

/** The same limits, computed from all slots in use instead of counts. */
function recounted(held: readonly Held[], request: SlotRequest, limits: typeof LIMITS): string | null {
  const alike = held.filter(({ action }) => action === request.action)
  const near = alike.filter(({ addressKey: key }) => key === request.addressKey)
  const slots = request.action === 'view' ? limits.max * (1 - limits.publisherShare) : limits.max
  if (held.length >= limits.max || alike.length >= slots) return 'too_many_sessions'
  if (request.action === 'view' && near.length >= limits.maxViewersPerAddress) return 'too_many_from_address'
  const connecting = near.filter(({ connects }) => connects).length
  if (request.connects && connecting >= limits.maxConnectingPerAddress) return 'too_many_connecting'
  const holder = JSON.stringify(request.holder)
  const same = alike.filter((one) => JSON.stringify(one.holder) === holder)
  if (request.holder === null || same.length < Math.ceil(slots * limits.tokenShare)) return null
  return 'tokenId' in request.holder ? 'too_many_with_token' : 'too_many_without_token'
}

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8::/64'],
  ['::', '::/64'],
])('%s is counted as %s', (text, key) => {
  const address = parseAddress(text)
  expect(address && addressKey(address)).toBe(key)
})
