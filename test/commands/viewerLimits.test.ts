import * as fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { evaluate } from '../../src/commands/access/authorize.ts'
import { viewerLimits } from '../../src/commands/access/viewerLimits.ts'
import { mayView } from '../../src/commands/sessions/admit.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { takeLateSeats } from '../../src/commands/sessions/lateSeats.ts'
import { recheckAll, recheckLate } from '../../src/commands/sessions/revoke.ts'
import { tokenLimits } from '../../src/core/access/viewerLimits.ts'
import { signSubscribeToken } from '../../src/sign.ts'
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

const REACHED = { ok: false, status: 429, code: 'viewer_limit', retryAfterSeconds: 10 }

describe.each(testedStores())('limits of concurrent viewers on %s', (engine) => {
  let place: Place
  let nodes: TestNode[] = []
  afterEach(async () => {
    vi.restoreAllMocks()
    for (const node of nodes.splice(0)) await node.close()
    await place.remove()
  })

  /** Nodes that each have a source of the stream, which is named as the node. */
  async function start(count: number, publishing: object = {}): Promise<TestNode[]> {
    place = await newPlace(engine)
    nodes = []
    for (let n = 0; n < count; n++) nodes.push(await startTestNode({ url: place.url, leaseMs: 300_000 }))
    const { token } = await makeToken(first(), 'publish', publishing)
    for (const [n, node] of nodes.entries()) await publish(node, { presented: token, sourceId: `${n}` })
    return nodes
  }
  const first = (): TestNode => nodes[0] as TestNode

  /** A viewer at one of the nodes. Over HLS `viewer` is the ticket. */
  const watch = (n: number, use: Use = {}, viewer?: string) =>
    tryToView(nodes[n] as TestNode, use, {
      sourceId: `${n}`,
      cut: async ({ id }) => closeSession((nodes[n] as TestNode).ctx, id, 'left'),
      ...(viewer === undefined ? {} : { viewer }),
    })
  const viewersOf = async (n: number) =>
    (
      await (nodes[n] as TestNode).ctx.store.read.sessions.page({
        accountId: first().accountId,
        action: 'view',
        limit: 99,
      })
    ).length
  const leave = async (n: number, session: { readonly id: string }) =>
    closeSession((nodes[n] as TestNode).ctx, session.id, 'left')

  it('counts no viewer who leaves while those who came before the limit take their seats', async () => {
    const [{ ctx }] = (await start(1)) as [TestNode]
    const { id, token } = await makeToken(first(), 'subscribe')
    const { session } = await view(first(), { presented: token })
    const cached = await ctx.cache.tokenById(id)
    if (!cached) throw new Error('no token')
    const transaction = ctx.store.transaction.bind(ctx.store)
    vi.spyOn(ctx.store, 'transaction').mockImplementationOnce(async (work) => {
      await leave(0, session)
      return transaction(work)
    })
    const [limit] = tokenLimits({ kind: 'token', token: { ...cached.snapshot, maxViewers: 2 } })
    await takeLateSeats(ctx, { ...cached.snapshot, maxViewers: 2 }, new Set(), false)
    expect(await ctx.store.read.viewerSeats.count(limit?.holder ?? '')).toBe(0)
  })

  it('is reached by no viewer over HLS who has a seat already, and known where memory has not all feeds', async () => {
    await start(2, { maxViewers: 1 })
    const hls = (viewer: string) => watch(0, { protocol: 'hls' }, viewer)
    expect([await hls('a'), await hls('a')]).toMatchObject([{ ok: true }, { ok: true }])
    expect(await hls('b')).toMatchObject(REACHED)

    const { ctx, accountId } = first()
    const { token } = await makeToken(first(), 'publish', { maxViewers: 7 })
    await publish(nodes[1] as TestNode, { presented: token, streamName: 'far' })
    ctx.sessions.feeds.setRemote([], false)
    const attempt = attemptOf({ action: 'view', accountId, streamName: 'far' })
    const limits = await viewerLimits(ctx, await evaluate(ctx, attempt, ctx.clock.now()))
    expect(limits).toMatchObject([{ of: 'stream', most: 7 }])
  })

  it('of a token holds whatever stream is watched, and its seats are free after the end and after a deletion', async () => {
    await start(1)
    const { token } = await makeToken(first(), 'subscribe', { maxViewers: 2 })
    const [one, two] = [await view(first(), { presented: token }), await view(first(), { presented: token })]
    expect(await watch(0, { presented: token })).toMatchObject({ ...REACHED, message: 'Too many viewers' })
    expect(await watch(0)).toMatchObject({ ok: true })
    await leave(0, one.session)
    expect(await watch(0, { presented: token })).toMatchObject({ ok: true })
    expect(await watch(0, { presented: token })).toMatchObject(REACHED)
    await first().call('DELETE', `/api/sessions/${two.session.id}`)
    await until(async () => (await watch(0, { presented: token })).ok)
  })

  it('of a publish token holds for each of its streams, with tokens of viewers and without', async () => {
    await start(1, { maxViewers: 1 })
    const { token } = await makeToken(first(), 'publish', { maxViewers: 1 })
    await publish(first(), { presented: token, streamName: 'other' })
    const { token: viewer } = await makeToken(first(), 'subscribe')
    expect(await watch(0, { presented: viewer })).toMatchObject({ ok: true })
    expect(await watch(0)).toMatchObject(REACHED)
    expect(await watch(0, { streamName: 'other' })).toMatchObject({ ok: false, code: 'stream_not_published' })
    const other = () => tryToView(first(), { streamName: 'other' })
    expect([await other(), await other()]).toMatchObject([{ ok: true }, REACHED])
    const attempt = attemptOf({ action: 'view', protocol: 'hls', accountId: first().accountId })
    expect(await mayView(first().ctx, attempt, { sourceId: '0' })).toMatchObject(REACHED)
  })

  it('of a tracking id counts the self-signed tokens with that claim, and never widens the parent', async () => {
    await start(1)
    const { id, token } = await makeToken(first(), 'subscribe', { maxViewers: 3 })
    const signed = (trackingId: string, maxViewers: number) =>
      signSubscribeToken({ token, tokenId: id, streamName: 'show', tracking: { trackingId }, maxViewers })
    expect(await watch(0, { presented: signed('a', 1) })).toMatchObject({ ok: true })
    expect(await watch(0, { presented: signed('a', 1) })).toMatchObject(REACHED)
    expect(await watch(0, { presented: signed('b', 1000) })).toMatchObject({ ok: true })
    expect(await watch(0, { presented: signed('b', 1000) })).toMatchObject({ ok: true })
    expect(await watch(0, { presented: signed('b', 1000) })).toMatchObject(REACHED)
  })

  // SQLite has one node.
  if (engine === 'PostgreSQL')
    it('lets a viewer over HLS at two nodes have one seat, and keep it while one of them serves it', async () => {
      await start(2)
      const { token } = await makeToken(first(), 'subscribe', { maxViewers: 1 })
      const use = { presented: token, protocol: 'hls' } as const
      const [here, there] = [await watch(0, use, 'ticket'), await watch(1, use, 'ticket')]
      if (!here.ok || !there.ok) throw new Error('refused')
      expect(await watch(0, use, 'another')).toMatchObject(REACHED)
      await leave(0, here.session)
      expect(await watch(0, use, 'another')).toMatchObject(REACHED)
      await leave(1, there.session)
      expect(await watch(0, use, 'another')).toMatchObject({ ok: true })
    })

  it('admits exactly as many as it says, at once, and binds no address and writes no session for the others', async () => {
    const count = engine === 'SQLite' ? 1 : 2
    await start(count)
    const { id, token } = await makeToken(first(), 'subscribe', { maxViewers: 5, bindIpsOnUsage: 100 })
    await view(first(), { presented: token, ip: '192.0.2.99', sourceId: '0' })
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => watch(n % count, { presented: token, ip: '192.0.2.99' })),
    )
    expect(answers.filter(({ ok }) => ok)).toHaveLength(4)
    expect(await viewersOf(0)).toBe(5)
    expect(nodes.reduce((sum, { ctx }) => sum + ctx.sessions.all().length, 0)).toBe(5 + count)
    expect(await watch(0, { presented: token, ip: '192.0.2.1' })).toMatchObject(REACHED)
    const bound = await first().call('GET', `/api/subscribe_token/${id}/bound_ips`)
    expect(bound.json.data.map(({ address }: { address: string }) => address)).toEqual(['192.0.2.99'])
  })

  it('counts those who watch already when it is new, and ends none', async () => {
    await start(1)
    const { id, token } = await makeToken(first(), 'subscribe')
    const viewers = [await view(first(), { presented: token }), await view(first(), { presented: token })]
    await first().call('PUT', `/api/subscribe_token/${id}`, { maxViewers: 1 })
    const count = () => first().ctx.store.read.viewerSeats.count(`token/${id}`)
    await until(async () => (await count()) === 2)
    expect(viewers.flatMap(({ cuts }) => cuts)).toEqual([])
    for (const { session } of viewers) {
      expect(await watch(0, { presented: token })).toMatchObject(REACHED)
      await leave(0, session)
    }
    expect(await watch(0, { presented: token })).toMatchObject({ ok: true })
  })

  it('asks once for the seats of those who watch while the database takes nothing, and again with the next look', async () => {
    await start(1)
    const { id, token } = await makeToken(first(), 'subscribe', { maxViewers: 1 })
    await view(first(), { presented: token })
    const { ctx } = first()
    const transaction = ctx.store.transaction.bind(ctx.store)
    let asked = 0
    // A look that repeats what fails would never end, and here it ends after three times.
    vi.spyOn(ctx.store, 'transaction').mockImplementation((work) => {
      asked += 1
      return asked > 3 ? transaction(work) : Promise.reject(new StoreUnavailable('the disk is full'))
    })
    ctx.sessions.unchecked.add(id)
    await recheckLate(ctx)
    expect([asked, ...ctx.sessions.unchecked]).toEqual([1, id])
    asked = 3
    await recheckLate(ctx)
    expect([asked, ...ctx.sessions.unchecked]).toEqual([4])
  })

  it('a fault in the check of one token keeps no other from its check', async () => {
    await start(1)
    const [faulty, deleted] = [await makeToken(first(), 'subscribe'), await makeToken(first(), 'subscribe')]
    const [kept, cut] = [
      await view(first(), { presented: faulty.token }),
      await view(first(), { presented: deleted.token }),
    ]
    const { ctx } = first()
    vi.spyOn(ctx.cache, 'tokenById').mockImplementation(async (id) => {
      if (id === faulty.id) throw new Error('a fault of ours')
      return undefined
    })
    const errors = vi.spyOn(ctx.log, 'error').mockImplementation(() => undefined)
    expect(await recheckAll(ctx)).toBe(false)
    await until(() => cut.cuts.length > 0)
    expect([kept.cuts, cut.cuts, [...ctx.sessions.unchecked]]).toEqual([[], ['token_deleted'], [faulty.id]])
    expect(errors.mock.calls.map(([facts]) => facts)).toEqual([expect.objectContaining({ tokenId: faulty.id })])
  })

  it('of a stream counts those who watch already when it is new', async () => {
    await start(1)
    const [publisher] = first().ctx.sessions.feeds.all()
    const one = await watch(0)
    await first().call('PUT', `/api/publish_token/${publisher?.tokenId}`, { maxViewers: 1 })
    await until(async () => (await first().ctx.store.read.viewerSeats.count(`stream/${first().accountId}/show`)) === 1)
    expect(await watch(0)).toMatchObject(REACHED)
    if (one.ok) await leave(0, one.session)
    expect(await watch(0)).toMatchObject({ ok: true })
  })

  it('is in the dry run with how many there are now, and in the log of refusals with its trace', async () => {
    await start(1)
    const { id, token } = await makeToken(first(), 'subscribe', { maxViewers: 1 })
    const question = { action: 'view', protocol: 'whep', streamName: 'show', ip: '192.0.2.1', token }
    const ask = async () => (await first().call('POST', '/api/access/check', question)).json.data
    const step = (outcome: string, viewers: number) => ({
      check: 'viewers',
      outcome,
      detail: `now there are ${viewers} of 1 viewers with the token`,
    })
    const free = await ask()
    expect(free).toMatchObject({ allowed: true, code: 'allowed' })
    expect(free.trace.at(-1)).toEqual(step('pass', 0))
    await view(first(), { presented: token })
    const full = await ask()
    expect(full).toMatchObject({ allowed: false, code: 'viewer_limit', message: 'Too many viewers' })
    expect(full.trace.at(-1)).toEqual(step('fail', 1))
    await watch(0, { presented: token })
    const logged = await until(async () => {
      const { json } = await first().call('GET', `/api/access/log?tokenId=${id}&code=viewer_limit`)
      return json.data.find(({ source }: { source: string }) => source === 'admission')
    })
    const { json } = await first().call('GET', `/api/access/log/${logged.id}`)
    expect(json.data.trace.at(-1)).toEqual(step('fail', 1))
  })

  it('admits no viewer without the database, and gives no seat to one whose admission failed', async () => {
    await start(1)
    const { id, token } = await makeToken(first(), 'subscribe', { maxViewers: 1 })
    const { ctx } = first()
    vi.spyOn(ctx.store.read.viewerSeats, 'count').mockRejectedValueOnce(new StoreUnavailable('away'))
    await expect(watch(0, { presented: token })).rejects.toThrow(StoreUnavailable)
    // The answer to the commit is lost: the late end gives the seat back.
    const transaction = ctx.store.transaction.bind(ctx.store)
    vi.spyOn(ctx.store, 'transaction').mockImplementationOnce(async (work) => {
      await transaction(work)
      throw new StoreUnavailable('the answer was lost')
    })
    await expect(watch(0, { presented: token })).rejects.toThrow(StoreUnavailable)
    expect(await ctx.store.read.viewerSeats.count(`token/${id}`)).toBe(1)
    await first().node.reconcile()
    await until(async () => (await watch(0, { presented: token })).ok)
  })

  it('never has more viewers than seats, whatever comes, goes and dies', async () => {
    const [most, count] = [3, engine === 'SQLite' ? 1 : 2]
    await start(count)
    const { id, token } = await makeToken(first(), 'subscribe', { maxViewers: most })
    type Step = { kind: 'view' | 'leave' | 'hls'; n: number }
    const step = fc.record({ kind: fc.constantFrom<Step['kind']>('view', 'view', 'leave', 'hls'), n: fc.nat(7) })
    const open = new Map<string, { n: number; viewer: string }>()
    const run = async ({ kind, n }: Step): Promise<void> => {
      const at = n % count
      if (kind === 'leave') {
        const [sessionId, one] = [...open][n % Math.max(open.size, 1)] ?? []
        if (sessionId === undefined || one === undefined) return
        open.delete(sessionId)
        return leave(one.n, { id: sessionId })
      }
      const viewer = kind === 'hls' ? `ticket ${n >> 1}` : undefined
      const answer = await watch(at, { presented: token, protocol: kind === 'hls' ? 'hls' : 'whep' }, viewer)
      if (answer.ok) open.set(answer.session.id, { n: at, viewer: viewer ?? answer.session.id })
      else expect(answer).toMatchObject(REACHED)
    }
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 5 }), async (rounds) => {
        for (const together of rounds) {
          await Promise.all(together.map(run))
          const viewers = new Set([...open.values()].map((one) => one.viewer))
          expect(viewers.size).toBeLessThanOrEqual(most)
          expect(await first().ctx.store.read.viewerSeats.count(`token/${id}`)).toBe(viewers.size)
        }
      }),
      { numRuns: 15 },
    )
  })
})
