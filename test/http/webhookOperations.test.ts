import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { timeOrderedId } from '../../src/base/ids.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { NewDelivery } from '../../src/store/store.ts'
import { httpReceiver, type Received, type Receiver } from '../delivery/support/receivers.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { startTestNode, type TestNode } from '../support/testNode.ts'

const ALL = { isFeedHooks: true, isRecordingHooks: true, isThumbnailHooks: true }

describe('a webhook with a receiver', () => {
  let sluice: RunningApp
  let receiver: Receiver
  let status = 204
  beforeAll(async () => {
    sluice = await runApp({ flags: { webhooks: { allowPrivateTargets: true } } })
  })
  afterEach(() => receiver.stop())
  afterAll(() => sluice.close())

  async function hook(body: object = ALL): Promise<{ id: number; path: string }> {
    receiver = await httpReceiver((_request, response) => response.writeHead(status).end())
    const made = await sluice.call('POST', '/api/webhooks', { url: `http://127.0.0.1:${receiver.port}/`, ...body })
    return { id: made.json.data.id, path: `/api/webhooks/${made.json.data.id}` }
  }
  const ended = async (path: string, id: string) => {
    const read = async () => (await sluice.call('GET', `${path}/deliveries/${id}`)).json.data
    await expect.poll(async () => (await read()).state, { timeout: 30_000 }).toMatch(/delivered|failed/)
    return read()
  }

  it('alone gets a test event, whatever its switches and its filter; the log has the bytes that were sent', async () => {
    const { path } = await hook({ filter: 'nothing' })
    const sent = await sluice.call('POST', `${path}/test/feeds`, { streamName: 'show' })
    expect(sent.json.data).toMatchObject({ type: 'feeds', event: 'started', state: 'pending', subject: 'show' })
    const read = await ended(path, sent.json.data.id)
    const [request] = receiver.requests as [Received]
    expect(read).toMatchObject({ state: 'delivered', eventId: request.headers['webhook-id'] })
    expect(read.sent).toEqual({
      contentType: 'application/json',
      headers: {},
      encoding: 'utf8',
      body: request.body.toString(),
      bytes: request.body.length,
    })
    const thumbnail = await sluice.call('POST', `${path}/test/Thumbnail`)
    const { sent: image } = await ended(path, thumbnail.json.data.id)
    expect(image).toMatchObject({ contentType: 'image/jpeg', encoding: 'base64' })
    expect(Buffer.from(image.body, 'base64').equals(receiver.requests[1]?.body ?? Buffer.of())).toBe(true)
    expect(Object.keys(image.headers).join(' ')).toMatch(/stream-id/i)
  })

  it('refuses a test of an unknown type, and of a webhook that does not exist', async () => {
    const { path } = await hook()
    const unknown = await sluice.call('POST', `${path}/test/Feed`)
    expect([unknown.status, Object.keys(unknown.json.data)]).toEqual([404, ['webhookType']])
    const nobody = await sluice.call('POST', '/api/webhooks/987654/test/Feeds')
    expect(nobody.status).toBe(404)
    const wrong = await sluice.call('POST', `${path}/test/Feeds`, { stream: 'x' })
    expect([wrong.status, Object.keys(wrong.json.data.errors)]).toEqual([400, ['stream']])
  })

  it('gets again what failed, once, with the same bytes', async () => {
    const { path } = await hook()
    status = 500
    const failed = (await sluice.call('POST', `${path}/test/Feeds`)).json.data.id
    await ended(path, failed)
    status = 204
    const again = () => sluice.call('POST', `${path}/deliveries/redeliver`, { states: ['failed', 'skipped'] })
    expect((await again()).json.data).toEqual({ redelivered: 1, hasMore: false })
    expect((await again()).json.data).toEqual({ redelivered: 0, hasMore: false })
    await expect.poll(() => receiver.requests.length, { timeout: 30_000 }).toBe(2)
    const [first, second] = receiver.requests
    expect(second?.body.equals(first?.body ?? Buffer.of())).toBe(true)
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
  })
})

