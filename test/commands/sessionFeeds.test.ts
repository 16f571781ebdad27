import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { recordTarget } from '../../src/commands/restream/recordTarget.ts'
import { admitPublisher } from '../../src/commands/sessions/admit.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes } from '../../src/commands/sessions/count.ts'
import { goLive } from '../../src/commands/sessions/goLive.ts'
import { emitIdleStreams } from '../../src/commands/sessions/viewing.ts'
import type { TargetNews, TargetStatus } from '../../src/core/restream/state.ts'
import {
  admit,
  attemptOf,
  type Connection,
  eventsOf,
  type TestNode,
  makeToken,
  publish,
  silentMedia,
  startTestNode,
  tryToView,
  view,
} from '../support/testNode.ts'
import { targetReport } from '../support/targetReport.ts'
import { until } from '../support/until.ts'
import { ending } from '../conformance/store.samples.ts'
import { expireLease } from '../support/leases.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'

const IDLE_MS = 60_000

describe.each(testedStores())('events of feeds and viewers on %s', (engine) => {
  const clock = new ManualClock()
  let place: Place
  let at: TestNode
  let seen = 0
  beforeAll(async () => {
    place = await newPlace(engine)
    at = await startTestNode({ url: place.url, clock })
  })
  afterEach(async () => {
    for (const { session } of at.ctx.sessions.all()) await closeSession(at.ctx, session.id, 'left')
    clock.advance(IDLE_MS + 10_000)
    await emitIdleStreams(at.ctx, IDLE_MS)
    seen = (await eventsOf(at)).length
  })
  afterAll(async () => {
    await at.close()
    await place.remove()
  })

  /** The events of this test. */
  const events = async () => (await eventsOf(at)).slice(seen)
  const names = async () => (await events()).map(({ name }) => name)
  const close = (session: { id: string }) => closeSession(at.ctx, session.id, 'left')

  it('report a start and an end of a feed, once each, with every field that a receiver needs', async () => {
    const { id, token } = await makeToken(at, 'publish')
    const { session } = await admit(at, { presented: token })
    expect(await names()).toEqual([])
    await close(session)
    const publisher = await publish(at, { presented: token, sourceId: 'left eye' })
    clock.advance(1000)
    await close(publisher.session)
    await close(publisher.session)
    const [started, ended] = await events()
    const data = {
      accountId: at.accountId,
      name: 'show',
      streamId: `${at.accountId}/show`,
      sourceId: 'left eye',
      tokenId: id,
    }
    expect(started).toMatchObject({ name: 'feeds started', data: { ...data, active: true } })
    expect(ended).toMatchObject({
      name: 'feeds ended',
      data: { ...data, active: false, feedId: started?.data['feedId'] },
    })
    expect(Number(ended?.data['ended'])).toBe(Number(started?.data['started']) + 1000)
    expect(await names()).toHaveLength(2)
  })

  it('are not ended in the future when the clock was put back after the renewals of a dead node', async () => {
    const other = await startTestNode({ url: place.url, clock })
    const { token } = await makeToken(at, 'publish')
    const { session } = await publish(other, { presented: token, streamName: 'left behind' })
    const { node } = other.ctx.sessions
    await other.crash()
    // Leases have the time of the database, which is later than the clock of this test.
    await expireLease(place.url, node)
    clock.advance(1000)
    await at.node.sweep()
    const ended = (await events()).find(({ name }) => name === 'feeds ended')
    expect(ended?.data['ended']).toBe(clock.now())
    expect((await at.ctx.store.read.sessions.get(session.id))?.endedAtMs).toBe(clock.now())
  })

  it('end with their targets, once each, when their node is gone, and nothing is recorded of a target after that', async () => {
    const other = await startTestNode({ url: place.url, clock })
    const { id: tokenId, token } = await makeToken(at, 'publish')
    await publish(other, { presented: token, streamName: 'sent on' })
    const { accountId } = at
    const feedId = other.ctx.sessions.feeds.ofStream(accountId, 'sent on')[0]?.feedId ?? ''
    const sentOn = { feedId, accountId, streamName: 'sent on', tokenId }
    const record = ({ ctx }: TestNode, index: number, status: TargetStatus, news: TargetNews) =>
      recordTarget(ctx, sentOn, targetReport(index, status, clock.now()), news)
    await record(other, 0, 'live', 'started')
    await record(other, 1, 'waiting', 'error')
    const { node } = other.ctx.sessions
    await other.crash()
    await expireLease(place.url, node)
    await at.node.sweep()
    await record(at, 0, 'live', 'started')
    const told = (await events()).filter(({ name }) => name.startsWith('restream'))
    expect(told.map(({ name, data }) => [name, data['index']])).toEqual([
      ['restream started', 0],
      ['restream error', 1],
      ['restream ended', 0],
    ])
    expect({ ...told[2]?.data }).toEqual(told[0]?.data)
    const kept = await at.ctx.store.read.restreamEvents.page({ accountId, streamName: 'sent on', limit: 9 })
    expect(kept.map(({ index, status }) => `${index} ${status}`)).toEqual(['1 off', '0 off', '1 waiting', '0 live'])
  })

  it.each([
    [true, null, true],
    [true, false, false],
    [false, null, false],
    [false, true, true],
  ])(
    'are recorded as their token says (%s), unless their publisher says otherwise (%s)',
    async (byToken, byPublisher, expected) => {
      const { token } = await makeToken(at, 'publish', { record: byToken })
      const attempt = { ...attemptOf({ presented: token }), action: 'publish' as const }
      const request = { sourceId: null, record: byPublisher, cut: async () => undefined }
      const admitted = await admitPublisher(at.ctx, attempt, request)
      if (!admitted.ok) throw new Error(admitted.message)
      const feed = await goLive(at.ctx, admitted.session.id, silentMedia)
      expect(feed?.record).toBe(expected)
      await close(admitted.session)
    },
  )

  it.each([true, false])('are not sent on to targets if their publisher does not want it: %s', async (noRestream) => {
    const { token } = await makeToken(at, 'publish')
    const attempt = { ...attemptOf({ presented: token }), action: 'publish' as const }
    const request = { sourceId: null, noRestream, cut: async () => undefined }
    const admitted = await admitPublisher(at.ctx, attempt, request)
    if (!admitted.ok) throw new Error(admitted.message)
    expect((await goLive(at.ctx, admitted.session.id, silentMedia))?.restream).toBe(!noRestream)
    await close(admitted.session)
  })

  it('end a lost publisher at its last media, not when it was given up', async () => {
    const { token } = await makeToken(at, 'publish')
    const { session } = await publish(at, { presented: token })
    clock.advance(5000)
    const mediaMs = clock.now()
    countBytes(at.ctx, session.id, { bytesIn: 1000, bytesOut: 0 })
    clock.advance(1000)
    // Bytes of its own receiver reports are not media.
    countBytes(at.ctx, session.id, { bytesIn: 1100, bytesOut: 0, silentMs: 1000 })
    clock.advance(15_000)
    await closeSession(at.ctx, session.id, 'lost')
    const [, ended] = await events()
    expect(ended).toMatchObject({ name: 'feeds ended', data: { ended: mediaMs } })
    expect(await at.ctx.store.read.sessions.get(session.id)).toMatchObject({ endedAtMs: mediaMs })
  })

  it('end a publisher without media no earlier than its start, and one that sends at its last moment', async () => {
    const { token } = await makeToken(at, 'publish')
    const { session: sending } = await publish(at, { presented: token, streamName: 'sending' })
    countBytes(at.ctx, sending.id, { bytesIn: 1000, bytesOut: 0 })
    clock.advance(1500)
    await closeSession(at.ctx, sending.id, 'left')
    const { session: early } = await admit(at, { presented: token, streamName: 'early' })
    countBytes(at.ctx, early.id, { bytesIn: 10, bytesOut: 0 })
    clock.advance(5000)
    await goLive(at.ctx, early.id, silentMedia)
    const startedMs = clock.now()
    await closeSession(at.ctx, early.id, 'lost')
    const ends = (await events()).filter(({ name }) => name === 'feeds ended').map(({ data }) => data['ended'])
    expect(ends).toEqual([startedMs - 5000, startedMs])
  })

  it('end a replaced feed whose network is down at its last media, and start the new one now', async () => {
    const { token } = await makeToken(at, 'publish')
    const { session } = await publish(at, { presented: token })
    clock.advance(3000)
    const mediaMs = clock.now()
    countBytes(at.ctx, session.id, { bytesIn: 1000, bytesOut: 0 })
    clock.advance(8000)
    await publish(at, { presented: token })
    await until(() => !at.ctx.sessions.has(session.id) && at.ctx.sessions.leaving.size === 0)
    const [, ended, started] = await events()
    expect(ended).toMatchObject({ name: 'feeds ended', data: { ended: mediaMs } })
    expect(started).toMatchObject({ name: 'feeds started', data: { started: clock.now() } })
    expect(await names()).toHaveLength(3)
  })

  it('have the length of the broadcast when the clock is set meanwhile, and the next one starts now', async () => {
    const { token } = await makeToken(at, 'publish', { streams: [{ streamName: 'clocks' }] })
    const stream = { presented: token, streamName: 'clocks' }
    const hourMs = 3_600_000
    /** A broadcast of ten seconds during which the clock is set. */
    const broadcast = async (byMs: number) => {
      const { session } = await publish(at, stream)
      clock.advance(4000)
      clock.setWall(byMs)
      countBytes(at.ctx, session.id, { bytesIn: 1000, bytesOut: 0 })
      clock.advance(6000)
      countBytes(at.ctx, session.id, { bytesIn: 2000, bytesOut: 0 })
      await close(session)
      const [past] = await at.ctx.store.read.feeds.broadcasts({
        accountId: at.accountId,
        streamName: 'clocks',
        limit: 1,
      })
      const stored = await at.ctx.store.read.sessions.get(session.id)
      return { past, length: (past?.endedAtMs ?? 0) - (past?.startedAtMs ?? 0), session: stored }
    }
    const startedAtMs = clock.now()
    const ahead = await broadcast(hourMs)
    expect(ahead).toMatchObject({ past: { startedAtMs }, length: 10_000, session: { endedAtMs: startedAtMs + 10_000 } })
    // It started by the wrong clock, which is put right.
    const wrong = await broadcast(-hourMs)
    expect(wrong).toMatchObject({ length: 10_000, past: { startedAtMs: startedAtMs + hourMs + 10_000 } })
    const nowMs = clock.now()
    const next = await broadcast(0)
    expect(next).toMatchObject({ past: { startedAtMs: nowMs + 1 }, length: 9999 })
    const all = await at.ctx.store.read.feeds.broadcasts({ accountId: at.accountId, streamName: 'clocks', limit: 9 })
    expect(all.map((one) => [one.startedAtMs, one.endedAtMs])).toEqual([
      [nowMs + 1, nowMs + 10_000],
      [nowMs - 10_000, nowMs],
      [startedAtMs, startedAtMs + 10_000],
    ])
  })

  it('end a replaced feed before the new one starts, also by their times', async () => {
    const { token } = await makeToken(at, 'publish')
    const connections: Connection[] = []
    for (let n = 0; n < 4; n++) connections.push(await publish(at, { presented: token }))
    await until(
      () => connections.slice(0, -1).every(({ cuts }) => cuts.length > 0) && at.ctx.sessions.leaving.size === 0,
    )
    expect(connections.map(({ cuts }) => cuts)).toEqual([['replaced'], ['replaced'], ['replaced'], []])
    const emitted = await events()
    const started = (n: number) => Number(emitted[n]?.data['started'])
    const ended = (n: number) => Number(emitted[n]?.data['ended'])
    const pair = ['feeds ended', 'feeds started']
    expect(emitted.map(({ name }) => name)).toEqual(['feeds started', ...pair, ...pair, ...pair])
    for (const n of [1, 3, 5]) {
      expect(ended(n)).toBeGreaterThanOrEqual(started(n))
      expect(started(n + 1)).toBeGreaterThan(ended(n))
    }
  })

  it('leave exactly one feed when many go live on one source at once', async () => {
    const { token } = await makeToken(at, 'publish')
    await Promise.all(Array.from({ length: 20 }, () => publish(at, { presented: token })))
    await until(() => at.ctx.sessions.size === 1 && at.ctx.sessions.leaving.size === 0)
    expect(at.ctx.sessions.feeds.all()).toHaveLength(1)
    const emitted = await names()
    expect(emitted.filter((name) => name === 'feeds started')).toHaveLength(20)
    expect(emitted.filter((name) => name === 'feeds ended')).toHaveLength(19)
    expect(await at.ctx.store.read.feeds.remote('', 10)).toMatchObject([
      { feedId: at.ctx.sessions.feeds.all()[0]?.feedId },
    ])
  })

  it('report the end of a feed whose edge does not answer, after five seconds', async () => {
    const { id, token } = await makeToken(at, 'publish')
    const stuck = { sourceId: null, cut: () => new Promise<void>(() => undefined) }
    const admitted = await admitPublisher(at.ctx, attemptOf({ presented: token }), stuck)
    if (!admitted.ok) throw new Error(admitted.message)
    await goLive(at.ctx, admitted.session.id, silentMedia)
    await at.call('DELETE', `/api/publish_token/${id}`)
    await until(() => at.ctx.sessions.get(admitted.session.id)?.ending !== null)
    await new Promise((resolve) => setImmediate(resolve))
    expect(await names()).toEqual(['feeds started'])
    clock.advance(5000)
    await until(async () => (await names()).includes('feeds ended'))
  })

  it('keep several sources of one name apart, unless the token is for one source only', async () => {
    const { token } = await makeToken(at, 'publish')
    const [one, two] = [
      await publish(at, { presented: token, sourceId: 'one' }),
      await publish(at, { presented: token, sourceId: 'two' }),
    ]
    expect([one.cuts, two.cuts]).toEqual([[], []])
    const single = await makeToken(at, 'publish', { multisource: false })
    const alone = await publish(at, { presented: single.token, sourceId: 'three' })
    await until(() => one.cuts.length > 0 && two.cuts.length > 0)
    expect(alone.session.sourceId).toBeNull()
    expect(at.ctx.sessions.feeds.ofStream(at.accountId, 'show')).toMatchObject([{ sessionId: alone.session.id }])
  })

  it('report the first viewer, and later that a stream has had no viewers for a while', async () => {
    const { token } = await makeToken(at, 'publish')
    await publish(at, { presented: token })
    const viewers = await Promise.all(Array.from({ length: 5 }, () => view(at)))
    for (const { session } of viewers) await close(session)
    clock.advance(IDLE_MS - 1)
    expect(await emitIdleStreams(at.ctx, IDLE_MS)).toBe(0)
    const back = await view(at)
    clock.advance(IDLE_MS + 1)
    expect(await emitIdleStreams(at.ctx, IDLE_MS)).toBe(0)
    await close(back.session)
    clock.advance(IDLE_MS)
    const emitted = await Promise.all([emitIdleStreams(at.ctx, IDLE_MS), emitIdleStreams(at.ctx, IDLE_MS)])
    expect(emitted[0] + emitted[1]).toBe(1)
    await view(at)
    const viewing = (await events()).filter(({ name }) => name.startsWith('viewerConnection'))
    expect(viewing.map(({ name }) => name)).toEqual([
      'viewerConnection FirstViewerConnection',
      'viewerConnection NoActiveViewers',
      'viewerConnection FirstViewerConnection',
    ])
    expect(viewing[0]?.data).toEqual({ name: 'show', accountId: at.accountId, streamId: `${at.accountId}/show` })
  })

  it('report failed attempts at most once per ten seconds and stream', async () => {
    const attempt = (streamName: string) => tryToView(at, { streamName })
    await attempt('dark')
    const writes = vi.spyOn(at.ctx.store, 'transaction')
    for (let n = 0; n < 5; n++) expect(await attempt('dark')).toMatchObject({ status: 409 })
    // A flood of them writes nothing.
    expect(writes).not.toHaveBeenCalled()
    writes.mockRestore()
    await attempt('darker')
    clock.advance(9_999)
    await attempt('dark')
    // Nor at another node, which does not know what this one remembers.
    const other = await startTestNode({ url: place.url, clock })
    await tryToView({ ctx: other.ctx, accountId: at.accountId }, { streamName: 'dark' })
    await other.close()
    expect(await names()).toHaveLength(2)
    clock.advance(1)
    await attempt('dark')
    expect((await events()).map(({ data }) => data['name'])).toEqual(['dark', 'darker', 'dark'])
    expect(new Set(await names())).toEqual(new Set(['viewerConnection ViewerAttempt']))
  })

  it('end a feed whose token was deleted during an outage of the store, when the store is back', async () => {
    const { id, token } = await makeToken(at, 'publish')
    const publisher = await publish(at, { presented: token })
    await at.ctx.store.transaction((tx) => tx.tokens.delete({ id, accountId: at.accountId, kind: 'publish' }))
    // The store has been silent so long that the cache is no longer valid.
    clock.advance(3_600_001)
    at.ctx.cache.forgetToken(id)
    await until(() => at.ctx.sessions.unchecked.has(id))
    await until(async () => {
      await at.node.reconcile()
      return (await names()).includes('feeds ended')
    })
    expect(publisher.cuts).toEqual(['token_deleted'])
    expect(at.ctx.sessions.unchecked.size).toBe(0)
  })

  it('that end before their token could be checked leave nothing to check', async () => {
    const { id, token } = await makeToken(at, 'publish')
    const { session } = await publish(at, { presented: token })
    clock.advance(3_600_001)
    at.ctx.cache.forgetToken(id)
    await until(() => at.ctx.sessions.unchecked.has(id))
    await closeSession(at.ctx, session.id, 'left')
    await until(() => at.ctx.cache.silentMs() === 0)
    await at.node.reconcile()
    expect(at.ctx.sessions.unchecked.size).toBe(0)
  })

  it('do not occur for a publisher that has ended in the store, and the feed that replaced it stays', async () => {
    const { token } = await makeToken(at, 'publish')
    const late = await admit(at, { presented: token })
    const there = await publish(at, { presented: token })
    // As another node does when it gives this one up.
    await at.ctx.store.transaction((tx) => tx.sessions.end([ending(late.session.id, clock.now(), 'lost')]))
    expect(await goLive(at.ctx, late.session.id, silentMedia)).toBeUndefined()
    expect([there.cuts, await names()]).toEqual([[], ['feeds started']])
  })

  it('do not occur at a node that is being given up', async () => {
    const { token } = await makeToken(at, 'publish')
    const late = await admit(at, { presented: token })
    const { node } = at.ctx.sessions
    await at.ctx.store.transaction((tx) => tx.nodes.giveUp(node, true))
    expect(await goLive(at.ctx, late.session.id, silentMedia)).toBeUndefined()
    expect(await names()).toEqual([])
    await at.ctx.store.transaction(async (tx) => {
      await tx.nodes.delete(node)
      await tx.nodes.insert({ id: node, hostKey: 'here', pid: 1, url: null }, 300_000)
    })
  })

  it('do not report more stream names than exist', async () => {
    for (let n = 0; n < 1100; n++) await tryToView(at, { streamName: `guess${n}` })
    expect(await names()).toHaveLength(1000)
  })
})
