import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { coded, say } from '../../src/core/notices.ts'
import type { DeliveryEnd, NewDelivery, Payload, StoredWebhook, Tx } from '../../src/store/store.ts'
import { newAccount, newWebhook } from './store.samples.ts'
import type { Stores } from './store.ts'

const T0 = 1_750_000_000_000
const PAYLOAD: Payload = {
  body: new Uint8Array([123, 0, 255, 125]),
  contentType: 'image/jpeg',
  headers: { 'x-a': 'b' },
}

let lastRow = 0

function newRow(over: Partial<NewDelivery>): NewDelivery {
  return {
    id: `${String((lastRow += 1)).padStart(10, '0')}${randomBytes(6).toString('hex')}`,
    eventId: randomBytes(11).toString('hex'),
    webhookId: 0,
    accountId: 'nobody',
    type: 'feeds',
    event: 'started',
    subject: 'stage',
    data: '{"name":"stage"}',
    state: 'pending',
    createdAtMs: T0,
    error: null,
    ...over,
  }
}

const ended = (id: string, over: Partial<DeliveryEnd> = {}): DeliveryEnd => ({
  id,
  state: 'delivered',
  endedAtMs: T0 + 9,
  statusCode: 200,
  durationMs: 7,
  answer: 'thanks',
  error: null,
  ...over,
})

const PAUSED = say(coded('delivery_webhook_inactive'))

