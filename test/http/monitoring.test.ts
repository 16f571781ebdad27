import { afterEach, beforeEach, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { countBytes, noteTracks } from '../../src/commands/sessions/count.ts'
import { listMonitored, readMonitored } from '../../src/commands/streams/monitoring.ts'
import { type Connection, makeToken, publish, startTestNode, type TestNode, view } from '../support/testNode.ts'

const VIDEO = { kind: 'video', codec: 'h264', width: 1280, height: 720, config: new Uint8Array() } as const
const SOURCE = { keyframeMs: 2000, packetLoss: 0.01, roundTripMs: 40, bFrames: 0.5 }
const TARGET = { url: 'rtmp://live.example.com/app', key: 'a-secret-key', label: 'Main' }

let clock: ManualClock
let at: TestNode
beforeEach(async () => {
  clock = new ManualClock(Date.UTC(2026, 0, 1))
  at = await startTestNode({ clock })
})
afterEach(() => at.close())

const get = (path: string) => at.call('GET', `/api/monitoring/${path}`)
const list = async (query = '') => (await get(`streams${query}`)).json.data
const names = async (query: string): Promise<string[]> =>
  (await list(query)).data.map(({ streamName }: { streamName: string }) => streamName)

function feedOf({ session }: Connection) {
  const feeds = at.ctx.sessions.feeds.ofStream(at.accountId, session.streamName)
  const feed = feeds.find(({ sessionId }) => sessionId === session.id)
  if (!feed) throw new Error('no feed')
  return feed
}

async function onAir(streamName: string, token: object = {}, use: object = {}): Promise<Connection> {
  const made = await makeToken(at, 'publish', { streams: [{ streamName }], multisource: false, ...token })
  const publisher = await publish(at, { presented: made.token, streamName, ...use })
  noteTracks(at.ctx, publisher.session.id, [VIDEO])
  return publisher
}

/** 1 Mbit/s and 25 frames a second for so long, measured and written. */
async function send({ session }: Connection, seconds: number): Promise<void> {
  for (let second = 1; second <= seconds; second += 1) {
    clock.advance(1000)
    const entry = at.ctx.sessions.get(session.id)
    if (!entry) throw new Error('no entry')
    const frames = (entry.media?.frames ?? 0) + 25
    const bytesIn = entry.bytes.bytesIn + 125_000
    countBytes(at.ctx, session.id, { bytesIn, bytesOut: 0, frames, source: SOURCE })
    if (second % 2 === 0) at.ctx.streamMeter.sample()
    if (second % 5 === 0) await at.ctx.streamMeter.write(at.ctx.store)
  }
}

it('a stream is shown with its feeds, viewers and what was measured of them, in the shape of hosted services', async () => {
  const publisher = await onAir('show', { record: true, priority: 7 }, { ip: '192.0.2.7' })
  await send(publisher, 10)
  await view(at, { streamName: 'show' })
  const summary = {
    streamId: `${at.accountId}/show`,
    streamName: 'show',
    clusterId: 'auto',
    clusters: ['auto'],
    secureStream: false,
    isRecordingAllowed: true,
    multisource: false,
    live: true,
    startTime: '2026-01-01T00:00:00.000Z',
    viewerCount: 1,
  }
  const { feedId } = feedOf(publisher)
  const feed = {
    streamId: summary.streamId,
    feedId,
    clusterId: 'auto',
    serverId: at.ctx.sessions.node,
    active: true,
    startTime: summary.startTime,
    isRecordingAllowed: true,
    isRedundant: false,
    priority: 7,
    tokenId: publisher.session.tokenId,
    client: { ip: '192.0.2.7' },
    restreams: [],
  }
  const stream = { ...summary, hasRedundant: false, restreaming: false, feeds: [feed] }
  const pagination = { totalItems: 1, totalPages: 1, itemsOnPage: 1 }
  expect(await list()).toEqual({ pagination, data: [stream] })
  expect((await get('summary')).json.data).toEqual({ pagination, data: [summary] })
  expect((await get('summary/show')).json.data).toEqual(summary)
  const stat = (second: number) => ({
    timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString(),
    resolution: { width: 1280, height: 720 },
    bitRate: { videoBitrate: 1_000_000 },
    videoCodec: 'h264',
    frames: 25,
    rtt: 40,
    bFrames: 12.5,
  })
  const details = {
    type: 'WebRTC',
    frameRate: 25,
    packetLoss: 1,
    feedStats: [0, 10].map((second) => ({ timestamp: stat(second).timestamp, packetLoss: 1 })),
    trackDetails: [
      {
        trackId: 'main',
        encodingDetails: [
          { encodingId: 'main', iFrameRate: 0.5, bFrameRate: 12.5, pFrameRate: 12, encodingStats: [stat(0), stat(10)] },
        ],
      },
    ],
  }
  expect((await get('streams/show')).json.data).toEqual({ ...stream, feeds: [{ ...feed, ...details }] })
})

it('viewers at other nodes count of every stream, also where a database orders names in another way than JavaScript', async () => {
  const streamNames = ['\u{1f600}', '\uff01']
  for (const streamName of streamNames) await onAir(streamName)
  const { accountId } = at
  const streams = streamNames.map((streamName) => ({ accountId, streamName, whep: 2, hls: 1, bitrateOut: 0 }))
  await at.ctx.store.transaction(async (tx) => {
    await tx.nodes.insert({ id: 'another node', hostKey: 'elsewhere', pid: 1, url: null }, 300_000)
    await tx.streamNodes.put('another node', streams)
  })
  const { data } = await list()
  expect(data.map(({ viewerCount }: { viewerCount: number }) => viewerCount)).toEqual([3, 3])
  expect((await get(`summary/${encodeURIComponent('\u{1f600}')}`)).json.data).toMatchObject({ viewerCount: 3 })
})

it('a stream that has ended is shown for an hour, and then not found, as a name that never was', async () => {
  const publisher = await onAir('show')
  await send(publisher, 10)
  await closeSession(at.ctx, publisher.session.id, 'left')
  expect((await list()).data).toMatchObject([
    { live: false, endTime: '2026-01-01T00:00:10.000Z', viewerCount: 0, feeds: [{ active: false }] },
  ])
  expect((await get('streams/show')).json.data.feeds[0].feedStats).toHaveLength(2)
  for (const path of ['streams/nothing', 'summary/nothing']) {
    const { status, json } = await get(path)
    expect([status, json]).toEqual([400, { status: 'fail', data: { message: 'Stream name nothing not found' } }])
  }
  // Past the routes, which admit nothing after an hour without a look at the store.
  const found = async () => {
    const read = await listMonitored(at.ctx, at.accountId, { isActive: 'false' })
    return read.ok && read.value.data.length
  }
  clock.advance(3_600_000)
  expect(await found()).toBe(1)
  clock.advance(1)
  expect(await found()).toBe(0)
  expect((await readMonitored(at.ctx, at.accountId, 'show')).ok).toBe(false)
})

it('filters, sorts and pages', async () => {
  const first = await onAir('b', { record: true, subscribeRequiresAuth: true })
  clock.advance(60_000)
  await onAir('C', { multisource: true, restream: [TARGET] })
  await onAir('a')
  await view(at, { streamName: 'a' })
  expect(await names('')).toEqual(['C', 'a', 'b'])
  await closeSession(at.ctx, first.session.id, 'left')
  const expected: readonly (readonly [string, readonly string[]])[] = [
    ['', ['C', 'a', 'b']],
    ['isDescending=false', ['b', 'C', 'a']],
    ['sortBy=StreamId', ['b', 'a', 'C']],
    ['sortBy=streamid&isDescending=False', ['C', 'a', 'b']],
    ['sortBy=Cluster', ['C', 'a', 'b']],
    ['sortBy=StartTime', ['C', 'a', 'b']],
    ['sortBy=Duration', ['b', 'C', 'a']],
    ['sortBy=ViewerCount', ['a', 'C', 'b']],
    ['sortBy=Restream', ['C', 'a', 'b']],
    ['isActive=true', ['C', 'a']],
    ['isSecure=true', ['b']],
    ['isMultisource=true', ['C']],
    ['isRecordingAllowed=true', ['b']],
    ['hasRedundant=true', []],
    ['isRestreaming=true', []],
    ['searchSubstring=c', ['C']],
    ['cluster=auto&cluster=other', ['C', 'a', 'b']],
    ['cluster=other', []],
    ['cluster[]=auto', ['C', 'a', 'b']],
    ['transcoderId=1', []],
    ['itemsOnPage=2&page=2', ['b']],
    ['page=9', []],
  ]
  for (const [query, found] of expected) expect([query, await names(`?${query}`)]).toEqual([query, found])
  expect((await list('?itemsOnPage=2')).pagination).toEqual({ totalItems: 3, totalPages: 2, itemsOnPage: 2 })
  const wrong = await get('streams?page=0&itemsOnPage=101&sortBy=Name&isActive=perhaps')
  expect(wrong.status).toBe(400)
  expect(Object.keys(wrong.json.data.errors)).toEqual(['page', 'itemsOnPage', 'sortBy', 'isActive'])
  expect((await get('summary?hasRedundant=true&sortBy=ViewerCount')).json.data.data).toHaveLength(3)
})

it('several sources are feeds of one stream, with what became of their targets', async () => {
  const { token } = await makeToken(at, 'publish', { multisource: true })
  const left = await publish(at, { presented: token, sourceId: 'left' })
  clock.advance(1000)
  await publish(at, { presented: token })
  const { feedId } = feedOf(left)
  const target = { index: 0, label: 'Main', url: TARGET.url, problem: null }
  const none = { retryAtMs: null, bitrateOut: null, liveSeconds: 0, lastProblem: null }
  const live = { ...target, ...none, status: 'live', sinceMs: clock.now() } as const
  at.ctx.streamMeter.targetsOf = (of) => (of === feedId ? [live] : [])
  await at.ctx.streamMeter.write(at.ctx.store)
  const of = { accountId: at.accountId, streamName: 'show', feedId, atMs: clock.now() }
  await at.ctx.store.transaction(async (tx) => {
    await tx.restreamEvents.add({ ...of, ...target, status: 'live' }, 9)
    await tx.restreamEvents.add(
      { ...of, ...target, index: 1, status: 'waiting', problem: { message: 'It was lost' } },
      9,
    )
  })
  const [stream] = (await list('?isRestreaming=true')).data
  expect(stream).toMatchObject({ multisource: true, restreaming: true, startTime: '2026-01-01T00:00:00.000Z' })
  const started = new Date(clock.now()).toISOString()
  expect(stream.feeds).toMatchObject([
    {
      sourceId: 'left',
      restreams: [
        { label: 'Main', index: 0, url: TARGET.url, active: true, events: [{ started }] },
        { index: 1, active: false, events: [{ ended: started, error: 'It was lost' }] },
      ],
    },
    { restreams: [] },
  ])
})