describe.each(testedStores())('deliveries on %s', (name) => {
  let place: Place
  let at: TestNode
  let path: string
  let webhookId: number
  beforeAll(async () => {
    place = await newPlace(name)
    at = await startTestNode({ url: place.url })
  })
  afterAll(async () => {
    await at.close()
    await place.remove()
  })

  /** A new webhook whose log has so many skipped deliveries. */
  async function skipped(count: number, over: Partial<NewDelivery> = {}): Promise<void> {
    const made = await at.call('POST', '/api/webhooks', { url: 'https://hooks.example.com/', ...ALL })
    webhookId = made.json.data.id
    path = `/api/webhooks/${webhookId}`
    await at.ctx.store.transaction((tx) => tx.deliveries.insert(Array.from({ length: count }, () => row(over))))
  }
  const row = (over: Partial<NewDelivery> = {}): NewDelivery => ({
    id: timeOrderedId(at.ctx.clock.now(), systemRandom),
    eventId: randomBytes(11).toString('hex'),
    webhookId,
    accountId: at.accountId,
    type: 'feeds',
    event: 'started',
    subject: 'show',
    data: '{}',
    state: 'skipped',
    error: { message: 'the webhook was disabled' },
    createdAtMs: at.ctx.clock.now(),
    ...over,
  })
  const again = async (body: object = { states: ['skipped'] }) =>
    (await at.call('POST', `${path}/deliveries/redeliver`, body)).json.data

  it('are sent again in batches up to the bound, and the rest with the next request', async () => {
    await skipped(1050)
    expect(await again()).toEqual({ redelivered: 1000, hasMore: true })
    expect(await again()).toEqual({ redelivered: 50, hasMore: false })
    expect(await again()).toEqual({ redelivered: 0, hasMore: false })
    const audited = await at.ctx.store.read.audit.recent(at.accountId, 11)
    expect(audited.map(({ action }) => action)).toEqual(Array.from({ length: 11 }, () => 'webhook.redeliver_many'))
  })

  it('are sent again once, however many ask at once', async () => {
    await skipped(150)
    const answers = await Promise.all([again(), again(), again()])
    expect(answers.reduce((sum, { redelivered }) => sum + redelivered, 0)).toBe(150)
    const { json } = await at.call('GET', `${path}/deliveries?state=pending&limit=100`)
    const repeated = json.data.map(({ redeliveryOf }: { redeliveryOf: string }) => redeliveryOf)
    expect(new Set(repeated).size).toBe(100)
  })

  it('cannot be sent again before they have ended', async () => {
    await skipped(0)
    const [waiting, begun, gone] = [row({ state: 'pending' }), row({ state: 'pending' }), row()]
    const payload = { body: new Uint8Array(), contentType: '', headers: {} }
    await at.ctx.store.transaction(async (tx) => {
      await tx.deliveries.insert([waiting, begun, gone])
      await tx.deliveries.renew('n', 60_000)
      await tx.deliveries.start('n', at.ctx.clock.now(), [{ id: begun.id, payload }])
    })
    const redeliver = async ({ id }: NewDelivery) =>
      (await at.call('POST', `${path}/deliveries/${id}/redeliver`)).status
    expect([await redeliver(waiting), await redeliver(begun), await redeliver(gone)]).toEqual([409, 409, 200])
    expect((await at.call('GET', `${path}/deliveries`)).json.data).toHaveLength(4)
  })

  it('are chosen by type and time, and never those of another webhook', async () => {
    await skipped(2, { createdAtMs: 1000 })
    const [old, other] = [path, webhookId]
    await at.ctx.store.transaction((tx) => tx.deliveries.insert([row({ type: 'recording' }), row()]))
    await skipped(1)
    expect(await again({ states: ['failed', 'unknown'] })).toEqual({ redelivered: 0, hasMore: false })
    expect(await again()).toMatchObject({ redelivered: 1 })
    path = old
    webhookId = other
    expect(await again({ states: ['skipped'], type: 'recording' })).toMatchObject({ redelivered: 1 })
    const from = new Date(at.ctx.clock.now() - 1000).toISOString()
    expect(await again({ states: ['skipped'], from })).toMatchObject({ redelivered: 1 })
    expect(await again()).toMatchObject({ redelivered: 2 })
  })

  it.each([
    [{}, 'states'],
    [{ states: [] }, 'states'],
    [{ states: ['delivered'] }, 'states[0]'],
    [{ states: ['failed'], from: 'x' }, 'from'],
  ])('refuse a request for %j by name', async (body, field) => {
    await skipped(0)
    const { status, json } = await at.call('POST', `${path}/deliveries/redeliver`, body)
    expect([status, Object.keys(json.data.errors)]).toEqual([400, [field]])
  })

  it.each(['state=lost', 'type=feed', 'from=soon'])('refuse a list of %s by name', async (query) => {
    await skipped(0)
    const { status, json } = await at.call('GET', `${path}/deliveries?${query}`)
    expect([status, Object.keys(json.data.errors)]).toEqual([400, [query.split('=')[0]]])
  })

  it('of another webhook are not shown, and show no bytes before they were sent', async () => {
    await skipped(1)
    const [first] = (await at.call('GET', `${path}/deliveries?state=skipped&type=feeds`)).json.data
    const read = await at.call('GET', `${path}/deliveries/${first.id}`)
    expect(read.json.data).toEqual(first)
    await skipped(0)
    expect((await at.call('GET', `${path}/deliveries/${first.id}`)).status).toBe(404)
    await at.ctx.store.transaction((tx) => tx.webhooks.setHealth(webhookId, PAUSED))
    const paused = await at.call('POST', `${path}/test/Feeds`)
    expect([paused.status, paused.json.data.message]).toEqual([409, expect.stringContaining('reEnable')])
  })
})

const PAUSED = {
  failuresInRow: 0,
  disabled: { untilMs: Date.now() + 3_600_000, reason: [{ code: 'text', values: { text: 'failed' } }] },
}
