import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { encoded } from '../media/ffmpeg/frames.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { broadcast, type Broadcast } from '../support/broadcast.ts'
import { browserOf } from '../support/dashboard.ts'
import { openEventStream, type OpenStream } from '../support/eventStream.ts'
import { ownPort } from '../support/ownPort.ts'
import { newPlace, type Place } from '../support/place.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { until } from '../support/until.ts'
import { endServers, newDirectory, serve, type Served } from './cliProcess.ts'

const VIEWERS = 3

let place: Place
/** Has the feed. */
let owner: RunningApp
/** Serves the viewers, in a process of its own. */
let other: Served
/** Another stream for each test: viewers of HLS who have left are counted until their sessions are over. */
let streamName: string
let feed: Broadcast
let dashboard: OpenStream
beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  const port = await ownPort()
  const server = { port, nodeUrl: `http://127.0.0.1:${port}` }
  const flags = { storage: { url: place.url }, secrets: { sealingKey: SEALING_KEY }, rtmp: { enabled: false }, server }
  owner = await runApp({ flags, engine: new ScriptedEngine() })
  other = await serve(['--data', newDirectory()], {
    SLUICE_STORAGE_URL: place.url,
    SLUICE_SECRETS_SEALING_KEY: SEALING_KEY,
  })
})
afterAll(async () => {
  endServers()
  await owner?.close()
  await place.remove()
})
beforeEach(async () => {
  const { cookie } = await browserOf(owner)
  dashboard = await openEventStream(`${owner.base}/dashboard/api/events`, { cookie })
  streamName = `show${Math.random()}`
  const recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '320x180' })
  feed = await broadcast(owner, recorded, { streamName })
})
afterEach(() => dashboard?.close())

const get = async (url: string) => {
  const headers = { authorization: `Bearer ${owner.secret}` }
  return (await fetch(url, { headers })).json() as Promise<{ data: ReturnType<typeof JSON.parse>[] }>
}
const live = async (base: string) => (await get(`${base}/api/streams/live?streamName=${streamName}`)).data[0]
/** The viewers of the stream that an open page of the dashboard shows. */
const shown = (): number | undefined =>
  dashboard.events
    .filter(({ name }) => name === 'figures')
    .flatMap(({ data }) => data.streams as { streamName: string; viewers: number }[])
    .findLast((stream) => stream.streamName === streamName)?.viewers
const urls = () => [owner.base, other.url]

/** A viewer over HLS at the other node: each call is a request for its playlist, which keeps its session. */
async function watch(): Promise<{ look(): Promise<string>; url: string }> {
  const master = `${other.url}/hls/${owner.accountId}/${streamName}/index.m3u8`
  const uri = await until(async () => {
    const answer = await fetch(master)
    return answer.ok && /^[^#\s]+$/m.exec(await answer.text())?.[0]
  }, 'a stream that the other node knows')
  const url = new URL(uri, master).href
  return { url, look: async () => (await fetch(url)).text() }
}

/** Viewers at the other node, whom the figures of both nodes and the dashboard count. */
async function countedViewers() {
  const viewers = await Promise.all(Array.from({ length: VIEWERS }, watch))
  const look = () => Promise.all(viewers.map((viewer) => viewer.look()))
  for (const url of urls())
    await until(async () => {
      await look()
      return (await live(url)).viewersByProtocol.hls === VIEWERS
    }, `viewers at ${url}`)
  // Where the feed is, which is what the broadcast that is over keeps.
  await until(async () => {
    await look()
    return owner.app.ctx.streamMeter.reading(feed.feed.feedId)?.mostViewers === VIEWERS
  })
  await until(() => shown() === VIEWERS)
  return viewers
}

it('viewers over HLS at a node without the feed are in every figure, and their bytes in the broadcast that is over', async () => {
  const viewers = await countedViewers()
  let received = 0
  for (const viewer of viewers) {
    const [segment = ''] = (await viewer.look()).match(/^s\d+\.m4s$/m) ?? []
    received += (await (await fetch(new URL(segment, viewer.url))).arrayBuffer()).byteLength
  }
  const sessions = (await get(`${owner.base}/api/sessions?action=view&streamName=${streamName}`)).data.map(({ id }) =>
    String(id),
  )
  expect(sessions).toHaveLength(VIEWERS)
  const counted = async () => {
    const stored = await Promise.all(sessions.map((id) => owner.app.ctx.store.read.sessions.get(id)))
    return stored.reduce((sum, session) => sum + (session?.bytesOut ?? 0), 0)
  }
  await until(async () => (await counted()) >= received)
  await feed.end()
  await until(async () => {
    const [past] = (await get(`${owner.base}/api/broadcasts?streamName=${streamName}`)).data
    return past?.mostViewers === VIEWERS && past.bytesOut === (await counted())
  })
  expect(received).toBeGreaterThan(10_000)
})

it('viewers at a node that is killed are gone from every figure with it', async () => {
  await countedViewers()
  other.signal('SIGKILL')
  await until(async () => (await live(owner.base)).viewers === 0)
  expect(await live(owner.base)).toMatchObject({ viewersByProtocol: { whep: 0, hls: 0 }, mostViewers: VIEWERS })
  await until(() => shown() === 0)
  expect(await owner.app.ctx.store.read.nodes.list()).toHaveLength(1)
})
