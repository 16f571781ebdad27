import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { SessionContext } from '../../src/commands/context.ts'
import { endLentOn, lendStream } from '../../src/commands/nodes/lendStream.ts'
import { endForbidden } from '../../src/commands/regions/endForbidden.ts'
import { linkRequestText, parseLinkRequest } from '../../src/core/nodes/linkRequest.ts'
import type { Session } from '../../src/core/sessions/types.ts'
import type { EngineLinks, RoomShare } from '../../src/media/engine.ts'
import type { ActiveFeed, RemoteFeedRef } from '../../src/media/feedsOnAir.ts'
import { SessionRegistry } from '../../src/media/sessionRegistry.ts'
import { Cascade, type NodeKey } from '../../src/services/cascade.ts'
import { LentRooms } from '../../src/services/lentRooms.ts'
import { draining } from '../support/draining.ts'

const STREAM = { accountId: 'a', streamName: 'show' }
const REGIONS = ['north', 'south', 'south', 'south', 'south', 'west']
const KEY: NodeKey = {
  code: (text) => `code of ${text}`,
  isOf: (text, code) => code === `code of ${text}`,
  derive: (use) => Buffer.from(use),
}

/** A link between two nodes: what goes over it comes from `from`, and over the link `before` to there. */
interface Link {
  readonly from: string
  readonly to: string
  readonly before: Link | null
  end: () => void
}

