import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes, noteTracks } from '../../src/commands/sessions/count.ts'
import { crowd } from '../support/crowd.ts'
import { type Connection, makeToken, publish, startTestNode, type TestNode, view } from '../support/testNode.ts'

const NONE = new Uint8Array()
const VIDEO = { kind: 'video', codec: 'h264', width: 1920, height: 1080, config: NONE } as const
const AUDIO = { kind: 'audio', codec: 'opus', sampleRate: 48_000, channels: 2, config: NONE } as const

let clock: ManualClock
let at: TestNode
beforeAll(async () => {
  clock = new ManualClock()
  at = await startTestNode({ clock })
})
afterEach(async () => {
  for (const { session } of at.ctx.sessions.all()) await closeSession(at.ctx, session.id, 'left')
})
afterAll(() => at.close())

const live = async (query = '') => (await at.call('GET', `/api/streams/live${query}`)).json

/** A publisher sends for some seconds: this many bits per second, 25 frames. */
function send({ session }: Connection, seconds: number, bitrate: number): void {
  const entry = at.ctx.sessions.get(session.id)
  if (!entry) throw new Error('the session is over')
  for (let second = 1; second <= seconds; second += 1) {
    clock.advance(1000)
    const frames = (entry.media?.frames ?? 0) + 25
    countBytes(at.ctx, session.id, { bytesIn: entry.bytes.bytesIn + bitrate / 8, bytesOut: 0, frames })
    if (second % 2 === 0) at.ctx.streamMeter.sample()
  }
}

describe('GET /api/streams/live', () => {
  it('answers one entry for a stream with what its publisher sends, its viewers and its token', async () => {
    const { id, token } = await makeToken(at, 'publish', { label: 'Crew' })
    const publisher = await publish(at, { presented: token })
    const { feedId } = at.ctx.sessions.feeds.ofStream(at.accountId, 'show')[0] ?? {}
    noteTracks(at.ctx, publisher.session.id, [VIDEO, AUDIO])
    const startedOn = new Date(clock.now()).toISOString()
    send(publisher, 10, 4_000_000)
    for (const protocol of ['whep', 'whep', 'hls'] as const) await view(at, { protocol })
    at.ctx.streamMeter.sample()
    const { session } = await view(at)
    await closeSession(at.ctx, session.id, 'left')
    const { data, pagination } = await live()
    expect(pagination).toEqual({ hasMore: false })
    expect(data).toEqual([
      {
        streamName: 'show',
        streamId: `${at.accountId}/show`,
        startedOn,
        sources: 1,
        feedId,
        sessionId: publisher.session.id,
        protocol: 'whip',
        node: at.ctx.sessions.node,
        tokenId: id,
        tokenLabel: 'Crew',
        secured: false,
        recorded: false,
        videoCodec: 'h264',
        audioCodec: 'opus',
        width: 1920,
        height: 1080,
        frameRate: 25,
        bitrateIn: 4_000_000,
        health: 'steady',
        findings: [],
        source: {},
        viewers: 3,
        viewersByProtocol: { whep: 2, hls: 1 },
        mostViewers: 3,
        bitrateOut: 0,
        channel: null,
      },
    ])
  })

  it('says that a broadcast is uneven or stalled, and in what range', async () => {
    const { token } = await makeToken(at, 'publish')
    const publisher = await publish(at, { presented: token })
    noteTracks(at.ctx, publisher.session.id, [VIDEO])
    // A low start does not count.
    send(publisher, 30, 300_000)
    for (const bitrate of [4, 4, 4, 4, 4, 4]) send(publisher, 10, bitrate * 1_000_000)
    expect((await live()).data[0]).toMatchObject({ health: 'steady' })
    for (const bitrate of [1, 9, 1, 9, 1, 9]) send(publisher, 10, bitrate * 1_000_000)
    const [uneven] = (await live()).data
    expect(uneven.health).toBe('uneven')
    expect(uneven.bitrateLowest).toBeLessThan(3_000_000)
    expect(uneven.bitrateHighest).toBeGreaterThan(7_000_000)
    for (let count = 0; count < 4; count += 1) {
      clock.advance(3000)
      at.ctx.streamMeter.sample()
    }
    expect((await live()).data[0]).toMatchObject({ health: 'stalled', bitrateIn: 0, frameRate: 0 })
  })

  it('counts several sources of a name as one stream, and shows the one without an id', async () => {
    const { token } = await makeToken(at, 'publish', { multisource: true })
    await publish(at, { presented: token, sourceId: 'left' })
    clock.advance(1000)
    const main = await publish(at, { presented: token })
    await view(at)
    const { data } = await live()
    expect(data).toHaveLength(1)
    expect(data[0]).toMatchObject({ sources: 2, sessionId: main.session.id, viewers: 1 })
    expect(data[0]).not.toHaveProperty('sourceId')
    expect(Date.parse(data[0].startedOn)).toBeLessThan(clock.now())
  })

  it('pages by name, filters by name, and refuses what it does not know', async () => {
    const { token } = await makeToken(at, 'publish')
    for (const streamName of ['c', 'a', 'b']) await publish(at, { presented: token, streamName })
    const names = ({ data }: { data: { streamName: string }[] }) => data.map(({ streamName }) => streamName)
    const first = await live('?limit=2')
    expect(names(first)).toEqual(['a', 'b'])
    expect(names(await live(`?limit=2&cursor=${first.pagination.cursor}`))).toEqual(['c'])
    expect(names(await live('?streamName=b'))).toEqual(['b'])
    expect((await at.call('GET', `/api/streams/live?streamName=b&cursor=${first.pagination.cursor}`)).status).toBe(400)
    expect(Object.keys((await live('?limit=0&streamName=')).data.errors)).toEqual(['limit', 'streamName'])
  })

  it('costs the same work with one viewer as with a thousand', async () => {
    const { token } = await makeToken(at, 'publish')
    await publish(at, { presented: token })
    const work = async () => {
      const { sessions, store } = at.ctx
      const spies = [vi.spyOn(sessions, 'get'), vi.spyOn(sessions, 'all'), vi.spyOn(store.read.sessions, 'page')]
      at.ctx.streamMeter.sample()
      const { data } = await live()
      const calls = spies.map((spy) => spy.mock.calls.length)
      for (const spy of spies) spy.mockRestore()
      return { viewers: data[0].viewers, calls }
    }
    await crowd(at.ctx, at.accountId, 'show', 1)
    const one = await work()
    await crowd(at.ctx, at.accountId, 'show', 999)
    const thousand = await work()
    expect([one.viewers, thousand.viewers]).toEqual([1, 1000])
    expect(thousand.calls).toEqual(one.calls)
  })
})
