import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { makeToken, publish, startTestNode, type TestNode, tryToView, view } from '../support/testNode.ts'
import { until } from '../support/until.ts'

describe.each(testedStores())('feeds of other nodes on %s', (engine) => {
  let place: Place
  let one: TestNode
  let two: TestNode
  let token: string
  beforeEach(async () => {
    place = await newPlace(engine)
    one = await startTestNode({ url: place.url })
    two = await startTestNode({ url: place.url })
    token = (await makeToken(two, 'publish')).token
  })
  afterEach(async () => {
    vi.restoreAllMocks()
    await one.close()
    await two.close()
    await place.remove()
  })

  const knows = (streamName: string) => one.ctx.sessions.feeds.remotesOf(one.accountId, streamName).length
  /** The reads of node one from now on: names of streams, or `all`. */
  const readsOf = ({ ctx }: TestNode) => {
    const reads: string[][] = []
    const { feeds } = ctx.store.read
    const [remote, openOf] = [feeds.remote.bind(feeds), feeds.openOf.bind(feeds)]
    vi.spyOn(feeds, 'remote').mockImplementation((node, limit) => {
      reads.push(['all'])
      return remote(node, limit)
    })
    vi.spyOn(feeds, 'openOf').mockImplementation((streams) => {
      reads.push(streams.map(({ streamName }) => streamName))
      return openOf(streams)
    })
    return reads
  }

  it('are read by the stream that changed, and forgotten with its last feed', async () => {
    const { session } = await publish(two, { presented: token, streamName: 'first' })
    await until(() => knows('first') === 1)
    const reads = readsOf(one)
    await publish(two, { presented: token, streamName: 'second' })
    await until(() => knows('second') === 1)
    await closeSession(two.ctx, session.id, 'left')
    await until(() => knows('first') === 0)
    expect(knows('second')).toBe(1)
    expect(new Set(reads.flat())).toEqual(new Set(['first', 'second']))
  })

  it('are all read when the node checks them, or when a read has failed', async () => {
    await publish(two, { presented: token, streamName: 'show' })
    await until(() => knows('show') === 1)
    // No change is read beside what follows.
    await one.ctx.cache.stop()
    await one.app.due.stop()
    await one.node.check()
    one.ctx.sessions.feeds.setRemote([], true)
    await one.node.check()
    expect(knows('show')).toBe(1)
    one.ctx.sessions.feeds.setRemote([], true)
    one.ctx.sessions.feeds.stale.add({ accountId: one.accountId, streamName: 'other' })
    const down = new StoreUnavailable('down')
    vi.spyOn(one.ctx.store.read.feeds, 'openOf').mockRejectedValueOnce(down)
    await expect(one.node.reconcile()).rejects.toBe(down)
    await one.node.reconcile()
    expect(knows('show')).toBe(1)
  })

  const secured = async () => (await makeToken(two, 'publish', { subscribeRequiresAuth: true })).token

  it('whose viewers need tokens take away those who came to an open one without, and no others', async () => {
    const { token: presented } = await makeToken(two, 'subscribe')
    const { session } = await publish(one, { presented: token })
    const [anonymous, known] = [await view(one), await view(one, { presented })]
    await closeSession(one.ctx, session.id, 'left')
    await publish(two, { presented: await secured() })
    await until(() => anonymous.cuts.length === 1)
    expect([anonymous.cuts, known.cuts]).toEqual([['source_gone'], []])
  })

  it('whose viewers need tokens admit none whose access was decided before they began', async () => {
    await publish(two, { presented: token })
    await until(() => knows('show') === 1)
    const presented = await secured()
    vi.spyOn(one.ctx.cascade, 'has').mockReturnValue(true)
    vi.spyOn(one.ctx.cascade, 'take').mockImplementation(async () => {
      await publish(two, { presented })
      await until(() => one.ctx.sessions.feeds.onAir(one.accountId, 'show')?.secured === true)
      return true
    })
    expect(await tryToView(one)).toMatchObject({ ok: false, status: 401 })
  })

  it('whose viewers need tokens are taken from nodes that had them as open', async () => {
    const taken: boolean[] = []
    const stream = { accountId: two.accountId, streamName: 'show' }
    const lent = { region: '', stream, feedAt: two.ctx.sessions.node, figures: () => null }
    for (const isSecured of [true, false])
      two.ctx.lentRooms.add({ ...lent, to: `node ${isSecured}`, isSecured, end: () => taken.push(isSecured) })
    await publish(two, { presented: token })
    expect(taken).toEqual([])
    await publish(two, { presented: await secured() })
    expect(taken).toEqual([false])
  })

  it('that do not fit in memory are asked for one by one', () => {
    const { sessions } = one.ctx
    const feed = (streamName: string) => ({
      accountId: 'a',
      streamName,
      feedId: streamName,
      sourceId: null,
      secured: false,
      regions: null,
      tokenId: 7,
      priority: null,
      node: 'n',
      url: null,
    })
    sessions.feeds.setRemote([], true)
    const change = (...names: string[]) => sessions.feeds.setRemoteOf(names.map(feed), names.map(feed), 2)
    change('a', 'b')
    expect(sessions.feeds.knowsAll).toBe(true)
    change('b', 'c')
    expect([
      sessions.feeds.knowsAll,
      sessions.feeds.remotesOf('a', 'b').length,
      sessions.feeds.remotesOf('a', 'c').length,
    ]).toEqual([false, 1, 0])
  })
})