/** Nodes with the real rules of links, and engines that only note who has what from whom. */
class World {
  readonly clock = new ManualClock(1_000_000)
  readonly links = new Set<Link>()
  /** Ends that the lenders have not heard of yet: a node that is gone is silent for seconds. */
  readonly unheard: (() => void)[] = []
  /** What each engine lends, by the key of the share. */
  readonly #lent = new Map<string, { readonly from: string; readonly before: Link | null; end: () => void }>()
  readonly nodes = REGIONS.map((region, at) => this.#node(`node${at}`, region))
  /** Viewers of the feeds need tokens. Nodes that are told know that. */
  isSecured = false
  feeds: string[] = []
  /** Nodes whose leases look expired. */
  readonly expired = new Set<string>()
  /** Those that the feeds may go to; null: all. */
  regions: readonly string[] | null = null

  #node(id: string, region: string) {
    const sessions = new SessionRegistry()
    sessions.node = id
    const { clock } = this
    const cascade = new Cascade({
      clock,
      random: systemRandom,
      log: { info: () => undefined, warn: () => undefined },
      sessions,
      region,
      keys: [KEY],
      silentMs: () => 0,
      forwardStaleMs: () => 300_000,
    })
    const lentRooms = new LentRooms(clock)
    lentRooms.links = this.#engine(id)
    const read = { nodes: { list: async () => this.#rows(), facts: async () => this.#facts() } }
    const parts = { clock, random: systemRandom, sessions, cascade, lentRooms, nodeKeys: [KEY], store: { read } }
    const ctx = parts as unknown as SessionContext
    cascade.start({ links: lentRooms.links, recheck: async () => true, ask: (url, body) => this.#ask(url, body) })
    return { id, region, sessions, cascade, ctx, isCut: false }
  }

  #rows = () =>
    this.nodes.map(({ id, sessions }) => ({
      id,
      url: `https://${id}`,
      isExpired: this.expired.has(id),
      drainingSinceMs: sessions.drain === null ? null : 1,
    }))

  #facts = () => new Map(this.nodes.map(({ id, region }) => [id, { region }]))

  async #ask(url: string, body: object): ReturnType<Parameters<Cascade['start']>[0]['ask']> {
    const to = this.nodes.find(({ id }) => url.startsWith(`https://${id}/`))
    const request = parseLinkRequest(body)
    if (to === undefined || to.isCut || !request.ok) return null
    await turn()
    const lent = await lendStream(to.ctx, request.value)
    await turn()
    return lent.ok ? { status: 200, body: lent.value } : { status: lent.error.status, body: {} }
  }

  #engine(id: string): EngineLinks {
    const lend = async (share: RoomShare, before: Link | null, ended: () => void) => {
      const key = share.key.toString()
      const entry = {
        from: id,
        before,
        end: (): void => {
          if (this.#lent.delete(key)) ended()
        },
      }
      this.#lent.set(key, entry)
      return { addresses: [], figures: () => null, end: () => entry.end() }
    }
    return {
      lend: (share, ended) => lend(share, null, ended),
      borrow: (share, _, ended) => {
        const offered = this.#lent.get(share.key.toString())
        const link: Link = { from: offered?.from ?? '', to: id, before: offered?.before ?? null, end: () => end() }
        const further: (() => void)[] = []
        const end = (): void => {
          if (!this.links.delete(link)) return
          this.unheard.push(() => offered?.end())
          for (const one of further) one()
          ended()
        }
        if (offered === undefined) {
          const none = { isReached: () => true, figures: () => null, lend: async () => null, end: () => undefined }
          return { open: Promise.resolve(false), ...none }
        }
        this.links.add(link)
        const { end: endLent } = offered
        offered.end = (): void => {
          endLent()
          end()
        }
        return {
          open: Promise.resolve(true),
          isReached: () => true,
          figures: () => null,
          end,
          lend: async (next, over) => {
            if (!this.links.has(link)) return null
            const lent = await lend(next, link, over)
            further.push(() => this.#lent.get(next.key.toString())?.end())
            return lent
          },
        }
      },
      counts: { lent: 0, borrowed: 0 },
    }
  }

  /** The feeds of the stream are at these nodes from now on, as far as those know it that are told. */
  publishAt(at: readonly number[], told: readonly number[], regions: readonly string[] | null = null): void {
    this.regions = regions && [...regions, ...at.map((index) => REGIONS[index] ?? '')]
    this.feeds = at.map((index) => this.nodes[index]?.id ?? '')
    for (const [index, { id, sessions, ctx }] of this.nodes.entries()) {
      const feed = () => ({ secured: this.isSecured, regions: this.regions }) as ActiveFeed
      sessions.feeds.ofStream = () => (this.feeds.includes(id) ? [feed()] : [])
      endForbidden(ctx)
      if (told.includes(index)) this.tell(index)
    }
  }

  tell(index: number): void {
    const node = this.nodes[index]
    const others = this.feeds.filter((id) => id !== node?.id)
    const { regions } = this
    node?.sessions.feeds.setRemote(
      others.map((id) => ({ ...feedAt(id, this.isSecured), regions })),
      true,
    )
  }

  async settle(): Promise<void> {
    for (let n = 0; n < 20; n++) await turn()
  }
}

const feedAt = (node: string, secured: boolean): RemoteFeedRef => ({
  ...STREAM,
  feedId: node,
  sourceId: node,
  secured,
  tokenId: 1,
  regions: null,
  priority: null,
  node,
  url: `https://${node}`,
})

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const index = fc.nat({ max: REGIONS.length - 1 })
const publishing = fc.record({
  kind: fc.constant('publish' as const),
  at: fc.uniqueArray(index, { maxLength: 2 }),
  told: fc.array(index),
  regions: fc.option(fc.subarray(['north', 'south', 'west'])),
})
/** Most of the time all goes well. */
const times = (count: number, kind: string) => Array.from({ length: count }, () => kind)
const kinds = ['drain', 'cut', 'heal', 'tell', 'hear', 'turn', ...times(4, 'end'), ...times(20, 'tick')]
const happening = fc.record({ kind: fc.constantFrom(...kinds), index })
const step = fc.oneof({ weight: 1, arbitrary: publishing }, { weight: 40, arbitrary: happening })

test('whatever nodes do and believe, no stream comes back to a node, makes more than two steps or goes to a region that it is not for', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 60, maxLength: 60 }), async (steps) => {
      const world = new World()
      world.publishAt([0], [...REGIONS.keys()])
      for (const at of REGIONS.keys()) await act(world, 'watch', at)
      for (const one of steps) {
        if ('told' in one) world.publishAt(one.at, one.told, one.regions)
        else await act(world, one.kind, one.index)
        check(world)
      }
      await world.settle()
      check(world)
    }),
    { numRuns: 60 },
  )
})

async function act(world: World, kind: string, at: number): Promise<void> {
  const node = world.nodes[at]
  if (node === undefined) return
  const { sessions, cascade } = node
  if (kind === 'watch') {
    sessions.streams.change({ ...STREAM, action: 'view', protocol: 'whep' } as Session, 1)
    cascade.follow(null)
  }
  if (kind === 'drain') sessions.drain = draining()
  if (kind === 'cut' || kind === 'heal') node.isCut = kind === 'cut'
  if (kind === 'tell') world.tell(at)
  if (kind === 'end') [...world.links][at % Math.max(1, world.links.size)]?.end()
  if (kind === 'turn') await turn()
  if (kind === 'hear') for (const heard of world.unheard.splice(0)) heard()
  if (kind !== 'tick') return
  world.clock.advance(500)
  cascade.tick()
  endLentOn(node.ctx)
  await world.settle()
}

