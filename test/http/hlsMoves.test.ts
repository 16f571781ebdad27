import { randomBytes } from 'node:crypto'
import { describe, expect, it, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { hmacKey, sha256 } from '../../src/base/crypto.ts'
import { timeOrderedId } from '../../src/base/ids.ts'
import { systemRandom } from '../../src/base/random.ts'
import { SegmentMemory } from '../../src/base/segmentMemory.ts'
import type { Grant } from '../../src/core/channels/playback.ts'
import { hlsMaster } from '../../src/core/hls/master.ts'
import { FeedAdmissions } from '../../src/edge/http/hls/feedAdmissions.ts'
import { feedSoon } from '../../src/edge/http/hls/feedSoon.ts'
import { movedNode } from '../../src/edge/http/hls/movedNode.ts'
import type { HlsParts } from '../../src/edge/http/hls/parts.ts'
import { RemoteMedia } from '../../src/edge/http/hls/remoteMedia.ts'
import { AWAY, NOT_YET, refusedByNode, START_MAX_MS } from '../../src/edge/http/hls/sending.ts'
import { LatestPlaylists, SharedPlaylist } from '../../src/edge/http/hls/sharedPlaylists.ts'
import { HlsViewer, HlsViewers } from '../../src/edge/http/hls/viewers.ts'
import { Handover } from '../../src/edge/http/media/handover.ts'
import { Tickets } from '../../src/edge/http/media/tickets.ts'
import type { ViewerRequest } from '../../src/edge/http/viewerRequest.ts'
import { type ActiveFeed, FeedsOnAir } from '../../src/media/feedsOnAir.ts'
import { StreamDemand } from '../../src/media/streamDemand.ts'
import { draining } from '../support/draining.ts'
import { until } from '../support/until.ts'

const TWO = 'https://two.example.com'
const request = { socket: {}, headers: {} } as ViewerRequest
const clock = new ManualClock()
const tickets = new Tickets(hmacKey(randomBytes(32)), clock, { region: '', nodeUrl: '' })
const newId = () => timeOrderedId(clock.now(), systemRandom)

/** A node with one player, whose first address names the stream `first`. */
function node() {
  const state = {
    /** The stream that the node with the publisher makes. */
    there: { url: TWO, stream: 'second' } as { url: string; stream: string } | undefined,
    /** The feed that is on the air here, and whether its stream can be played. */
    here: undefined as string | undefined,
    isReady: true,
    asked: [] as string[],
    waits: [] as number[],
  }
  const demand = new StreamDemand()
  const viewers = new HlsViewers(clock)
  const ticketId = newId()
  viewers.add(
    new HlsViewer({ ticketId, sessionId: ticketId, target: { accountId: 'a', streamName: 's', sourceId: null } }),
  )
  const fetchFromNode = async (url: string) => {
    state.asked.push(url)
    const master = hlsMaster([], () => '')
    const body = Buffer.from(`${master}../../~ticket/${state.there?.stream}/v0/media.m3u8`)
    return { status: 200, caching: 'no-store', playsMs: 0, body }
  }
  const opened = (id: string) => {
    const ready = async (ms: number) => {
      state.waits.push(ms)
      return state.isReady
    }
    return { ok: true, value: { ready, hls: { id, rendition: () => undefined } } }
  }
  const parts = {
    tickets,
    viewers,
    remote: new RemoteMedia(clock, fetchFromNode, new SegmentMemory()),
    access: { check: async () => null },
    peerOf: () => ({}),
    hls: { find: () => undefined, open: ({ feedId }: ActiveFeed) => opened(feedId) },
    ctx: {
      clock,
      sessions: {
        demand,
        feeds: {
          knowsAll: true,
          get: () => state.here && { feedId: state.here, secured: false },
          remote: () => state.there && { ...state.there, secured: false, regions: null },
        },
      },
      policy: { region: '' },
    },
  } as unknown as HlsParts
  const at = async (stream: string) => {
    const ticket = { kind: 'session', sessionId: ticketId, stream, tokenId: null, request: '' } as const
    const admitted = await new FeedAdmissions(parts).admit(ticket, request)
    if (!admitted.ok) throw new Error(admitted.error.text)
    return admitted.value
  }
  /** The stream that the player is sent to, or why not. */
  const next = async (stream: string) => {
    const found = await (await at(stream)).locateNext()
    return found.ok ? tickets.read(found.value.ticket, found.value.stream)?.stream : found.error.text
  }
  /** The same while no node has the feed: what becomes of it when this has happened. */
  const nextAfter = async (stream: string, happens: () => void) => {
    const found = next(stream)
    await until(() => demand.waiters === 1)
    happens()
    demand.begun('a/s')
    return found
  }
  const located = async (stream: string) => {
    const found = await (await at(stream)).locate('v0')
    return found.ok && 'movedTo' in found.value ? found.value.movedTo.stream : found
  }
  const leftOf = async (stream: string) => {
    const admission = await at(stream)
    await admission.locate('v0')
    return admission.leftNode
  }
  return { state, next, nextAfter, located, leftOf }
}

describe('a player that reloads its first address', () => {
  it('is sent to the stream that continues it, and later there again without a request, also while no node has it', async () => {
    const { state, next } = node()
    expect(await next('first')).toBe('second')
    expect(state.asked).toHaveLength(1)
    state.there = undefined
    expect(await next('first')).toBe('second')
    expect(state.asked).toHaveLength(1)
  })

  it('waits two seconds for a publisher that is between two nodes, and is told to try again then, since that is no end', async () => {
    const { state, next, nextAfter } = node()
    await next('first')
    state.there = undefined
    expect(await nextAfter('second', () => clock.advance(2000))).toBe(NOT_YET.text)
    const third = { url: 'https://three.example.com', stream: 'third' }
    expect(await nextAfter('second', () => (state.there = third))).toBe('third')
    expect(state.asked.at(-1)).toContain(third.url)
    state.there = undefined
    expect(await nextAfter('third', () => (state.here = 'fourth'))).toBe('fourth')
  })

  it('does not run in a circle between nodes that have sent it to different streams', async () => {
    const [one, other] = [node(), node()]
    // The names of streams are random, so they say nothing of their order.
    const [later, earlier] = ['a', 'b']
    one.state.there = { url: TWO, stream: earlier }
    await one.next('first')
    other.state.there = { url: TWO, stream: later }
    await other.next('first')
    for (const { state } of [one, other]) state.there = undefined
    const stays = () => clock.advance(2000)
    expect([await one.next('first'), await other.next('first')]).toEqual([earlier, later])
    expect([await one.nextAfter(later, stays), await other.nextAfter(earlier, stays)]).toEqual([
      NOT_YET.text,
      NOT_YET.text,
    ])
  })

  it('is sent on when the publisher moves once more', async () => {
    const { state, next } = node()
    await next('first')
    state.there = { url: TWO, stream: 'third' }
    expect(await next('second')).toBe('third')
    expect(await next('first')).toBe('third')
  })

  it('is sent on once more from a stream to which it came back', async () => {
    const { state, next } = node()
    expect(await next('first')).toBe('second')
    state.there = { url: TWO, stream: 'first' }
    expect(await next('second')).toBe('first')
    state.there = { url: TWO, stream: 'third' }
    expect(await next('first')).toBe('third')
  })

  it('waits at the stream that it watched until the one of this node can be played', async () => {
    const { state, next, located } = node()
    await next('first')
    Object.assign(state, { there: undefined, here: 'third', isReady: false })
    expect([await located('first'), await located('second')]).toEqual(['second', { ok: false, error: NOT_YET }])
    expect(state.waits).toEqual([0, START_MAX_MS])
    state.isReady = true
    expect([await located('second'), await located('first')]).toEqual(['third', 'third'])
  })
})

test('pieces are at the node that the publisher has left, for ten seconds', async () => {
  const { state, leftOf } = node()
  expect(await leftOf('first')).toBeNull()
  state.there = undefined
  expect(await leftOf('first')).toBeNull()
  state.there = { url: 'https://three.example.com', stream: 'second' }
  expect(await leftOf('first')).toBe(TWO)
  Object.assign(state, { there: undefined, here: 'third' })
  expect(await leftOf('first')).toBe('https://three.example.com')
  clock.advance(10_000)
  expect(await leftOf('first')).toBeNull()
})

test.each([90_000, -90_000])(
  'while two nodes differ by %i ms, since the clock of the database was set, one takes what the other has signed',
  (aheadMs) => {
    const key = hmacKey(randomBytes(32))
    const there = new ManualClock(clock.now() + aheadMs)
    const ofNode = (name: string) => ({ region: '', nodeUrl: `https://${name}.example` })
    const file = { stream: 'a/show', name: 'index.m3u8' }
    const ticket = new Tickets(key, clock, ofNode('here')).forNode('https://there.example', file)
    expect(new Tickets(key, there, ofNode('there')).regionOfNode(ticket, file)).toBe('')
    const attempt = { accountId: 'a', streamName: 'show', presented: 'token', origin: 'https://page.example' } as never
    const refused = { status: 307, message: 'there', url: 'https://there.example' } as never
    const { location = '' } = new Handover(key, clock).refusalOf(refused, { url: '/api/whep/a/show' } as never, attempt)
    const request = { query: Object.fromEntries(new URL(location).searchParams) } as never
    const received = new Handover(key, there).received(request, { ...(attempt as object), origin: 'null' } as never)
    expect(received).toMatchObject({ isHandedOver: true, attempt: { origin: 'https://page.example' } })
  },
)

test('a node that takes the ticket of another one for wrong, since their clocks differ, is no refusal of the player', () => {
  const refused = (status: number) => refusedByNode({ status, body: Buffer.from('why') })
  expect(refused(401)).toBe(AWAY)
  expect([refused(404).status, refused(503)]).toEqual([404, { status: 503, text: 'why' }])
})

describe('the latest playlist of a rendition', () => {
  it('is there for half a minute, and for each rendition by itself', () => {
    const time = new ManualClock()
    const latest = new LatestPlaylists(time)
    const [one, other] = [new SharedPlaylist('one'), new SharedPlaylist('other')]
    latest.sent('s', 'v0', one)
    latest.sent('s', 'v1', other)
    time.advance(29_999)
    expect([latest.find('s', 'v0'), latest.find('s', 'v1'), latest.find('t', 'v0')]).toEqual([one, other, null])
    latest.sent('s', 'v0', other)
    time.advance(1)
    expect([latest.find('s', 'v0'), latest.find('s', 'v1')]).toEqual([other, null])
  })

  it('is kept for a thousand renditions, those that were sent last', () => {
    const latest = new LatestPlaylists(clock)
    const playlist = new SharedPlaylist('')
    for (let n = 0; n <= 1000; n++) latest.sent('s', String(n), playlist)
    expect(['0', '1', '1000'].map((rendition) => latest.find('s', rendition))).toEqual([null, playlist, playlist])
  })
})

test('a node that is asked for a feed waits a second until it is on the air', async () => {
  for (const begins of [true, false]) {
    const time = new ManualClock()
    const demand = new StreamDemand()
    const feeds = new FeedsOnAir(demand)
    const source = { accountId: 'a', streamName: 's', sourceId: null }
    const found = feedSoon({ sessions: { feeds, demand }, clock: time } as never, source)
    await until(() => demand.waiters === 1)
    feeds.add({ ...source, sourceId: 'other', streamName: 't', feedId: 'o' } as ActiveFeed)
    const feed = { ...source, feedId: 'f' } as ActiveFeed
    if (begins) feeds.add(feed)
    else time.advance(1000)
    expect(await found).toBe(begins ? feed : undefined)
    expect([...demand.awaited]).toEqual([])
  }
})

describe('where a player of a node that drains goes', () => {
  const plan = { hlsUntilMs: 10_000, publishersAtMs: new Map<string, number>() }
  const grant: Grant = { keyId: null, untilMs: null, trackingId: null, countries: null, devices: null }

  /** Asks at a moment of the drain for a playlist, or a piece. */
  function asks(at: { ms: number; isPlaylist: boolean; ticketId: string; hasSession?: boolean; isChannel?: boolean }) {
    const { ms, isPlaylist, ticketId, hasSession = false, isChannel = false } = at
    const drain = draining({ drainMs: 20_000, plan, nodes: [{ url: TWO, region: '' }] })
    const sessions = {
      drain,
      feeds: { ofStream: () => [], remotesOf: () => [] },
      get: () => (hasSession ? { request: { credential: { kind: 'none' } } } : undefined),
    }
    const viewers = { find: () => ({ sessionId: ticketId, target: { accountId: 'a', streamName: 's' } }) }
    const parts = { ctx: { sessions, clock: new ManualClock(ms) }, viewers } as unknown as HlsParts
    const ticket = isChannel
      ? ({ kind: 'grant', viewerId: ticketId, stream: 'd', grant } as const)
      : ({ kind: 'session', sessionId: ticketId, stream: 's', tokenId: null, request: '' } as const)
    return movedNode(parts, request, ticket, isPlaylist)
  }

  const ids = Array.from({ length: 100 }, newId)
  const share = (ticketId: string) => sha256(ticketId).readUInt32BE() / 2 ** 32

  it('is another node at once for one whose session is not open here, with playlists and pieces', () => {
    for (const isPlaylist of [true, false]) expect(asks({ ms: 0, isPlaylist, ticketId: ids[0] ?? '' })).toBe(TWO)
  })

  it.each([{ isChannel: false }, { isChannel: true }])(
    'is another node from its share of the time on, for playlists alone: %o',
    ({ isChannel }) => {
      const moved = ids.filter((ticketId) =>
        asks({ ms: 4000, isPlaylist: true, ticketId, hasSession: true, isChannel }),
      )
      expect(moved).toEqual(ids.filter((ticketId) => share(ticketId) <= 0.4))
      for (const ticketId of ids) {
        expect(asks({ ms: 10_000, isPlaylist: true, ticketId, hasSession: true, isChannel })).toBe(TWO)
        expect(asks({ ms: 10_000, isPlaylist: false, ticketId, hasSession: true, isChannel })).toBeNull()
      }
    },
  )
})
