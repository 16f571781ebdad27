import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { admitPublisher } from '../../src/commands/sessions/admit.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { goLive } from '../../src/commands/sessions/goLive.ts'
import { reprioritize } from '../../src/commands/sessions/sessions.ts'
import { settleSpares, SpareWatch } from '../../src/commands/sessions/spares.ts'
import { readStaleFeeds, refreshRemoteFeeds } from '../../src/commands/sessions/revoke.ts'
import { cliActor } from '../../src/commands/context.ts'
import type { Session } from '../../src/core/sessions/types.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import {
  attemptOf,
  eventsOf,
  makeToken,
  silentMedia,
  startTestNode,
  type TestNode,
  type Use,
  view,
} from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'

describe.each(testedStores())('publishers of one source on %s', (engine) => {
  const clock = new ManualClock()
  let place: Place
  let at: TestNode
  beforeAll(async () => {
    place = await newPlace(engine)
    at = await startTestNode({ url: place.url, clock })
  })
  afterEach(async () => {
    for (const { session } of at.ctx.sessions.all()) await closeSession(at.ctx, session.id, 'left')
    await until(() => at.ctx.sessions.leaving.size === 0)
  })
  afterAll(async () => {
    await at.close()
    await place.remove()
  })

  interface Publisher {
    readonly session: Session
    readonly cuts: string[]
    /** `show`, `hide` of its feeds. */
    readonly air: string[]
    lateMs: number
  }

  /** A publisher whose media has begun. */
  async function begin(use: Use, priority: number | null = null, node = at): Promise<Publisher> {
    const publisher = await enter(use, priority, node)
    await goLive(node.ctx, publisher.session.id, silentMedia)
    return publisher
  }

  async function enter(use: Use, priority: number | null, node = at): Promise<Publisher> {
    const publisher = { cuts: [] as string[], air: [] as string[], lateMs: 0 }
    const admitted = await admitPublisher(node.ctx, attemptOf(use), {
      sourceId: use.sourceId ?? null,
      priority,
      lateMs: () => publisher.lateMs,
      show() {
        publisher.air.push('show')
        return () => publisher.air.push('hide')
      },
      async cut({ id }, reason) {
        publisher.cuts.push(reason)
        await closeSession(node.ctx, id, 'left')
      },
    })
    if (!admitted.ok) throw new Error(admitted.message)
    return Object.assign(publisher, { session: admitted.session })
  }

  const onAir = (node = at): string[] => node.ctx.sessions.feeds.all().map(({ sessionId }) => sessionId)
  const isOnAir = ({ session }: Publisher, node = at) =>
    until(() => onAir(node)[0] === session.id && onAir(node).length === 1)
  const close = ({ session }: Publisher, node = at) => closeSession(node.ctx, session.id, 'left')

  it('the highest is on the air, and the others take over in their order when it leaves', async () => {
    const { token } = await makeToken(at, 'publish')
    const first = (await eventsOf(at)).length
    const [none, high, low] = [
      await begin({ presented: token }),
      await begin({ presented: token }, 5),
      await begin({ presented: token }, -1),
    ]
    expect(onAir()).toEqual([high.session.id])
    expect([none.air, high.air, low.air]).toEqual([['show', 'hide'], ['show'], []])
    await close(high)
    await isOnAir(low)
    await close(low)
    await isOnAir(none)
    expect([none.cuts, high.cuts, low.cuts]).toEqual([[], [], []])
    await close(none)
    const events = (await eventsOf(at)).slice(first)
    const started = events.filter(({ name }) => name === 'feeds started').map(({ data }) => data)
    const [one, two, three] = started.map(({ feedId }) => feedId)
    expect(started.map(({ priority, previousFeedId }) => [priority, previousFeedId])).toEqual([
      [undefined, undefined],
      [5, one],
      [-1, two],
      [undefined, three],
    ])
    // One feed after the other, each with one start and one end.
    expect(events.map(({ name }) => name)).toEqual(
      Array.from({ length: 4 }, () => ['feeds started', 'feeds ended']).flat(),
    )
  })

  it('lists say which one is shown, which ones wait, and with what priority', async () => {
    const { token } = await makeToken(at, 'publish', { priority: 3 })
    const [main, spare] = [await begin({ presented: token }), await begin({ presented: token }, 1)]
    const published = async () => {
      const { data } = (await at.call('GET', '/api/sessions?action=publish')).json as {
        data: Record<string, unknown>[]
      }
      return new Map(data.map((one) => [one['id'], one]))
    }
    const onAirNow = async () => ((await at.call('GET', '/api/streams/live')).json as { data: object[] }).data[0]
    const listed = await published()
    expect(listed.get(main.session.id)).toMatchObject({
      shown: true,
      priority: 3,
      feedId: expect.any(String) as string,
    })
    expect(listed.get(spare.session.id)).toMatchObject({ shown: false, priority: 1 })
    expect(listed.get(spare.session.id)).not.toHaveProperty('feedId')
    expect(await onAirNow()).toMatchObject({ sessionId: main.session.id, priority: 3, spares: 1 })
    const better = await begin({ presented: token }, 4)
    expect((await published()).get(main.session.id)).toMatchObject({ shown: false })
    expect((await published()).get(main.session.id)).not.toHaveProperty('feedId')
    await close(better)
    await isOnAir(main)
    await close(spare)
    await until(() => at.ctx.sessions.leaving.size === 0)
    expect((await published()).get(main.session.id)).toMatchObject({ shown: true })
    expect(await onAirNow()).not.toHaveProperty('spares')
  })

  it('one of the same priority replaces the other, also among spares', async () => {
    const { token } = await makeToken(at, 'publish')
    const high = await begin({ presented: token }, 2)
    const [older, newer] = [await begin({ presented: token }, 1), await begin({ presented: token }, 1)]
    expect(onAir()).toEqual([high.session.id])
    const next = await begin({ presented: token }, 2)
    await until(() => high.cuts.length === 1)
    expect([onAir(), high.cuts, older.cuts, newer.cuts]).toEqual([[next.session.id], ['replaced'], ['replaced'], []])
  })

  it('the priority of the address wins over that of the token', async () => {
    const [high, low] = [
      await makeToken(at, 'publish', { priority: 9 }),
      await makeToken(at, 'publish', { priority: 1 }),
    ]
    const one = await begin({ presented: high.token })
    await begin({ presented: low.token })
    expect(onAir()).toEqual([one.session.id])
    const other = await begin({ presented: low.token }, 10)
    expect(onAir()).toEqual([other.session.id])
  })

  it('each is held to the rules of its own token', async () => {
    const main = await makeToken(at, 'publish', { priority: 2, record: true })
    const spare = await makeToken(at, 'publish', { priority: 1, subscribeRequiresAuth: true })
    const [one, other] = [await begin({ presented: main.token }), await begin({ presented: spare.token })]
    expect(at.ctx.sessions.feeds.all()).toMatchObject([{ tokenId: main.id, record: true, secured: false }])
    const subscribe = await makeToken(at, 'subscribe')
    const [anonymous, known] = [await view(at), await view(at, { presented: subscribe.token })]
    await at.call('DELETE', `/api/publish_token/${main.id}`)
    await isOnAir(other)
    await until(() => anonymous.cuts.length === 1)
    expect([one.cuts, anonymous.cuts, known.cuts]).toEqual([['token_deleted'], ['source_gone'], []])
    expect(at.ctx.sessions.feeds.all()).toMatchObject([{ tokenId: spare.id, record: false, secured: true }])
    await at.call('DELETE', `/api/publish_token/${spare.id}`)
    await until(() => onAir().length === 0)
  })

  it('sources are apart', async () => {
    const { token } = await makeToken(at, 'publish')
    await begin({ presented: token, sourceId: 'a' }, 5)
    await begin({ presented: token, sourceId: 'b' }, 1)
    expect(onAir()).toHaveLength(2)
  })

  it('a spare takes over from one whose media is late, which comes back when it is in time for three seconds', async () => {
    const { token } = await makeToken(at, 'publish')
    const watch = new SpareWatch(at.ctx)
    const look = async (ms = 100) => {
      for (let gone = 0; gone < ms; gone += 100) {
        clock.advance(100)
        await watch.look()
      }
    }
    const [main, spare] = [await begin({ presented: token }, 2), await begin({ presented: token }, 1)]
    await look(1000)
    expect(onAir()).toEqual([main.session.id])
    main.lateMs = 600
    await look()
    expect(onAir()).toEqual([spare.session.id])
    main.lateMs = 0
    await look(3000)
    expect(onAir()).toEqual([spare.session.id])
    await look()
    expect(onAir()).toEqual([main.session.id])
    expect([main.cuts, spare.cuts, main.air, spare.air]).toEqual([[], [], ['show', 'hide', 'show'], ['show', 'hide']])
    // With both late, nothing is better.
    main.lateMs = spare.lateMs = 600
    await look(500)
    expect(onAir()).toEqual([main.session.id])
    await close(spare)
    await look()
    main.lateMs = 0
    await begin({ presented: token }, 1)
    expect(onAir()).toEqual([main.session.id])
  })

  it('a take-over that the store did not take is tried with the next look', async () => {
    const { token } = await makeToken(at, 'publish')
    const watch = new SpareWatch(at.ctx)
    const [main, spare] = [await begin({ presented: token }, 2), await begin({ presented: token }, 1)]
    const written = vi.spyOn(at.ctx.store, 'transaction').mockRejectedValue(new StoreUnavailable('it is away'))
    main.lateMs = 600
    await expect(watch.look()).rejects.toThrow('it is away')
    written.mockRestore()
    await watch.look()
    expect(onAir()).toEqual([spare.session.id])
  })

  it('a look that is late itself judges nothing: the media waits in sockets', async () => {
    const { token } = await makeToken(at, 'publish')
    const watch = new SpareWatch(at.ctx)
    const main = await begin({ presented: token }, 2)
    await begin({ presented: token }, 1)
    await watch.look()
    main.lateMs = 5000
    clock.advance(5000)
    await watch.look()
    expect(onAir()).toEqual([main.session.id])
  })

  it('get another priority by disconnecting: the new one counts when they come back', async () => {
    const [one, other] = [
      await makeToken(at, 'publish', { priority: 1 }),
      await makeToken(at, 'publish', { priority: 2 }),
    ]
    const [spare, main] = [await begin({ presented: one.token }), await begin({ presented: other.token })]
    const actor = cliActor(at.accountId)
    const asked = await reprioritize(at.ctx, actor, { tokenId: one.id, updatePriority: 3 })
    expect(asked).toEqual({ ok: true, value: { stoppingLevel: 'Token' } })
    expect([spare.cuts, main.cuts]).toEqual([['reprioritized'], []])
    const back = await begin({ presented: one.token })
    expect(onAir()).toEqual([back.session.id])
    await close(back)
    expect(await reprioritize(at.ctx, actor, { tokenId: one.id, updatePriority: null })).toEqual({
      ok: true,
      value: { stoppingLevel: 'None' },
    })
    expect(await reprioritize(at.ctx, actor, { tokenId: 999_999, updatePriority: 1 })).toMatchObject({ ok: false })
    for (const body of [
      { tokenId: one.id },
      { updatePriority: 1 },
      { tokenId: 'x', updatePriority: 1.5 },
      null,
      { tokenId: 1, updatePriority: 1, x: 1 },
    ])
      expect(await reprioritize(at.ctx, actor, body)).toMatchObject({ ok: false, error: { code: 'validation' } })
  })

  it('a spare takes over when the end is written, and does not wait until changes are read', async () => {
    const other = await startTestNode({ url: place.url, clock })
    const { token } = await makeToken(at, 'publish')
    const [main, spare] = [await begin({ presented: token }, 2, other), await begin({ presented: token }, 1, other)]
    await other.ctx.cache.stop()
    await close(main, other)
    await isOnAir(spare, other)
    await other.close()
  })

  it('a spare that takes over does not replace the publisher of its priority that has come meanwhile', async () => {
    const { token } = await makeToken(at, 'publish')
    const spare = await begin({ presented: token }, 1)
    const main = await begin({ presented: token }, 2)
    const newer = await enter({ presented: token }, 1)
    await close(main)
    await Promise.all([newer, spare].map(({ session }) => goLive(at.ctx, session.id, silentMedia)))
    expect([onAir(), newer.cuts, spare.cuts]).toEqual([[newer.session.id], [], ['replaced']])
  })

  it('a spare whose take-over was written, and its answer lost, is on the air with the next look', async () => {
    const { token } = await makeToken(at, 'publish')
    const [main, spare] = [await begin({ presented: token }, 2), await begin({ presented: token }, 1)]
    const first = (await eventsOf(at)).length
    const { store, sessions } = at.ctx
    // The node looks by itself when it reads changes, and when an end is written.
    await sessions.feeds.reading.add('feeds', async () => undefined)
    const reading = vi.spyOn(sessions.feeds.reading, 'add').mockResolvedValue()
    const ended = vi.spyOn(sessions, 'endsAreWritten').mockImplementation(() => undefined)
    await close(main)
    ended.mockRestore()
    const written = vi.spyOn(store, 'transaction').mockImplementationOnce(async (work) => {
      written.mockRestore()
      await store.transaction(work)
      throw new StoreUnavailable('the answer was lost')
    })
    await expect(settleSpares(at.ctx)).rejects.toThrow('the answer was lost')
    expect(onAir()).toEqual([])
    reading.mockRestore()
    await settleSpares(at.ctx)
    expect(onAir()).toEqual([spare.session.id])
    const events = (await eventsOf(at)).slice(first).map(({ name }) => name)
    expect(events).toEqual(['feeds ended', 'feeds started'])
  })

  it('at two nodes: the higher one takes the air, and the other one takes it back', async () => {
    const other = await startTestNode({ url: place.url, clock })
    const { token } = await makeToken(at, 'publish')
    const settle = async ({ ctx }: TestNode) => settleSpares(ctx, await refreshRemoteFeeds(ctx))
    const low = await begin({ presented: token }, 1)
    const high = await begin({ presented: token }, 2, other)
    await settle(at)
    expect([onAir(at), onAir(other)]).toEqual([[], [high.session.id]])
    await close(high, other)
    await until(() => other.ctx.sessions.leaving.size === 0)
    await settle(at)
    expect([onAir(at), low.cuts]).toEqual([[low.session.id], []])
    await other.close()
  })

  it('at two nodes: of two spares of one priority the newer stays', async () => {
    const other = await startTestNode({ url: place.url, clock })
    const { token } = await makeToken(at, 'publish')
    const main = await begin({ presented: token }, 2)
    const [older, lower] = [await begin({ presented: token }, 1, other), await begin({ presented: token }, 0, other)]
    const newer = await begin({ presented: token }, 1)
    await until(() => older.cuts.length > 0)
    expect([main, older, lower, newer].map(({ cuts }) => cuts)).toEqual([[], ['replaced'], [], []])
    await other.close()
  })

  it('at two nodes: one that was outranked without hearing of it is disconnected by the next of its priority', async () => {
    const other = await startTestNode({ url: place.url, clock })
    const { token } = await makeToken(at, 'publish')
    await at.ctx.cache.stop()
    const first = await begin({ presented: token }, 1)
    await close(await begin({ presented: token }, 2, other), other)
    await until(() => other.ctx.sessions.leaving.size === 0)
    clock.advance(1000)
    const second = await begin({ presented: token }, 1)
    expect([onAir(at), first.cuts, second.cuts]).toEqual([[second.session.id], ['replaced'], []])
    // Here the next one comes before this node hears of it.
    await begin({ presented: token }, 2, other)
    clock.advance(1000)
    const third = await begin({ presented: token }, 1)
    await settleSpares(at.ctx, await refreshRemoteFeeds(at.ctx))
    expect([onAir(at), second.cuts, third.cuts]).toEqual([[], ['replaced'], []])
    await other.close()
  })

  it('at two nodes: one that is outranked before its node knows that it is on the air is a spare in the end', async () => {
    const other = await startTestNode({ url: place.url, clock })
    const { token } = await makeToken(at, 'publish')
    await at.ctx.cache.stop()
    const { store, sessions } = at.ctx
    const low = await enter({ presented: token }, 1)
    const written = vi.spyOn(store, 'transaction').mockImplementationOnce(async (work) => {
      written.mockRestore()
      const begun = await store.transaction(work)
      await begin({ presented: token }, 2, other)
      sessions.feeds.stale.add(low.session)
      await readStaleFeeds(at.ctx, settleSpares)
      return begun
    })
    await goLive(at.ctx, low.session.id, silentMedia)
    await readStaleFeeds(at.ctx, settleSpares)
    expect([onAir(at), onAir(other).length, low.cuts, sessions.spares.size]).toEqual([[], 1, [], 1])
    await other.close()
  })

  it('at two nodes: one that was outranked for a moment, of which its node has read nothing, is on the air again with the next read', async () => {
    const [one, other] = [
      await startTestNode({ url: place.url, clock }),
      await startTestNode({ url: place.url, clock }),
    ]
    const { token } = await makeToken(one, 'publish')
    await one.ctx.cache.stop()
    await one.app.due.stop()
    const low = await begin({ presented: token }, 1, one)
    await close(await begin({ presented: token }, 2, other), other)
    await until(() => other.ctx.sessions.leaving.size === 0)
    one.ctx.sessions.feeds.stale.add(low.session)
    await readStaleFeeds(one.ctx, settleSpares)
    expect([one.ctx.sessions.feeds.hasPeers, low.air, low.cuts]).toEqual([false, ['show', 'hide', 'show'], []])
    await close(low, one)
    await Promise.all([one.close(), other.close()])
  })
})
