import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { headerProfile } from '../../../src/delivery/signature.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Delivery, NewDelivery, Store, StoredWebhook, Tx } from '../../../src/store/store.ts'
import { newAccount, newWebhook, quiet } from '../../conformance/store.samples.ts'
import { SECRET } from '../../support/delivery.ts'

export const random = systemRandom
export const sender = {
  profile: headerProfile(),
  userAgent: 'Sluice/test',
  openSecret: (sealed: Uint8Array) => Buffer.from(sealed).toString('utf8'),
}
export const clock = new ManualClock()
const secretSealed = Buffer.from(SECRET, 'utf8')

/**
 * A store with webhooks of both interfaces, for the parts of delivery that work inside a transaction. Each test has a new one,
 * because rows that are due belong to no test: what one leaves behind another would send.
 */
export function outgoing() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-delivery-'))
  const empty = join(folder, 'empty.db')
  let store: Store
  let stores = 0
  beforeAll(async () => (await openStore({ url: empty, log: quiet })).close())
  beforeEach(async () => {
    const url = join(folder, `${(stores += 1)}.db`)
    copyFileSync(empty, url)
    store = await openStore({ url, log: quiet })
  })
  afterEach(() => store.close())
  afterAll(() => rmSync(folder, { recursive: true }))
  const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => store.transaction(work)
  const webhook = (over: Partial<StoredWebhook> = {}): Promise<StoredWebhook> =>
    write((tx) => tx.webhooks.insert(newWebhook({ accountId: newAccount(), secretSealed, ...over })))
  /** Answers it as deliveries see it. */
  const channelWebhook = async (over: Partial<StoredWebhook> & { events?: string[] } = {}): Promise<StoredWebhook> => {
    const { active = true, accountId = newAccount(), events = ['*'] } = over
    const id = `wh_${randomBytes(11).toString('hex')}`
    const about = { id, accountId, name: 'Hook', description: null, url: 'https://hooks.example.org/', events, active }
    const health = { failuresInRow: over.failuresInRow ?? 0, disabled: over.disabled ?? null }
    const times = { createdAtMs: clock.now(), updatedAtMs: clock.now() }
    return write(async (tx) => {
      await tx.channelWebhooks.insert({ ...about, ...health, ...times, secretSealed })
      const made = (await tx.channelWebhooks.lock(accountId, id))?.slot ?? 0
      if (over.probedAtMs !== undefined) await tx.webhooks.setProbed(made, over.probedAtMs)
      const [webhook] = await tx.webhooks.lockAll([made])
      if (!webhook) throw new Error('the webhook is not there')
      return webhook
    })
  }
  const get = async (id: string): Promise<Delivery | undefined> => store.read.deliveries.get(id)
  const lock = async (id: number): Promise<StoredWebhook | undefined> =>
    (await write((tx) => tx.webhooks.lockAll([id])))[0]
  /** Puts rows of a webhook on record, oldest first, and answers their ids. */
  const rows = async (to: StoredWebhook, count: number, over: Partial<NewDelivery> = {}): Promise<string[]> => {
    const made = Array.from({ length: count }, () => rowTo(to, over))
    await write((tx) => tx.deliveries.insert(made))
    return made.map(({ id }) => id)
  }
  /** A row that a node has begun to send, and a lease of that node. */
  const begunBy = async (node: string, leaseMs: number, to: StoredWebhook, atMs: number): Promise<string> => {
    const row = rowTo(to, {})
    const payload = { body: new Uint8Array(), contentType: '', headers: {} }
    await write(async (tx) => {
      await tx.deliveries.insert([row])
      await tx.deliveries.renew(node, leaseMs)
      await tx.deliveries.start(node, atMs, [{ id: row.id, payload }])
    })
    return row.id
  }
  return { write, webhook, channelWebhook, get, lock, rows, begunBy, store: () => store }
}

let lastRow = 0

function rowTo({ id: webhookId, accountId, active }: StoredWebhook, over: Partial<NewDelivery>): NewDelivery {
  const [id, eventId] = ['a', 'e'].map((kind) => `${String((lastRow += 1)).padStart(21, '0')}${kind}`) as [
    string,
    string,
  ]
  const about = { id, eventId, webhookId, accountId, subject: 'stage', createdAtMs: clock.now(), error: null }
  const object = { type: 'channel', id: 'ch_1', name: 'Stage' }
  const event =
    active === undefined
      ? { type: 'feeds', event: 'started', data: '{"name":"stage"}' }
      : {
          type: 'channel',
          event: 'channel.created',
          data: JSON.stringify({ object, data: null, atMs: clock.now() }),
          attempt: 1 as const,
        }
  return { ...about, ...event, state: 'pending', ...over }
}
