import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { countBytes, noteTracks } from '../../src/commands/sessions/count.ts'
import { fanOut } from '../../src/delivery/fanOut.ts'
import { HOLD_MS } from '../../src/services/healthNews.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { type Connection, makeToken, publish, startTestNode, type TestNode } from '../support/testNode.ts'

const VIDEO = { kind: 'video', codec: 'h264', width: 1280, height: 720, config: new Uint8Array() } as const
const BAD = { bFrames: 0.25, sampleRate: 8000 }
const GOOD = { bFrames: 0, sampleRate: 48_000 }

describe.each(testedStores())('the webhook event health on %s', (engine) => {
  let place: Place
  let clock: ManualClock
  let at: TestNode
  beforeEach(async () => {
    place = await newPlace(engine)
    clock = new ManualClock(Date.UTC(2026, 0, 1))
    at = await startTestNode({ url: place.url, clock })
  })
  afterEach(async () => {
    await at.close()
    await place.remove()
  })

  async function onAir(): Promise<Connection> {
    const { token } = await makeToken(at, 'publish', { streams: [{ streamName: 'show' }], priority: 7 })
    const publisher = await publish(at, { presented: token, streamName: 'show', sourceId: 'cam' })
    noteTracks(at.ctx, publisher.session.id, [VIDEO])
    return publisher
  }

  /** 1 Mbit/s, or with null nothing; measured and written as the jobs do. */
  async function send({ session: { id } }: Connection, ms: number, source: object | null): Promise<void> {
    for (let second = 1; second <= ms / 1000; second += 1) {
      clock.advance(1000)
      const entry = at.ctx.sessions.get(id)
      if (!entry) throw new Error('no entry')
      const frames = (entry.media?.frames ?? 0) + 25
      if (source) countBytes(at.ctx, id, { bytesIn: entry.bytes.bytesIn + 125_000, bytesOut: 0, frames, source })
      if (second % 2 === 0) at.ctx.streamMeter.sample()
      if (second % 5 === 0) await at.ctx.streamMeter.write(at.ctx.store)
    }
  }

  async function events() {
    const pending = await at.ctx.store.read.outbox.pending(100)
    return pending
      .filter(({ event }) => event === 'health')
      .map(({ type, subject, data }) => ({ type, subject, data: JSON.parse(data) as Record<string, unknown> }))
  }

  it('says once what is wrong and what to set, and then that it is over', async () => {
    const publisher = await onAir()
    await send(publisher, 3 * HOLD_MS, BAD)
    await send(publisher, 3 * HOLD_MS, GOOD)
    const [wrong, over, ...more] = await events()
    expect(more).toEqual([])
    const about = { name: 'show', streamId: `${at.accountId}/show`, sourceId: 'cam', active: true }
    expect(wrong).toMatchObject({ type: 'feeds', subject: 'show', data: about })
    expect(wrong?.data['findings']).toEqual([
      {
        code: 'audio_rate',
        since: expect.stringMatching(/^2026-01-01T/),
        value: 8000,
        threshold: 32_000,
        shown: '8 kHz',
        text: expect.stringContaining('8 kHz'),
        advice: expect.stringContaining('48 kHz'),
        docs: 'guides/stream-health.md#audio-rate',
      },
      expect.objectContaining({ code: 'b_frames', value: 0.25 }),
    ])
    expect(wrong?.data).toMatchObject({ health: 'impaired', cleared: [] })
    expect(wrong?.data).not.toHaveProperty('withheld')
    expect(over?.data).toMatchObject({ ...about, health: 'steady', findings: [], cleared: ['audio_rate', 'b_frames'] })
  })

  it('says when no media comes, and when it comes again', async () => {
    const publisher = await onAir()
    await send(publisher, 10_000, GOOD)
    await send(publisher, 2 * HOLD_MS, null)
    await send(publisher, 2 * HOLD_MS, GOOD)
    expect((await events()).map(({ data }) => data['health'])).toEqual(['stalled', 'steady'])
  })

  it('comes with the readings or not at all, and is not lost with a transaction that fails', async () => {
    const publisher = await onAir()
    const { store } = at.ctx
    const failing: typeof store.transaction = (work) =>
      store.transaction(async (tx) => {
        await work(tx)
        throw new Error('the disk is full')
      })
    await send(publisher, HOLD_MS, BAD)
    clock.advance(HOLD_MS)
    await expect(at.ctx.streamMeter.write({ ...store, transaction: failing })).rejects.toThrow('the disk is full')
    expect(await events()).toEqual([])
    await at.ctx.streamMeter.write(store)
    await at.ctx.streamMeter.write(store)
    expect(await events()).toHaveLength(1)
  })

  it('goes to webhooks with its switch, and to no others of feeds', async () => {
    const made = async (switches: object): Promise<number> =>
      (await at.call('POST', '/api/webhooks', { url: 'https://hooks.example.com/', ...switches })).json.data.id
    const ids = [await made({ isFeedHooks: true }), await made({ isFeedHealthHooks: true })]
    const other = await made({ isFeedHealthHooks: true, filter: 'other' })
    await send(await onAir(), 3 * HOLD_MS, BAD)
    await at.ctx.store.transaction((tx) => fanOut(tx, [], clock.now(), systemRandom))
    const sent = async (webhookId: number) =>
      (await at.ctx.store.read.deliveries.page({ webhookId, limit: 10 })).map(({ type, event }) => `${type} ${event}`)
    expect(await Promise.all([...ids, other].map(sent))).toEqual([['feeds started'], ['feeds health'], []])
    const log = await at.call('GET', `/api/webhooks/${ids[1]}/deliveries?type=feeds`)
    expect(log.json.data).toHaveLength(1)
  })
})
