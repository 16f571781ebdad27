import { afterAll, beforeAll, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import type { Context } from '../../src/commands/context.ts'
import { pruneRecords } from '../../src/commands/retention.ts'
import { emitStreamEvent, emitThumbnail } from '../../src/commands/webhooks/emit.ts'
import type { Tx } from '../../src/store/store.ts'
import { httpReceiver, type Receiver } from '../delivery/support/receivers.ts'
import { runApp, type RunningApp } from '../support/app.ts'

let sluice: RunningApp
let receiver: Receiver
let ctx: Context
beforeAll(async () => {
  sluice = await runApp({ flags: { webhooks: { allowPrivateTargets: true } } })
  ctx = sluice.app.ctx
  receiver = await httpReceiver()
  await sluice.call('POST', '/api/webhooks', {
    url: `http://127.0.0.1:${receiver.port}/`,
    isFeedHooks: true,
    isRecordingHooks: true,
    isThumbnailHooks: true,
    isTranscoderHooks: true,
    isViewerConnectionHooks: true,
  })
})
afterAll(async () => {
  await sluice.close()
  await receiver.stop()
})

const stream = () => ({ name: 'studio-1', streamId: `${sluice.accountId}/studio-1` })
const occasion = () => ({ accountId: sluice.accountId, atMs: 1000 })
const feed = () => ({
  feedId: '9f3f3a4e-7a53-4f4e-9f3c-0a0b0c0d0e0f',
  accountId: sluice.accountId,
  ...stream(),
  tokenId: 7,
  active: true,
  started: 900,
})

/** The request that arrives once this is committed. */
async function arriving(emit: (tx: Tx) => Promise<void>) {
  const before = receiver.requests.length
  await ctx.store.transaction(emit)
  await expect.poll(() => receiver.requests.length, { timeout: 30_000 }).toBe(before + 1)
  const request = receiver.requests[before]
  if (!request) throw new Error('nothing arrived')
  return request
}

const payloadOf = async (emit: (tx: Tx) => Promise<void>) =>
  JSON.parse((await arriving(emit)).body.toString()) as unknown

it('each family of events arrives with its data', async () => {
  const timestamp = expect.any(Number) as number
  const started = { type: 'feeds', event: 'started', data: feed() } as const
  expect(await payloadOf((tx) => emitStreamEvent(tx, occasion(), started))).toEqual({ ...started, timestamp })
  const { streamId } = stream()
  const recording = { recordingId: 'rec-1', tokenId: 7, streamName: 'studio-1', streamId, started: 900 }
  const began = { type: 'recording', event: 'started', data: recording } as const
  expect(await payloadOf((tx) => emitStreamEvent(tx, occasion(), began))).toEqual({ ...began, timestamp })
  const transcoder = { transcoderId: 't', transcoderName: 'ladder', channelId: 'ch', status: 'error', created: 900 }
  const broke = { type: 'transcoder', event: 'error', data: transcoder } as const
  expect(await payloadOf((tx) => emitStreamEvent(tx, occasion(), broke))).toEqual({ ...broke, timestamp })
  const viewing = { ...stream(), accountId: sluice.accountId }
  const left = { type: 'viewerConnection', event: 'NoActiveViewers', data: viewing } as const
  expect(await payloadOf((tx) => emitStreamEvent(tx, occasion(), left))).toEqual({ ...left, timestamp })
})

it('a thumbnail arrives as the exact bytes of the image', async () => {
  const image = Buffer.from([0xff, 0xd8, 0xff, 0x00, 0x80, 0xfe])
  const { streamId } = stream()
  const thumbnail = { kind: 'thumbnail', feedId: 'f', streamId, tokenId: 7, image, subject: 'studio-1' } as const
  const request = await arriving((tx) => emitThumbnail(tx, occasion(), thumbnail))
  expect(request.body.equals(image)).toBe(true)
  expect(request.headers).toMatchObject({ 'x-service-feed-id': 'f', 'x-service-token-id': '7' })
})

it('an event whose change is not committed is never sent', async () => {
  const before = receiver.requests.length
  let wakened = 0
  sluice.app.bus.on('toDeliver', () => (wakened += 1))
  const undone = ctx.store.transaction(async (tx) => {
    await emitStreamEvent(tx, occasion(), {
      type: 'feeds',
      event: 'ended',
      data: { ...feed(), active: false, ended: 1000 },
    })
    throw new Error('the change failed')
  })
  await expect(undone).rejects.toThrow('the change failed')
  expect(wakened).toBe(0)
  const kept = { type: 'feeds', event: 'started', data: feed() } as const
  expect(await payloadOf((tx) => emitStreamEvent(tx, occasion(), kept))).toMatchObject({ event: 'started' })
  expect(receiver.requests).toHaveLength(before + 1)
  expect(wakened).toBe(1)
})

it('the log of deliveries is stored for the configured time, and no longer', async () => {
  await payloadOf((tx) => emitStreamEvent(tx, occasion(), { type: 'feeds', event: 'started', data: feed() }))
  const [webhook] = await ctx.store.read.webhooks.forAccount(sluice.accountId)
  if (!webhook) throw new Error('no webhook')
  const ended = async () => {
    const rows = await ctx.store.read.deliveries.page({ webhookId: webhook.id, limit: 100 })
    return rows.filter(({ state }) => state === 'delivered').length
  }
  await expect.poll(ended).toBe(receiver.requests.length)
  const keep = { accessLogDays: 90, auditDays: 90, deliveryDays: 30, sessionDays: 30, usageDays: 400, runDays: 400 }
  const later = (days: number) => ({ ...ctx, clock: new ManualClock(occasion().atMs + days * 86_400_000) })
  await pruneRecords(later(29), keep)
  expect(await ended()).toBe(receiver.requests.length)
  await pruneRecords(later(31), keep)
  expect(await ended()).toBe(0)
})
