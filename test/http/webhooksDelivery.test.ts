import { type IncomingHttpHeaders } from 'node:http'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { verifySignature } from '../../src/delivery/signature.ts'
import { httpReceiver, type Received, type Receiver } from '../delivery/support/receivers.ts'
import { runApp, type RunningApp } from '../support/app.ts'

let sluice: RunningApp
const receivers: Receiver[] = []
beforeAll(async () => {
  sluice = await runApp({ flags: { webhooks: { allowPrivateTargets: true } } })
})
afterEach(async () => {
  for (const { id } of (await sluice.call('GET', '/api/webhooks/list?itemCount=100')).json.data) {
    await sluice.call('DELETE', `/api/webhooks/${id}`)
  }
  for (const receiver of receivers.splice(0)) await receiver.stop()
})
afterAll(() => sluice.close())

interface Hook {
  id: number
  secret: string
  path: string
  receiver: Receiver
}

const ALL = {
  isFeedHooks: true,
  isFeedHealthHooks: true,
  isRecordingHooks: true,
  isThumbnailHooks: true,
  isTranscoderHooks: true,
  isRestreamHooks: true,
  isViewerConnectionHooks: true,
}

/** A webhook for everything, and its receiver. `status` gives the status of each answer. */
async function hook(body: object = ALL, status: () => number = () => 204): Promise<Hook> {
  const receiver = await httpReceiver((_request, response) => response.writeHead(status()).end('an answer'))
  receivers.push(receiver)
  const made = await sluice.call('POST', '/api/webhooks', { url: `http://127.0.0.1:${receiver.port}/hook`, ...body })
  const { id, secret } = made.json.data
  return { id, secret, path: `/api/webhooks/${id}`, receiver }
}

const test = (type: string, body?: object) => sluice.call('POST', `/api/webhooks/test/${type}`, body)

async function arrived({ receiver }: Pick<Hook, 'receiver'>, count = 1): Promise<Received[]> {
  await expect.poll(() => receiver.requests.length, { timeout: 30_000 }).toBe(count)
  return receiver.requests
}

const log = async ({ path }: Hook, query = '') => (await sluice.call('GET', `${path}/deliveries${query}`)).json

/** The log once all deliveries in it have ended. */
async function settled(of: Hook, count: number) {
  const states = async () => (await log(of)).data.map((row: { state: string }) => row.state)
  await expect
    .poll(async () => (await states()).filter((state: string) => !['pending', 'started'].includes(state)).length, {
      timeout: 30_000,
    })
    .toBe(count)
  return (await log(of)).data
}

const plain = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

function expectSigned({ body, headers }: Received, secret: string): void {
  expect(verifySignature({ body, headers, secret, nowMs: Date.now() })).toMatchObject({ ok: true })
  const { 'x-service-signature': old = '' } = plain(headers)
  const onlyOld = { 'x-service-signature': old }
  expect(verifySignature({ body, headers: onlyOld, secret, nowMs: Date.now() })).toMatchObject({ ok: true })
}