export function webhooksSuite(stores: Stores): void {
  const write = <T>(work: (tx: Tx) => Promise<T>) => stores.store.transaction(work)
  const make = (over: Partial<StoredWebhook> = {}) => write((tx) => tx.webhooks.insert(newWebhook(over)))
  const insert = (rows: NewDelivery[]) => write((tx) => tx.deliveries.insert(rows))
  const rowsFor = (webhook: StoredWebhook, count: number, over: Partial<NewDelivery> = {}) =>
    Array.from({ length: count }, () => newRow({ webhookId: webhook.id, accountId: webhook.accountId, ...over }))
  const claim = (webhookId: number, take: number, cap = 4) =>
    write((tx) => tx.deliveries.claim({ webhookId, take, cap }))
  const start = (node: string, ids: string[], atMs = T0 + 2) =>
    write((tx) =>
      tx.deliveries.start(
        node,
        atMs,
        ids.map((id) => ({ id, payload: PAYLOAD })),
      ),
    )
  const stateOf = async (id: string) => (await stores.other.read.deliveries.get(id))?.state

  describe('webhooks', () => {
    test('are read as they were written, and only by their account', async () => {
      const accountId = newAccount()
      const made = await make({
        accountId,
        filter: 'a.*',
        failuresInRow: 3,
        disabled: { untilMs: 5, reason: [{ code: 'text', values: { text: 'slow' } }] },
      })
      expect(await stores.other.read.webhooks.get(accountId, made.id)).toEqual(made)
      expect(await stores.other.read.webhooks.get('nobody', made.id)).toBeUndefined()
      const changed = { ...made, url: 'https://b.example', disabled: null, hooks: { ...made.hooks, recording: true } }
      await write(async (tx) => {
        expect(await tx.webhooks.lock('nobody', made.id)).toBeUndefined()
        expect(await tx.webhooks.lock(accountId, made.id)).toEqual(made)
        await tx.webhooks.replace(changed)
        await tx.webhooks.setHealth(made.id, {
          failuresInRow: 9,
          disabled: { untilMs: 7, reason: [{ code: 'text', values: { text: 'x' } }] },
        })
      })
      expect(await stores.other.read.webhooks.forAccount(accountId)).toEqual([
        { ...changed, failuresInRow: 9, disabled: { untilMs: 7, reason: [{ code: 'text', values: { text: 'x' } }] } },
      ])
    })

    test('are listed from an id on, in both directions', async () => {
      const accountId = newAccount()
      const ids: number[] = []
      for (let n = 0; n < 5; n += 1) ids.push((await make({ accountId })).id)
      const list = async (descending: boolean, startingId?: number) => {
        const query = { accountId, itemCount: 3, descending, ...(startingId === undefined ? {} : { startingId }) }
        return (await stores.store.read.webhooks.list(query)).map((webhook) => ids.indexOf(webhook.id))
      }
      expect(await list(false)).toEqual([0, 1, 2])
      expect(await list(true)).toEqual([4, 3, 2])
      expect(await list(false, ids[3])).toEqual([3, 4])
      expect(await list(true, ids[1])).toEqual([1, 0])
    })

    test('are deleted with their pending deliveries, and nothing else', async () => {
      const [gone, stays] = [await make(), await make()]
      const rows = [...rowsFor(gone, 2), ...rowsFor(stays, 1)]
      await insert(rows)
      await start('n', [rows[0]!.id])
      await write((tx) => tx.webhooks.delete(gone.id))
      expect(await Promise.all(rows.map((row) => stateOf(row.id)))).toEqual(['started', undefined, 'pending'])
      expect(await stores.store.read.webhooks.get('nobody', gone.id)).toBeUndefined()
    })
  })

  describe('deliveries', () => {
    test('change from pending to started to their end, and keep their bytes', async () => {
      const webhook = await make()
      const [row] = rowsFor(webhook, 1)
      await insert([row!])
      expect(await stores.store.read.deliveries.payload(row!.id)).toBeUndefined()
      const [claimed] = await claim(webhook.id, 4)
      expect(claimed).toMatchObject({ id: row!.id, data: row!.data, payload: null, state: 'pending' })
      await start('n1', [row!.id])
      expect(await stores.other.read.deliveries.payload(row!.id)).toEqual(PAYLOAD)
      await write((tx) => tx.deliveries.finish('n2', [ended(row!.id)]))
      expect(await stateOf(row!.id)).toBe('started')
      await write((tx) => tx.deliveries.finish('n1', [ended(row!.id)]))
      const { data: _, ...kept } = row!
      expect(await stores.other.read.deliveries.get(row!.id)).toEqual({
        ...kept,
        ...ended(row!.id),
        startedAtMs: T0 + 2,
        redeliveryOf: null,
      })
    })

    test('cannot be started twice', async () => {
      const webhook = await make()
      const [row] = rowsFor(webhook, 1)
      await insert([row!])
      await start('n1', [row!.id])
      await expect(start('n2', [row!.id])).rejects.toThrow('not been claimed')
    })

    test('are claimed oldest first, within the cap over all nodes', async () => {
      const webhook = await make()
      const ids = rowsFor(webhook, 6)
      await insert(ids)
      await start('n1', [ids[0]!.id])
      const claimed = await claim(webhook.id, 4)
      expect(claimed.map((one) => one.id)).toEqual(ids.slice(1, 4).map((row) => row.id))
      await start(
        'n2',
        claimed.map((one) => one.id),
      )
      expect(await claim(webhook.id, 4)).toEqual([])
    })

    test('that are due are counted by webhook, in order, without excluded ones', async () => {
      const webhooks = [await make(), await make(), await make(), await make()]
      const [a, b, c] = webhooks.map((webhook) => webhook.id) as [number, number, number, number]
      await insert(webhooks.slice(0, 3).flatMap((webhook, n) => rowsFor(webhook, 2 * n + 1)))
      const { accountId, url } = webhooks[0]!
      const due = (after: number, webhookIds: number[], limit = 10, accountIds: string[] = []) =>
        stores.other.read.deliveries.due({ after, without: { accountIds, webhookIds }, upTo: 4, limit })
      expect(await due(a - 1, [])).toEqual([
        { webhookId: a, accountId, url, failuresInRow: 0, rows: 1 },
        { webhookId: b, accountId, url, failuresInRow: 0, rows: 3 },
        { webhookId: c, accountId, url, failuresInRow: 0, rows: 4 },
      ])
      expect(await due(a, [b])).toEqual([{ webhookId: c, accountId, url, failuresInRow: 0, rows: 4 }])
      expect(await due(a - 1, [], 1)).toEqual([{ webhookId: a, accountId, url, failuresInRow: 0, rows: 1 }])
      expect(await due(c, [])).toEqual([])
      expect(await due(a - 1, [], 10, [accountId])).toEqual([])
      expect(await due(a - 1, [], 10, ['another'])).toHaveLength(3)
    })

    test('are paged newest first', async () => {
      const webhook = await make()
      const ids = rowsFor(webhook, 5)
      await insert(ids)
      const page = async (after?: string) =>
        (await stores.store.read.deliveries.page({ webhookId: webhook.id, limit: 3, ...(after ? { after } : {}) })).map(
          (one) => ids.findIndex((row) => row.id === one.id),
        )
      expect(await page()).toEqual([4, 3, 2])
      expect(await page(ids[2]!.id)).toEqual([1, 0])
    })

    test('that are redelivered have the same event with the same bytes', async () => {
      const webhook = await make()
      const [row, unsent] = rowsFor(webhook, 2)
      await insert([row!, { ...unsent!, state: 'skipped', error: PAUSED }])
      await start('n1', [row!.id])
      const again = newRow({}).id
      const second = newRow({}).id
      const made = await write((tx) => tx.deliveries.redeliver({ of: row!.id, id: again, atMs: T0 + 50 }))
      expect(made).toMatchObject({ id: again, eventId: row!.eventId, redeliveryOf: row!.id, state: 'pending' })
      await write((tx) => tx.deliveries.redeliver({ of: unsent!.id, id: second, atMs: T0 + 50 }))
      const claimed = await claim(webhook.id, 4)
      expect(claimed.map((one) => [one.id, one.payload, one.data])).toEqual([
        [again, PAYLOAD, ''],
        [second, null, unsent!.data],
      ])
      expect(await write((tx) => tx.deliveries.redeliver({ of: 'none', id: 'x', atMs: T0 }))).toBeUndefined()
    })

    test('are skipped in bulk, except those that a user requested', async () => {
      const webhook = await make()
      const rows = rowsFor(webhook, 3)
      await insert(rows)
      await write((tx) => tx.deliveries.redeliver({ of: rows[0]!.id, id: newRow({}).id, atMs: T0 }))
      const skip = (includesRequested: boolean) =>
        write((tx) =>
          tx.deliveries.skip({ webhookId: webhook.id, reason: PAUSED, atMs: T0 + 4, limit: 2, includesRequested }),
        )
      expect([await skip(false), await skip(false), await skip(false), await skip(true)]).toEqual([2, 1, 0, 1])
      const found = await stores.store.read.deliveries.get(rows[2]!.id)
      expect(found).toMatchObject({ state: 'skipped', error: PAUSED, endedAtMs: T0 + 4, startedAtMs: null })
    })

    test('of a dead node become unknown, those of a live one stay, and a late result is accepted', async () => {
      const webhook = await make()
      const rows = rowsFor(webhook, 3)
      await insert(rows)
      const [dead, alive, old] = rows.map((row) => row.id) as [string, string, string]
      await write((tx) => tx.deliveries.renew('alive', 60_000))
      await write((tx) => tx.deliveries.renew('dead', -1))
      await start('dead', [dead])
      await start('alive', [alive])
      await start('alive', [old], T0 - 500)
      // The clock of the calling node does not matter.
      const nowMs = 8_000_000_000_000
      const expire = () =>
        write((tx) =>
          tx.deliveries.expire({ nowMs, startedBeforeMs: T0 - 100, reason: { message: 'lost' }, limit: 10_000 }),
        )
      await expire()
      expect([await stateOf(dead), await stateOf(alive), await stateOf(old)]).toEqual(['unknown', 'started', 'unknown'])
      expect((await stores.store.read.deliveries.get(dead))?.error).toEqual({ message: 'lost' })
      await write((tx) => tx.deliveries.renew('alive', 60_000))
      await expire()
      expect(await stateOf(alive)).toBe('started')
      await write((tx) => tx.deliveries.leave('alive'))
      await expire()
      expect(await stateOf(alive)).toBe('unknown')
      const [last] = rowsFor(webhook, 1)
      await insert([last!])
      await start('alive', [last!.id])
      const results = [ended(alive), ended(last!.id, { state: 'failed' })]
      const finish = (node: string) => write((tx) => tx.deliveries.finish(node, results))
      expect([await finish('dead'), await finish('alive'), await finish('alive')]).toEqual([[], [last!.id], []])
      expect([await stateOf(alive), await stateOf(last!.id)]).toEqual(['delivered', 'failed'])
    })

    test('that were not sent are pending again, unless a newer one of the same event was made meanwhile', async () => {
      const webhook = await make()
      const rows = rowsFor(webhook, 5)
      await insert(rows)
      const ids = rows.map((row) => row.id)
      const [unsent, givenUp, again, sent, foreign] = ids as [string, string, string, string, string]
      await start('slow', [unsent, sent])
      await start('slow', [givenUp, again], T0 - 500)
      await start('other', [foreign])
      await write(async (tx) => {
        await tx.deliveries.renew('slow', 60_000)
        await tx.deliveries.renew('other', 60_000)
        await tx.deliveries.expire({ nowMs: T0, startedBeforeMs: T0 - 100, reason: { message: 'lost' }, limit: 10_000 })
        await tx.deliveries.finish('slow', [ended(sent)])
        await tx.deliveries.redeliver({ of: again, id: newRow({}).id, atMs: T0 })
      })
      const states = () => Promise.all(ids.map(stateOf))
      expect(await states()).toEqual(['started', 'unknown', 'unknown', 'delivered', 'started'])
      await write((tx) => tx.deliveries.requeue('slow', ids))
      expect(await states()).toEqual(['pending', 'pending', 'unknown', 'delivered', 'started'])
      const pending = { startedAtMs: null, endedAtMs: null, error: null }
      expect(await stores.store.read.deliveries.get(givenUp)).toMatchObject(pending)
      expect((await claim(webhook.id, 2)).map(({ id, payload }) => [id, payload])).toEqual([
        [unsent, PAYLOAD],
        [givenUp, PAYLOAD],
      ])
    })

    test('are pruned oldest first when they have ended, with their bytes', async () => {
      const webhook = await make()
      const rows = [-900, -800, -700].flatMap((atMs) => rowsFor(webhook, 1, { createdAtMs: atMs, state: 'skipped' }))
      const waiting = rowsFor(webhook, 1, { createdAtMs: -950 })
      const [sent] = rowsFor(webhook, 1, { createdAtMs: -990 })
      await insert([...waiting, ...rows, sent!])
      await start('n1', [sent!.id])
      await write((tx) => tx.deliveries.finish('n1', [ended(sent!.id)]))
      expect(await stores.store.read.deliveries.payload(sent!.id)).toEqual(PAYLOAD)
      const prune = (limit: number) => write((tx) => tx.deliveries.prune(-750, limit))
      expect([await prune(1), await prune(9), await prune(9)]).toEqual([1, 2, 0])
      expect(await stores.store.read.deliveries.payload(sent!.id)).toBeUndefined()
      const left = await stores.store.read.deliveries.page({ webhookId: webhook.id, limit: 9 })
      expect(left.map((one) => one.createdAtMs)).toEqual([-950, -700])
    })
  })

  describe('the outbox', () => {
    test('gives each event to one node, oldest first', async () => {
      const event = { type: 'feeds', event: 'started', subject: 's', data: '{}', createdAtMs: T0 }
      const accountId = newAccount()
      for (let n = 0; n < 40; n += 1) {
        await write((tx) => tx.outbox.append({ ...event, accountId, subject: String(n) }))
      }
      const take = (store = stores.store) => store.transaction((tx) => tx.outbox.take(5))
      const taken = await Promise.all(Array.from({ length: 12 }, (_, n) => take(n % 2 ? stores.store : stores.other)))
      for (let more = await take(); more.length > 0; more = await take()) taken.push(more)
      for (const batch of taken)
        expect(batch.map((one) => one.id)).toEqual(batch.map((one) => one.id).toSorted((a, b) => a - b))
      const mine = taken.flat().filter((one) => one.accountId === accountId)
      expect(mine.map((one) => Number(one.subject)).toSorted((a, b) => a - b)).toEqual([...Array(40).keys()])
    })
  })
}
