import * as fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { followPulls, releasePulls } from '../../src/commands/pulls/claimPulls.ts'
import { mayView } from '../../src/commands/sessions/admit.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import {
  attemptOf,
  makeToken,
  publish,
  startTestNode,
  type TestNode,
  tryToView,
  type Use,
  view,
} from '../support/testNode.ts'
import { until } from '../support/until.ts'

const LIMITS = { maxViewersPerAddress: 20 }

describe.each(testedStores())('a pull on demand, on %s', (engine) => {
  const clock = new ManualClock()
  let place: Place
  let one: TestNode
  let other: TestNode
  let source: string
  let viewer: string
  let pullId: number

  beforeAll(async () => {
    place = await newPlace(engine)
    const settings = { url: place.url, clock, flags: { sessions: LIMITS } }
    one = await startTestNode(settings)
    other = await startTestNode(settings)
    const made = await makeToken(one, 'publish', { subscribeRequiresAuth: true })
    source = made.token
    viewer = (await makeToken(one, 'subscribe', { streams: [{ streamName: 'door' }] })).token
    const pull = { tokenId: made.id, streamName: 'door', url: 'rtsp://camera.example.com/', when: 'onDemand' }
    pullId = (await one.call('POST', '/api/pulls', pull)).json.data.id
  })
  afterAll(async () => {
    await one.close()
    await other.close()
    await place.remove()
  })
  beforeEach(async () => {
    for (const node of [one, other]) {
      for (const { session } of node.ctx.sessions.all()) await closeSession(node.ctx, session.id, 'left')
      // What an earlier viewer wanted is over.
      clock.advance(30_000)
      await releasePulls(node.ctx, node.ctx.sessions.node, [pullId])
    }
    for (const node of [one, other]) {
      await followPulls(node.ctx)
      await until(() => node.ctx.sessions.feeds.onAir(one.accountId, 'door') === undefined)
    }
  })

  const stored = async () => {
    const pull = await other.ctx.store.read.pulls.get(other.accountId, pullId)
    if (!pull) throw new Error('no pull')
    return pull
  }
  const isWantedNow = async () => (await stored()).demandAtMs === clock.now()
  const status = async () => (await other.call('GET', `/api/pulls/${pullId}`)).json.data.status
  const watch = (at: TestNode, use: Use = {}) => tryToView(at, { presented: viewer, streamName: 'door', ...use })
  const master = ({ ctx, accountId }: TestNode, use: Use = {}) => {
    const hls = { action: 'view', protocol: 'hls', accountId, presented: viewer, streamName: 'door', ...use } as const
    return mayView(ctx, attemptOf(hls), { sourceId: null })
  }
  const waitFor = (at: TestNode) => until(() => [...at.ctx.sessions.demand.awaited].length === 1)

  it('is idle, and wanted by no viewer who is refused', async () => {
    const disabled = await makeToken(one, 'subscribe')
    await one.call('PUT', `/api/subscribe_token/${disabled.id}`, { isActive: false })
    const another = await makeToken(one, 'subscribe', { streams: [{ streamName: 'yard' }] })
    const office = await makeToken(one, 'subscribe', { allowedIpAddresses: ['198.51.100.0/24'] })
    const site = await makeToken(one, 'subscribe', { allowedOrigins: ['https://a.example.com'] })
    const presented = [null, 'x'.repeat(64), source, ...[disabled, another, office, site].map(({ token }) => token)]
    const before = (await stored()).demandAtMs
    const attempts = fc.record({
      presented: fc.constantFrom(...presented),
      ip: fc.constantFrom('192.0.2.1', '2001:db8::1'),
      origin: fc.constantFrom(null, 'https://b.example.com'),
      isMaster: fc.boolean(),
    })
    const property = fc.asyncProperty(attempts, async ({ isMaster, ...use }) => {
      const answer = await (isMaster ? master(one, use) : watch(one, use))
      expect(answer).toMatchObject({ ok: false, status: 401 })
      expect([(await stored()).demandAtMs, [...one.ctx.sessions.demand.awaited]]).toEqual([before, []])
    })
    await fc.assert(property, { numRuns: 20 })
    expect(await status()).toBe('idle')
  })

  it('is wanted by none who asks for another source or stream, and none after its limit', async () => {
    const before = (await stored()).demandAtMs
    const everywhere = (await makeToken(one, 'subscribe')).token
    const sourced = { sourceId: 'b', cut: async () => undefined }
    const answers = [
      await tryToView(one, { presented: viewer, streamName: 'door' }, sourced),
      await watch(one, { presented: everywhere, streamName: 'attic' }),
    ]
    expect(answers.map((answer) => answer.ok || answer.code)).toEqual(['stream_not_published', 'stream_not_published'])
    expect((await stored()).demandAtMs).toBe(before)
  })

  it.each([
    ['WHEP', (use?: Use) => watch(one, use)],
    ['HLS', (use?: Use) => master(one, use)],
  ])('is wanted once by a crowd over %s, which gets in when it begins', async (_, ask) => {
    let writes = 0
    onTestFinished(one.ctx.sessions.demand.watch(() => (writes += 1)))
    const asking = Array.from({ length: LIMITS.maxViewersPerAddress }, () => ask())
    await until(isWantedNow)
    expect(await status()).toBe('connecting')
    await waitFor(one)
    await until(() => one.ctx.sessions.demand.waiters === LIMITS.maxViewersPerAddress)
    // Those who wait have slots, so the limits of viewers hold for them.
    expect(await ask()).toMatchObject({ ok: false, code: 'too_many_from_address' })
    await publish(one, { presented: source, streamName: 'door' })
    expect((await Promise.all(asking)).filter(({ ok }) => !ok)).toEqual([])
    expect([writes, (await stored()).node]).toEqual([1, one.ctx.sessions.node])
  })

  it('keeps a viewer waiting for 8 seconds, and no longer', async () => {
    const asking = [watch(one), master(one)]
    await until(isWantedNow)
    await until(() => [...one.ctx.sessions.demand.awaited].length === 1)
    clock.advance(7_999)
    expect([...one.ctx.sessions.demand.awaited].length).toBe(1)
    clock.advance(1)
    const answers = await Promise.all(asking)
    expect(answers.map((answer) => answer.ok || answer.code)).toEqual(['stream_not_published', 'stream_not_published'])
  })

  it('is decided on again with the rules of the moment when it begins', async () => {
    const { id, token } = await makeToken(one, 'subscribe')
    const asking = [watch(one, { presented: token }), master(one, { presented: token })]
    await waitFor(one)
    await one.call('DELETE', `/api/subscribe_token/${id}`)
    await publish(one, { presented: source, streamName: 'door' })
    const answers = await Promise.all(asking)
    expect(answers.map((answer) => answer.ok || answer.code)).toEqual(['invalid_token', 'invalid_token'])
  })

  it('that begins at another node wakes viewers here', async () => {
    const asking = watch(one)
    await waitFor(one)
    await publish(other, { presented: source, streamName: 'door' })
    // That node has no URL in this test.
    expect(await asking).toMatchObject({ code: 'at_another_node' })
  })

  it('stays wanted while it has viewers at any node, and no longer', async () => {
    const asking = watch(one)
    await waitFor(one)
    await publish(one, { presented: source, streamName: 'door' })
    const { session } = await asking.then((answer) => (answer.ok ? answer : Promise.reject(new Error(answer.code))))
    for (const _ of [1, 2, 3, 4, 5, 6]) {
      clock.advance(5_000)
      await followPulls(one.ctx)
      expect(await isWantedNow()).toBe(true)
    }
    for (const byMs of [90_000, -90_000]) {
      clock.setWall(byMs)
      await followPulls(one.ctx)
      expect(await isWantedNow()).toBe(true)
    }
    await closeSession(one.ctx, session.id, 'left')
    const leftAtMs = clock.now()
    clock.advance(5_000)
    await followPulls(one.ctx)
    expect((await stored()).demandAtMs).toBe(leftAtMs)
    clock.advance(15_000)
    await releasePulls(one.ctx, one.ctx.sessions.node, [pullId])
    expect([await status(), (await followPulls(other.ctx)).length]).toEqual(['idle', 0])
  })

  it('that is idle is not begun by viewers of another publisher of the stream', async () => {
    const before = (await stored()).demandAtMs
    await publish(one, { presented: source, streamName: 'door' })
    await view(one, { presented: viewer, streamName: 'door' })
    clock.advance(60_000)
    await followPulls(one.ctx)
    expect((await stored()).demandAtMs).toBe(before)
  })

  it('is not waited for when the store cannot take the wish', async () => {
    const transaction = vi.spyOn(one.ctx.store, 'transaction').mockRejectedValue(new StoreUnavailable('down'))
    onTestFinished(() => transaction.mockRestore())
    expect(await master(one)).toMatchObject({ code: 'stream_not_published' })
  })
})