describe('a test event', () => {
  it.each([
    ['Feeds', 'feeds', 'started'],
    ['FeedHealth', 'feeds', 'health'],
    ['Media', 'recording', 'completed'],
    ['Recordings', 'recording', 'completed'],
    ['Transcoder', 'transcoder', 'started'],
    ['Restream', 'restream', 'started'],
    ['ViewerConnection', 'viewerConnection', 'FirstViewerConnection'],
  ])('of type %s arrives, signed, and is in the log', async (testType, type, event) => {
    const webhook = await hook()
    expect((await test(testType)).json).toEqual({ status: 'success', data: true })
    const [request] = await arrived(webhook)
    if (!request) throw new Error('nothing arrived')
    expectSigned(request, webhook.secret)
    new StandardWebhook(webhook.secret).verify(request.body, plain(request.headers))
    expect(JSON.parse(request.body.toString())).toMatchObject({ type, event, timestamp: expect.any(Number) as number })
    expect(request).toMatchObject({ method: 'POST', path: '/hook' })
    expect(request.headers['content-type']).toBe('application/json')
    expect(request.headers['user-agent']).toMatch(/^Sluice\/\d/)
    const [row] = await settled(webhook, 1)
    expect(row).toMatchObject({
      type,
      event,
      state: 'delivered',
      statusCode: 204,
      durationMs: expect.any(Number) as number,
    })
    expect(row.eventId).toBe(request.headers['webhook-id'])
  })

  it('of type Thumbnail is a JPEG with its headers', async () => {
    const webhook = await hook()
    await test('Thumbnail', { streamName: 'studio-1' })
    const [request] = await arrived(webhook)
    if (!request) throw new Error('nothing arrived')
    expectSigned(request, webhook.secret)
    expect([...request.body.subarray(0, 3)]).toEqual([0xff, 0xd8, 0xff])
    expect(request.headers).toMatchObject({
      'content-type': 'image/jpeg',
      'x-service-stream-id': `${sluice.accountId}/studio-1`,
      'x-service-timestamp': expect.stringMatching(/^\d{13}$/) as string,
      'x-service-feed-id': expect.any(String) as string,
      'x-service-token-id': '0',
    })
  })

  it('of an unknown type is a 404 that lists the types; an invalid body is a 400', async () => {
    const unknown = await test('Feed')
    expect(unknown.status).toBe(404)
    expect(unknown.json.data.webhookType).toContain(
      'Recordings, Thumbnail, Transcoder, Media, Feeds, FeedHealth, Restream, ViewerConnection',
    )
    const wrong = await test('Feeds', { streamName: 7, stream: 'x' })
    expect(Object.keys(wrong.json.data.errors).sort()).toEqual(['stream', 'streamName'])
  })

  it('goes to the webhooks that subscribe to its type and name, and to no other', async () => {
    const wanting = await hook({ isFeedHooks: true, isTranscoderHooks: true, filter: 'prod-[0-9]+' })
    const others = [await hook({ isThumbnailHooks: true }), await hook({})]
    await test('Feeds', { streamName: 'prod-7x' })
    await test('Feeds', { streamName: 'my prod-7' })
    await test('Transcoder', { streamName: 'prod-7', transcoderName: 'else' })
    await test('Transcoder', { transcoderName: 'prod-8' })
    await test('Feeds', { streamName: 'prod-9' })
    await arrived(wanting, 2)
    const rows = await settled(wanting, 2)
    expect(rows.map((row: { subject: string }) => row.subject).sort()).toEqual(['prod-8', 'prod-9'])
    for (const other of others) {
      expect(other.receiver.requests).toHaveLength(0)
      expect((await log(other)).data).toEqual([])
    }
  })
})

describe('a delivery', () => {
  it('can be sent again manually: the same bytes under the same webhook-id', async () => {
    let status = 500
    const webhook = await hook(ALL, () => status)
    await test('Feeds')
    const [failed] = await settled(webhook, 1)
    expect(failed).toMatchObject({ state: 'failed', statusCode: 500, answer: 'an answer' })
    expect(failed.error).toContain('500')
    expect(failed.errorSentences).toEqual([{ code: 'request_status', values: { status: 500 } }])
    status = 200
    const again = await sluice.call('POST', `${webhook.path}/deliveries/${failed.id}/redeliver`)
    expect(again.json.data).toMatchObject({ state: 'pending', redeliveryOf: failed.id, eventId: failed.eventId })
    const [first, second] = await arrived(webhook, 2)
    expect(second?.body.equals(first?.body ?? Buffer.of())).toBe(true)
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    if (second) expectSigned(second, webhook.secret)
    const [newest] = await settled(webhook, 2)
    expect(newest).toMatchObject({ id: again.json.data.id, state: 'delivered', statusCode: 200 })
  })

  it('of another webhook cannot be sent again', async () => {
    const [one, other] = [await hook(), await hook({})]
    await test('Feeds')
    const [row] = await settled(one, 1)
    for (const path of [`${other.path}/deliveries/${row.id}`, `${one.path}/deliveries/nonsense`]) {
      const answer = await sluice.call('POST', `${path}/redeliver`)
      expect(answer.status).toBe(404)
      expect(answer.json.data.deliveryId).toContain('No delivery with id')
    }
    expect(other.receiver.requests).toHaveLength(0)
  })

  it('is signed with the secret at the time of sending', async () => {
    const webhook = await hook()
    const { secret } = (await sluice.call('PUT', webhook.path, { refreshSecret: true })).json.data
    await test('Feeds')
    const [request] = await arrived(webhook)
    if (!request) throw new Error('nothing arrived')
    expectSigned(request, secret)
    const { body, headers } = request
    const old = verifySignature({ body, headers, secret: webhook.secret, nowMs: Date.now() })
    expect(old).toEqual({ ok: false, error: 'wrong_signature' })
  })

  it('follows no redirect', async () => {
    const webhook = await hook(ALL, () => 302)
    await test('Feeds')
    expect((await settled(webhook, 1))[0]).toMatchObject({ state: 'failed', statusCode: 302 })
    expect(webhook.receiver.requests).toHaveLength(1)
  })
})