function check({ links, nodes, feeds, regions }: World): void {
  const regionOf = (id: string) => nodes.find((node) => node.id === id)?.region
  for (const link of links) {
    const path = [link, ...(link.before === null ? [] : [link.before])]
    expect(link.before?.before ?? null).toBe(null)
    const passed = [...path.map(({ to }) => to), path.at(-1)?.from]
    expect(new Set(passed).size).toBe(passed.length)
    if (link.before !== null) expect(regionOf(link.from)).toBe(regionOf(link.to))
    // A node without a feed any more has nothing that could go there.
    if (regions !== null && feeds.includes(path.at(-1)?.from ?? '')) expect(regions).toContain(regionOf(link.to))
  }
}

test('feeds whose viewers need tokens are lent only to nodes that know that', async () => {
  const world = new World()
  world.publishAt([0], [...REGIONS.keys()])
  world.isSecured = true
  const receivers = async () => {
    for (const at of [1, 2]) await act(world, 'tick', at)
    return [...world.links].map(({ from, to }) => `${from}>${to}`)
  }
  for (const at of [1, 2]) await act(world, 'watch', at)
  expect(await receivers()).toEqual([])
  world.tell(1)
  expect(await receivers()).toEqual(['node0>node1'])
  world.tell(2)
  expect(await receivers()).toEqual(['node0>node1', 'node1>node2'])
})

test('a region gets a stream once, its nodes go back to the feed when the one that lends it on is gone, and find another one', async () => {
  const world = new World()
  world.publishAt([0], [...REGIONS.keys()])
  const senders = () => [...world.links].map(({ from, to }) => `${from}>${to}`).toSorted()
  const all = [1, 2, 3, 5]
  for (const at of all) await act(world, 'watch', at)
  await world.settle()
  expect(senders()).toEqual(['node0>node1', 'node0>node5', 'node1>node2', 'node1>node3'])
  await act(world, 'drain', 1)
  for (const at of all) await act(world, 'tick', at)
  expect(senders()).toEqual(['node0>node1', 'node0>node2', 'node0>node5', 'node2>node3'])
})

test('a stream goes to no region that it is not for, whatever the nodes there believe, and leaves one when it is no longer for it', async () => {
  const world = new World()
  const takers = () => [...world.links].map(({ to }) => to).toSorted()
  world.publishAt([0], [...REGIONS.keys()])
  for (const at of [1, 2, 5]) await act(world, 'watch', at)
  await world.settle()
  expect(takers()).toEqual(['node1', 'node2', 'node5'])
  // None of the others is told.
  world.publishAt([0], [], ['west'])
  for (const at of [1, 2, 5]) await act(world, 'tick', at)
  expect(takers()).toEqual(['node5'])
  world.publishAt([0], [...REGIONS.keys()], ['south'])
  for (const at of [1, 2, 5]) await act(world, 'tick', at)
  expect(takers()).toEqual(['node1', 'node2'])
})

test('a node whose lease looks expired gets no stream, and one a moment later, when it does not any more', async () => {
  const world = new World()
  world.publishAt([0], [...REGIONS.keys()])
  world.expired.add('node5')
  await act(world, 'watch', 5)
  await world.settle()
  expect(world.links.size).toBe(0)
  world.expired.clear()
  await act(world, 'tick', 5)
  expect(world.links.size).toBe(1)
})

test('a node that gets more requests than it can remember says so, and takes one again when others are too old', async () => {
  const world = new World()
  const [home, far] = world.nodes
  if (home === undefined || far === undefined) throw new Error('a world has nodes')
  const { ctx } = home
  for (let at = 0; at < 40_000; at += 1) ctx.lentRooms.useNonce(String(at), world.clock.now() + 120_000)
  const request = {
    from: far.id,
    to: home.id,
    ...STREAM,
    feedAt: home.id,
    isDirect: true,
    isSecured: false,
    atMs: world.clock.now(),
  }
  const asking = async (nonce: string, atMs = world.clock.now()) => {
    const asked = { ...request, nonce, atMs }
    const lent = await lendStream(ctx, { ...asked, code: KEY.code(linkRequestText(asked)) })
    return lent.ok ? 200 : lent.error.status
  }
  expect([await asking('fresh'), await asking('7')]).toEqual([429, 401])
  world.clock.advance(120_000)
  // After the clock of the database was set, one of the two may not have read it yet.
  const nowMs = world.clock.now()
  const answers = [await asking('fresh'), await asking('behind', nowMs - 90_000), await asking('ahead', nowMs + 90_000)]
  expect(answers).toEqual([404, 404, 404])
})
