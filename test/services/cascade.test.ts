import { beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { linkAnswerText, linkReferralText } from '../../src/core/nodes/linkRequest.ts'
import type { Session } from '../../src/core/sessions/types.ts'
import type { LentRoom, RoomShare } from '../../src/media/engine.ts'
import type { RemoteFeedRef } from '../../src/media/feedsOnAir.ts'
import { SessionRegistry } from '../../src/media/sessionRegistry.ts'
import { Cascade, type CascadeParts, type NodeKey } from '../../src/services/cascade.ts'
import { draining } from '../support/draining.ts'

const stream = { accountId: 'a', streamName: 'show' }
const key: NodeKey = {
  code: (text) => `code of ${text}`,
  isOf: (text, code) => code === `code of ${text}`,
  derive: () => new Uint8Array(32),
}
const feedAt = (node: string, secured = true): RemoteFeedRef => ({
  ...stream,
  feedId: `feed at ${node}`,
  sourceId: null,
  secured,
  tokenId: 1,
  regions: null,
  priority: null,
  node,
  url: `https://${node}.example/`,
})

let clock: ManualClock
let sessions: SessionRegistry
let cascade: Cascade
let silentMs = 0
/** Whether all sessions could be checked. */
let isChecked = true
/** Whether media ports of other nodes answer. */
let isReached = false
/** What the node was asked, what its engine borrowed, and what of that has ended. */
let asked: string[] = []
let borrowed: { open: (isOpen: boolean) => void; end: () => void }[] = []
let ended = 0
const lentOn = ({ ssrc }: RoomShare): LentRoom => ({
  addresses: [{ address: '192.0.2.2', port: ssrc }],
  figures: () => null,
  end: () => undefined,
})
const FIGURES = { bitrate: 1_000_000, loss: 0.01, roundTripMs: null }

const lending: CascadeParts['ask'] = async (url, body) => {
  asked.push(url)
  const answer = { salt: 'salt', ssrc: 7, addresses: [{ address: '192.0.2.1', port: 8081 }] }
  const { code } = body as { code: string }
  return { status: 200, body: { ...answer, code: key.code(linkAnswerText(code, answer)) } }
}

function start(ask = lending): void {
  const links = {
    lend: async () => null,
    borrow: (_share: unknown, _addresses: unknown, isOver: () => void) => {
      const { promise: open, resolve } = Promise.withResolvers<boolean>()
      const end = (): void => {
        ended += 1
        resolve(false)
        isOver()
      }
      borrowed.push({ open: resolve, end })
      const lend = async (share: RoomShare) => lentOn(share)
      return { open, isReached: () => isReached, figures: () => FIGURES, lend, end }
    },
    counts: { lent: 0, borrowed: 0 },
  }
  cascade.start({ links, ask, recheck: async () => isChecked })
}

beforeEach(() => {
  ;[asked, borrowed, ended, silentMs, isReached, isChecked] = [[], [], 0, 0, false, true]
  clock = new ManualClock(1_000_000)
  sessions = new SessionRegistry()
  sessions.node = 'edge'
  cascade = new Cascade({
    clock,
    random: systemRandom,
    log: { info: () => undefined, warn: () => undefined },
    sessions,
    region: 'south',
    keys: [key],
    silentMs: () => silentMs,
    forwardStaleMs: () => 300_000,
  })
})

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
const viewer = { ...stream, action: 'view', protocol: 'whep' } as Session

async function taken(feed: RemoteFeedRef): Promise<boolean> {
  const taking = cascade.take(stream, feed)
  await settled()
  borrowed.at(-1)?.open(true)
  return taking
}

test('all viewers of a stream share what is borrowed once, also those who come at the same time', async () => {
  start()
  const all = Array.from({ length: 50 }, () => cascade.take(stream, feedAt('one')))
  await settled()
  borrowed[0]?.open(true)
  expect(new Set(await Promise.all(all))).toEqual(new Set([true]))
  expect(await cascade.take(stream, feedAt('one'))).toBe(true)
  expect([asked, borrowed.length]).toEqual([['https://one.example/api/links'], 1])
})

test('a node whose media port does not answer within two seconds is tried again after 2, 4, 8, 16 and always 30 seconds', async () => {
  start()
  for (const [at, seconds] of [2, 4, 8, 16, 30, 30].entries()) {
    const taking = cascade.take(stream, feedAt('one'))
    await settled()
    clock.advance(2000)
    expect([await taking, ended, asked.length]).toEqual([false, at + 1, at + 1])
    clock.advance(seconds * 1000 - 1)
    cascade.tick()
    expect([await cascade.take(stream, feedAt('one')), asked.length]).toEqual([false, at + 1])
    clock.advance(1)
  }
  expect([await taken(feedAt('one')), asked.length]).toEqual([true, 7])
})

test('nothing is borrowed from a node that signs with another key, does not answer, or has no address', async () => {
  start(async () => ({ status: 200, body: { salt: 's', ssrc: 7, addresses: [], code: 'forged' } }))
  expect(await cascade.take(stream, feedAt('one'))).toBe(false)
  start(async () => null)
  expect(await cascade.take(stream, feedAt('two'))).toBe(false)
  expect(await cascade.take(stream, { ...feedAt('three'), url: null })).toBe(false)
  expect(borrowed).toEqual([])
})

test('a stream that its node does not have is asked for once, however many viewers come, and again with the next tick', async () => {
  let has = false
  start(async (url, body, ms) => {
    if (has) return lending(url, body, ms)
    asked.push(url)
    return { status: 404, body: {} }
  })
  for (let at = 0; at < 20; at += 1) expect(await cascade.take(stream, feedAt('one'))).toBe(false)
  expect(asked).toHaveLength(1)
  // Its other streams are another matter.
  expect(await cascade.take({ ...stream, streamName: 'other' }, feedAt('one'))).toBe(false)
  expect(asked).toHaveLength(2)
  has = true
  clock.advance(1000)
  cascade.tick()
  expect([await taken(feedAt('one')), asked.length]).toEqual([true, 3])
})

test('a stream that brings no media, or ends at once, keeps no other stream of its node away', async () => {
  start()
  isReached = true
  const empty = cascade.take(stream, feedAt('one'))
  await settled()
  clock.advance(2000)
  expect(await empty).toBe(false)
  expect(await cascade.take(stream, feedAt('one'))).toBe(false)
  isReached = false
  const over = cascade.take({ ...stream, streamName: 'over' }, feedAt('one'))
  await settled()
  borrowed.at(-1)?.end()
  expect(await over).toBe(false)
  expect(asked).toHaveLength(2)
  const other = cascade.take({ ...stream, streamName: 'other' }, feedAt('one'))
  await settled()
  borrowed.at(-1)?.open(true)
  expect(await other).toBe(true)
})

test.each([404, 409])(
  'a node that answers %i is asked for its other streams at once, and for this one within a second',
  async (status) => {
    start(async (url) => {
      asked.push(url)
      return { status, body: {} }
    })
    const other = { ...stream, streamName: 'other' }
    for (const one of [stream, stream, other]) expect(await cascade.take(one, feedAt('one'))).toBe(false)
    expect([asked.length, cascade.problems.size]).toEqual([2, 0])
    clock.advance(500)
    await cascade.take(stream, feedAt('one'))
    expect(asked).toHaveLength(3)
  },
)

test.each([
  [200, 'refused'],
  [400, 'refused'],
  [401, 'refused'],
  [429, 'busy'],
  [500, 'no_answer'],
  [503, 'lends_nothing'],
])('a node that answers %i without a link is left alone, and the problem is %s', async (status, problem) => {
  start(async (url) => {
    asked.push(url)
    return { status, body: { salt: 's', ssrc: 7, addresses: [], code: 'forged' } }
  })
  for (const streamName of ['show', 'other'])
    expect(await cascade.take({ ...stream, streamName }, feedAt('one'))).toBe(false)
  expect([asked.length, cascade.problems.get('one')]).toEqual([1, problem])
})

test('viewers follow a feed to another node, and one that came to their own', async () => {
  start()
  sessions.streams.change(viewer, 1)
  sessions.feeds.setRemote([feedAt('one')], true)
  await taken(feedAt('one'))
  sessions.feeds.setRemote([feedAt('two')], true)
  cascade.follow([stream])
  await settled()
  expect([asked.at(-1), ended, cascade.has(stream)]).toEqual(['https://two.example/api/links', 1, true])
  borrowed.at(-1)?.open(true)
  // It has ended by itself.
  borrowed.at(-1)?.end()
  cascade.tick()
  await settled()
  expect(asked).toHaveLength(3)
})

test('a secured stream is given back when the database was not heard for long, an open one is not', async () => {
  start()
  await taken(feedAt('one'))
  await taken({ ...feedAt('two', false), streamName: 'show' })
  silentMs = 300_001
  cascade.tick()
  expect(ended).toBe(1)
  expect(await cascade.take(stream, feedAt('three'))).toBe(false)
})

test('a node that stops gives back what it has and takes nothing, since nothing looks at the silence of the database any more', async () => {
  start()
  expect(await taken(feedAt('one'))).toBe(true)
  cascade.stop()
  expect([ended, cascade.has(stream)]).toEqual([1, false])
  expect(await cascade.take(stream, feedAt('one'))).toBe(false)
})

test('a secured stream comes back when the database is heard again, and all sessions have been checked', async () => {
  start()
  sessions.streams.change(viewer, 1)
  sessions.feeds.setRemote([feedAt('one')], true)
  await taken(feedAt('one'))
  silentMs = 300_001
  cascade.tick()
  ;[silentMs, isChecked] = [0, false]
  cascade.tick()
  await settled()
  expect([await cascade.take(stream, feedAt('one')), asked.length]).toEqual([false, 1])
  isChecked = true
  cascade.tick()
  await settled()
  expect(asked).toHaveLength(2)
})

test('a stream that is secured since is given back too, also when nothing of it is on the air any more', async () => {
  start()
  sessions.feeds.setRemote([feedAt('one', false)], true)
  await taken(feedAt('one', false))
  sessions.feeds.setRemote([feedAt('one', false), { ...feedAt('two'), sourceId: 'second' }], true)
  cascade.tick()
  sessions.feeds.setRemote([], true)
  silentMs = 300_001
  cascade.tick()
  expect(ended).toBe(1)
})

/** The node of the feed names one of this region, unless it is asked to lend the stream itself; `parent` answers as that one. */
function startInRegion(parent: CascadeParts['ask'] = lending): void {
  start(async (url, body, ms) => {
    if (url.startsWith('https://parent.')) return parent(url, body, ms)
    const { code, isDirect } = body as { code: string; isDirect: boolean }
    if (isDirect) return lending(`${url} itself`, body, ms)
    asked.push(url)
    const named = { node: 'parent', url: 'https://parent.example' }
    return { status: 200, body: { ...named, code: key.code(linkReferralText(code, named)) } }
  })
}

const HOME = 'https://one.example/api/links'
const PARENT = 'https://parent.example/api/links'

test('a stream comes from a node of the own region that the node of the feed names, and is not lent on from there', async () => {
  startInRegion()
  expect([await taken(feedAt('one')), asked]).toEqual([true, [HOME, PARENT]])
  const share = { room: 'a/show', key: new Uint8Array(32), ssrc: 9 }
  expect(await cascade.lendOn(stream, 'one', share, () => undefined)).toBe(null)
})

test('a stream for other regions is not asked for, also when only one of the sources at its node is', async () => {
  start()
  const open = feedAt('one')
  const bound = { ...open, feedId: 'second', sourceId: 'second', regions: ['north'] }
  sessions.feeds.setRemote([open, bound], true)
  expect([await cascade.take(stream, bound), await cascade.take(stream, open), asked]).toEqual([false, false, []])
  sessions.feeds.setRemote([open, { ...bound, regions: ['north', 'south'] }], true)
  expect(await taken(open)).toBe(true)
  sessions.streams.change(viewer, 1)
  sessions.feeds.setRemote([open, bound], true)
  cascade.tick()
  expect(ended).toBe(1)
})

test('what comes from the node of the feed itself is lent on, until this node drains', async () => {
  start()
  await taken(feedAt('one'))
  const share = { room: 'a/show', key: new Uint8Array(32), ssrc: 9 }
  const lendOn = (feed: string) => cascade.lendOn(stream, feed, share, () => undefined)
  expect((await lendOn('one'))?.addresses).toEqual([{ address: '192.0.2.2', port: 9 }])
  expect(await lendOn('two')).toBe(null)
  sessions.drain = draining()
  expect(await lendOn('one')).toBe(null)
})

test('when the node of the region ends a stream, the node of the feed is asked at once, and lends it itself', async () => {
  sessions.streams.change(viewer, 1)
  sessions.feeds.setRemote([feedAt('one')], true)
  startInRegion()
  await taken(feedAt('one'))
  borrowed.at(-1)?.end()
  await settled()
  expect([cascade.has(stream), asked]).toEqual([true, [HOME, PARENT, HOME, `${HOME} itself`]])
  // One that ends at once is asked again with the next look, or two nodes would talk without a pause.
  borrowed.at(-1)?.open(true)
  await settled()
  borrowed.at(-1)?.end()
  await settled()
  expect([cascade.has(stream), asked.length]).toEqual([false, 4])
})

test('a stream from a node of the region that its last viewer has left is not asked for again', async () => {
  startInRegion()
  await taken(feedAt('one'))
  borrowed.at(-1)?.end()
  await settled()
  expect([cascade.has(stream), asked]).toEqual([false, [HOME, PARENT]])
})

test.each([
  ['does not answer', async () => null],
  ['does not have the stream any more', async () => ({ status: 404, body: {} })],
])('the node of the feed lends a stream itself when the one of the region %s', async (_, parent) => {
  startInRegion(parent)
  expect([await taken(feedAt('one')), asked]).toEqual([true, [HOME, `${HOME} itself`]])
})

test('the node of the feed lends a stream itself when the media of the one of the region does not come in a second', async () => {
  startInRegion()
  const taking = cascade.take(stream, feedAt('one'))
  await settled()
  clock.advance(1000)
  await settled()
  borrowed.at(-1)?.open(true)
  expect([await taking, asked, ended]).toEqual([true, [HOME, PARENT, `${HOME} itself`], 1])
})