it('a receiver that fails a hundred times in a row is paused, until a user ends the pause', async () => {
  let status = 500
  const webhook = await hook(ALL, () => status)
  for (let i = 0; i < 100; i++) await test('Feeds', { streamName: `failing-${i}` })
  await arrived(webhook, 100)
  const disabled = async () => (await sluice.call('GET', webhook.path)).json.data.disabled
  await expect.poll(disabled, { timeout: 30_000 }).toMatchObject({ reason: expect.stringContaining('100') as string })
  const untilMs = Date.parse((await disabled()).until)
  expect(untilMs).toBeGreaterThan(Date.now() + 3_500_000)
  expect(untilMs).toBeLessThan(Date.now() + 3_700_000)

  await test('Feeds', { streamName: 'meanwhile' })
  await expect.poll(async () => (await log(webhook)).data[0]).toMatchObject({ subject: 'meanwhile', state: 'skipped' })
  expect(webhook.receiver.requests).toHaveLength(100)

  status = 200
  const lifted = (await sluice.call('PUT', webhook.path, { reEnable: true })).json.data
  expect(lifted).not.toHaveProperty('disabled')
  await test('Feeds', { streamName: 'after' })
  await arrived(webhook, 101)
  await expect.poll(async () => (await log(webhook)).data[0]).toMatchObject({ subject: 'after', state: 'delivered' })
})

describe('the log of deliveries', () => {
  it('is paged by a cursor: each entry comes once, whatever is added meanwhile', async () => {
    const webhook = await hook()
    for (let i = 0; i < 23; i++) await test('Feeds', { streamName: `s${i}` })
    await arrived(webhook, 23)
    const first = await log(webhook, '?limit=5')
    expect(first.pagination.hasMore).toBe(true)
    await test('Feeds', { streamName: 'late' })
    await arrived(webhook, 24)
    const seen = [...first.data]
    let { cursor } = first.pagination
    for (let page = 0; page < 10 && cursor !== undefined; page++) {
      const next = await log(webhook, `?limit=7&cursor=${cursor}`)
      seen.push(...next.data)
      cursor = next.pagination.cursor
    }
    const names = seen.map((row: { subject: string }) => row.subject)
    expect(names.sort()).toEqual(Array.from({ length: 23 }, (_, i) => `s${i}`).sort())
    const ids = seen.map((row: { id: string }) => row.id)
    expect(ids).toEqual([...ids].sort().reverse())
  })

  it('refuses a cursor of another webhook, and an invented one', async () => {
    const [webhook, other] = [await hook(), await hook()]
    await test('Feeds')
    await test('Feeds')
    await arrived(webhook, 2)
    const { cursor } = (await log(webhook, '?limit=1')).pagination
    for (const path of [`${other.path}/deliveries?cursor=${cursor}`, `${webhook.path}/deliveries?cursor=AAAA`]) {
      const refused = await sluice.call('GET', path)
      expect(refused.status).toBe(400)
      expect(refused.json.data.message).toContain('invalid_cursor')
    }
    const wrong = await sluice.call('GET', `${webhook.path}/deliveries?limit=0`)
    expect(Object.keys(wrong.json.data.errors)).toEqual(['limit'])
  })
})
