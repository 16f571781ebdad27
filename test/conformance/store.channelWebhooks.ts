import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { ChannelWebhook, NewDelivery } from '../../src/store/store.ts'
import type { Stores } from './store.ts'

const id = (prefix: string) => `${prefix}_${randomBytes(11).toString('hex')}`
const AT = 1_750_000_000_000
const account = () => randomBytes(3).toString('hex')
const NONE = { accountIds: [], webhookIds: [] }

const newWebhook = (accountId: string, over: Partial<ChannelWebhook> = {}): Omit<ChannelWebhook, 'slot'> => ({
  id: id('wh'),
  accountId,
  name: 'Hook',
  description: null,
  url: 'https://x.example/',
  events: ['*'],
  active: true,
  secretSealed: new Uint8Array([1]),
  failuresInRow: 0,
  disabled: null,
  createdAtMs: AT,
  updatedAtMs: AT,
  ...over,
})

/** Tests the contract of every store for webhooks of channels and their events. */
export function channelWebhooksSuite(stores: Stores): void {
  describe('webhooks of channels', () => {
    test('are separate from those of the token interface', async () => {
      const accountId = account()
      const one = newWebhook(accountId, { description: 'x' })
      await stores.store.transaction(async (tx) => {
        await tx.channelWebhooks.insert(one)
        await tx.channelWebhooks.insert(newWebhook(accountId, { active: false, createdAtMs: AT - 1 }))
      })
      const found = await stores.other.read.channelWebhooks.get(accountId, one.id)
      expect(found).toEqual({ ...one, slot: expect.any(Number) })
      expect(await stores.other.read.webhooks.forAccount(accountId)).toEqual([])
      const page = await stores.other.read.channelWebhooks.page({ accountId, limit: 1 })
      const rest = await stores.other.read.channelWebhooks.page({
        accountId,
        limit: 5,
        after: { atMs: AT, id: one.id },
      })
      expect([page.map(({ id }) => id), rest.length]).toEqual([[one.id], 1])
      await stores.store.transaction(async (tx) => {
        expect((await tx.channelWebhooks.active(accountId)).map(({ id }) => id)).toEqual([one.id])
        expect(await tx.channelWebhooks.count(accountId)).toBe(2)
        if (found) await tx.channelWebhooks.replace({ ...found, active: false, events: ['channel.created'] })
      })
      expect(await stores.other.read.channelWebhooks.get(accountId, one.id)).toMatchObject({ active: false })
    })

    test('a failed attempt is followed by another, which waits until it is due; not so in the token interface', async () => {
      const accountId = account()
      const { slot, row } = await withDelivery(stores, accountId)
      const { attempt: _never, ...plain } = row('plain')
      const counted = row('channel')
      const retry = { id: `${counted.id}2`, atMs: AT, notBeforeMs: AT + 5000 }
      await stores.store.transaction(async (tx) => {
        await tx.deliveries.insert([counted, plain])
        const bytes = { body: new TextEncoder().encode('{}'), contentType: 'application/json', headers: {} }
        const ids = [counted.id, plain.id]
        await tx.deliveries.start(
          'node 2',
          AT,
          ids.map((one) => ({ id: one, payload: bytes })),
        )
        const failed = {
          state: 'failed',
          endedAtMs: AT,
          statusCode: 500,
          durationMs: 1,
          answer: '',
          error: { message: 'no' },
        } as const
        await tx.deliveries.finish(
          'node 2',
          ids.map((one) => ({ id: one, ...failed })),
        )
        expect(await tx.deliveries.retry({ of: counted.id, ...retry })).toBe(true)
        expect(await tx.deliveries.retry({ of: plain.id, ...retry, id: 'never' })).toBe(false)
      })
      const due = async () =>
        (await stores.other.read.deliveries.due({ after: slot - 1, without: NONE, upTo: 9, limit: 1 }))[0]
      expect([await due(), await stores.other.read.deliveries.isRetryDue(AT + 4999)]).toEqual([undefined, false])
      expect(await stores.other.read.deliveries.isRetryDue(AT + 5000)).toBe(true)
      const [before] = [await stores.other.read.deliveries.queue(99)]
      expect(before.waiting).toBeGreaterThan(0)
      expect(await stores.other.read.deliveries.queue(1)).toMatchObject({ waiting: 1 })
      // The clock was put back, so that it would wait for longer than its own pause. Clocks of nodes differ by up to a minute.
      expect(await stores.other.read.deliveries.isRetryDue(AT - 60_000)).toBe(false)
      expect(await stores.store.transaction((tx) => tx.deliveries.release(AT - 60_000, 10))).toBe(0)
      expect(await stores.other.read.deliveries.isRetryDue(AT - 60_001)).toBe(true)
      expect(await stores.store.transaction((tx) => tx.deliveries.release(AT - 60_001, 10))).toBe(1)
      expect(await due()).toMatchObject({ webhookId: slot, rows: 1 })
      const released = { pending: before.pending + 1, waiting: before.waiting - 1 }
      expect(await stores.other.read.deliveries.queue(99)).toEqual(released)
      const [claimed] = await stores.store.transaction((tx) =>
        tx.deliveries.claim({ webhookId: slot, take: 1, cap: 4 }),
      )
      expect(claimed).toMatchObject({ id: retry.id, attempt: 2, payload: { contentType: 'application/json' } })
      const log = await stores.other.read.channelWebhooks.log({ slot, limit: 10, fromMs: AT, untilMs: AT + 1 })
      expect(log.map(({ id: one, attempt }) => [one, attempt])).toContainEqual([counted.id, 1])
      expect(await stores.store.transaction((tx) => tx.deliveries.giveUp(slot, { message: 'off' }, AT))).toBe(1)
      expect(await due()).toBeUndefined()
    })

    test('pending deliveries of a paused one wait, except the probe and those that a user requested, until it resumes', async () => {
      const { slot, row } = await withDelivery(stores, account())
      const [first, second, third] = [row('a'), row('b'), row('c')]
      const { attempt: _never, ...byHand } = row('by hand')
      const write = stores.store.transaction.bind(stores.store)
      await write((tx) => tx.deliveries.insert([first, second, third, byHand]))
      const stateOf = async (one: NewDelivery) => (await stores.other.read.deliveries.get(one.id))?.state
      const states = () => Promise.all([first, second, third, byHand].map(stateOf))
      const hold = { webhookId: slot, untilMs: AT + 1000, except: second.id, limit: 1 }
      expect(await write((tx) => tx.deliveries.hold(hold))).toBe(1)
      expect(await write((tx) => tx.deliveries.hold({ ...hold, limit: 9 }))).toBe(1)
      expect(await states()).toEqual(['waiting', 'pending', 'waiting', 'pending'])
      const skip = { webhookId: slot, reason: { message: 'off' }, atMs: AT, limit: 9, includesRequested: false }
      expect(await write((tx) => tx.deliveries.skip(skip))).toBe(1)
      expect(await states()).toEqual(['waiting', 'skipped', 'waiting', 'pending'])
      expect(await write((tx) => tx.deliveries.resume(slot, AT + 999, AT))).toBe(0)
      expect(await write((tx) => tx.deliveries.resume(slot, AT + 1000, AT))).toBe(2)
      await write((tx) => tx.deliveries.release(AT, 100))
      expect(await states()).toEqual(['pending', 'skipped', 'pending', 'pending'])
      await write((tx) => tx.deliveries.giveUp(slot, { message: 'off' }, AT))
    })

    test('those of a paused one wait for the end of the pause when the clock is put back, and never longer than any pause', async () => {
      const { slot, row } = await withDelivery(stores, account())
      const [one, untilMs] = [row('a'), AT + 3_600_000]
      const write = stores.store.transaction.bind(stores.store)
      await write(async (tx) => {
        await tx.webhooks.setHealth(slot, { failuresInRow: 0, disabled: { untilMs, reason: [] } })
        await tx.deliveries.insert([one])
        await tx.deliveries.hold({ webhookId: slot, untilMs, except: null, limit: 1 })
      })
      // It was made at AT. The pause lasts an hour at most.
      expect(await write((tx) => tx.deliveries.release(AT - 60_000, 100))).toBe(0)
      expect(await stores.other.read.deliveries.isRetryDue(AT - 60_000)).toBe(false)
      expect(await stores.other.read.deliveries.isRetryDue(AT - 60_001)).toBe(true)
      expect(await write((tx) => tx.deliveries.release(AT - 60_001, 100))).toBe(1)
      // It is held again as long as its pause is one.
      const later = AT + 1_800_000
      await write(async (tx) => {
        await tx.webhooks.setHealth(slot, { failuresInRow: 0, disabled: { untilMs: later, reason: [] } })
        await tx.deliveries.hold({ webhookId: slot, untilMs: later, except: null, limit: 1 })
      })
      expect(await stores.other.read.deliveries.isRetryDue(AT - 1_800_000)).toBe(false)
      expect(await write((tx) => tx.deliveries.release(AT - 1_800_000, 100))).toBe(0)
      await write((tx) => tx.deliveries.giveUp(slot, { message: 'off' }, AT))
    })

    test('the probe of a paused one is a pending delivery, the oldest waiting one, or the last one that it missed', async () => {
      const { slot, row } = await withDelivery(stores, account())
      const write = stores.store.transaction.bind(stores.store)
      const offer = (one: string) => write((tx) => tx.deliveries.offerProbe({ webhookId: slot, id: one, atMs: AT }))
      const [old, young] = [row('old'), row('young')].toSorted((a, b) => (a.id < b.id ? -1 : 1)) as NewDelivery[]
      const pending = async () => {
        const claimed = await write((tx) => tx.deliveries.claim({ webhookId: slot, take: 4, cap: 4 }))
        return claimed.map(({ id: one, attempt }) => [one, attempt])
      }
      await offer('nothing to probe with')
      expect(await pending()).toEqual([])
      const hold = { webhookId: slot, untilMs: AT + 1000, except: null, limit: 9 }
      await write(async (tx) => {
        await tx.deliveries.insert([old as NewDelivery, young as NewDelivery])
        await tx.deliveries.hold(hold)
      })
      await offer('not needed')
      expect(await pending()).toEqual([[old?.id, 1]])
      await offer('not needed')
      expect(await pending()).toEqual([[old?.id, 1]])
      await write((tx) => tx.deliveries.giveUp(slot, { message: 'off' }, AT))
      const copy = `${young?.id}9`
      await offer(copy)
      await write((tx) => tx.deliveries.release(AT, 100))
      // It was skipped, so this is its first attempt.
      expect(await pending()).toEqual([[copy, 1]])
      await write((tx) => tx.deliveries.giveUp(slot, { message: 'off' }, AT))
    })

    test('active, paused ones are probed when the last probe is long ago', async () => {
      const accountId = account()
      const disabled = { untilMs: AT + 100_000, reason: [{ code: 'text', values: { text: 'x' } }] }
      const slots: number[] = []
      for (const over of [{ disabled }, { disabled, active: false }, { disabled: null }, { disabled }]) {
        const webhook = newWebhook(accountId, over)
        await stores.store.transaction((tx) => tx.channelWebhooks.insert(webhook))
        slots.push((await stores.store.read.channelWebhooks.get(accountId, webhook.id))?.slot ?? 0)
      }
      const due = async (nowMs: number) => {
        const all = await stores.other.read.channelWebhooks.probesDue({ nowMs, limit: 1000 })
        return slots.flatMap((slot, at) => (all.includes(slot) ? [at] : []))
      }
      expect(await due(AT)).toEqual([0, 3])
      await stores.store.transaction((tx) => tx.webhooks.setProbed(slots[0] ?? 0, AT))
      expect(await due(AT + 59_999)).toEqual([3])
      expect(await due(AT + 60_000)).toEqual([0, 3])
      expect(await due(AT + 100_000)).toEqual([])
      // The clock was put back by a minute, and by more than any pause lasts.
      expect(await due(AT - 60_000)).toEqual([0, 3])
      expect(await due(AT - 3_600_000)).toEqual([])
      await stores.store.transaction(async (tx) => {
        const [locked] = await tx.webhooks.lockAll([slots[0] ?? 0])
        expect(locked).toMatchObject({ active: true, probedAtMs: AT, disabled })
      })
    })

    test('their events are stored, listed in both directions, and pruned', async () => {
      const accountId = account()
      const event = (atMs: number, type = 'channel.created') => ({ id: id('e'), accountId, atMs, type, data: '{}' })
      const events = [event(AT), event(AT + 2, 'channel.deleted'), event(AT + 1)]
      await stores.store.transaction((tx) => tx.channelEvents.insert(events))
      const page = async (over: object) => {
        const query = { accountId, descending: true, limit: 9, ...over }
        return (await stores.other.read.channelEvents.page(query)).map((one) =>
          events.findIndex((e) => e.id === one.id),
        )
      }
      expect(await page({})).toEqual([1, 2, 0])
      expect(await page({ descending: false, limit: 2 })).toEqual([0, 2])
      expect(await page({ types: ['channel.deleted'] })).toEqual([1])
      expect(await page({ fromMs: AT + 1, untilMs: AT + 2 })).toEqual([2])
      expect(await page({ after: { atMs: AT + 1, id: events[2]?.id } })).toEqual([0])
      expect(await page({ accountId: 'nobody' })).toEqual([])
      expect(await stores.store.transaction((tx) => tx.channelEvents.prune(AT + 1, 100))).toBeGreaterThan(0)
      expect(await page({})).toEqual([1, 2])
    })

    test('an attempt that a dead node had started is retried', async () => {
      const { slot, row } = await withDelivery(stores, account())
      const one = row('lost')
      await stores.store.transaction(async (tx) => {
        await tx.deliveries.insert([one])
        const payload = { body: new Uint8Array([1]), contentType: 'x/y', headers: {} }
        await tx.deliveries.start(`dead ${one.id}`, AT, [{ id: one.id, payload }])
        const retryId = () => `${one.id}9`
        await tx.deliveries.expire({ nowMs: AT, startedBeforeMs: 0, reason: { message: 'dead' }, limit: 100, retryId })
        await tx.deliveries.release(AT + 5000, 100)
      })
      const [again] = await stores.store.transaction((tx) => tx.deliveries.claim({ webhookId: slot, take: 1, cap: 4 }))
      expect(again).toMatchObject({ id: `${one.id}9`, attempt: 2 })
      await stores.store.transaction((tx) => tx.deliveries.giveUp(slot, { message: 'off' }, AT))
    })
  })
}

async function withDelivery({ store }: Stores, accountId: string) {
  const webhook = newWebhook(accountId)
  await store.transaction((tx) => tx.channelWebhooks.insert(webhook))
  const slot = (await store.read.channelWebhooks.get(accountId, webhook.id))?.slot ?? 0
  const row = (event: string): NewDelivery & { attempt: 1 } => ({
    id: randomBytes(10).toString('hex'),
    eventId: id('e'),
    webhookId: slot,
    accountId,
    type: 'channel',
    event,
    subject: null,
    createdAtMs: AT,
    error: null,
    state: 'pending',
    data: '{}',
    attempt: 1,
  })
  return { slot, row }
}
