import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Message } from '../../src/media/rtmp/messages.ts'
import { encoded } from '../media/ffmpeg/frames.ts'
import { enhancedMessages } from '../media/rtmp/enhanced.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { FastClock } from '../support/fastClock.ts'
import { TestViewer } from '../support/rtcPeer.ts'
import { RtmpSource, type SourceOptions } from '../support/rtmpSource.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'

const clock = new FastClock()
let app: RunningApp
let show: Message[]

beforeAll(async () => {
  const flags = { webrtc: { host: '127.0.0.1', port: 0 }, media: { allowedNetworks: ['127.0.0.0/8'] } }
  app = await runApp({ clock, flags: { ...flags, hls: { sessionSeconds: 6, segmentSeconds: 1 } } })
  show = enhancedMessages(await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25 }))
})
afterAll(async () => {
  await app.close()
  clock.close()
})

async function pulled(streamName: string, options: SourceOptions = {}) {
  const source = await RtmpSource.start({ tags: show, clock, ...options })
  onTestFinished(() => void source.stop())
  const { id: tokenId } = await makeToken(app, 'publish', { streams: [{ streamName }] })
  const url = `rtmp://127.0.0.1:${source.port}/live/key`
  const made = await app.call('POST', '/api/pulls', { tokenId, streamName, url, when: 'onDemand' })
  expect(made.json.data.status).toBe('idle')
  const key = `${app.accountId}/${streamName}`
  await until(() => app.app.ctx.sessions.demand.of(key).length === 1)
  return { source, is: (status: string) => until(async () => (await read(made.json.data.id)).status === status) }
}

const read = async (id: number) => (await app.call('GET', `/api/pulls/${id}`)).json.data
const refused = { authorization: `Bearer ${'x'.repeat(64)}` }

const master = (streamName: string, headers = {}) =>
  fetch(`${app.base}/hls/${app.accountId}/${streamName}/index.m3u8`, { headers })

async function offer(streamName: string, body: string, headers = {}): Promise<Response> {
  const type = { 'content-type': 'application/sdp' }
  const url = `${app.base}/api/whep/${app.accountId}/${streamName}`
  return fetch(url, { method: 'POST', headers: { ...type, ...headers }, body })
}

test('a source is dialled once for all of its first viewers, and left when the last one has gone', async () => {
  const { source, is } = await pulled('door')
  const viewer = new TestViewer('h264')
  onTestFinished(() => viewer.close())
  const sdp = await viewer.offer()
  expect([(await master('door', refused)).status, (await offer('door', sdp, refused)).status]).toEqual([401, 401])
  expect(source.connections).toBe(0)

  const [answer, ...masters] = await Promise.all([
    offer('door', sdp),
    ...Array.from({ length: 20 }, () => master('door')),
  ])
  expect([answer.status, ...new Set(masters.map(({ status }) => status))]).toEqual([201, 200])
  await viewer.accept(await answer.text())
  await until(() => viewer.packets.length >= 20)
  await is('live')
  expect(source.connections).toBe(1)

  // More than twenty seconds.
  const startedMs = clock.monotonic()
  await until(() => clock.monotonic() - startedMs > 30_000)
  expect([source.players, source.connections]).toEqual([1, 1])
  const resource = new URL(answer.headers.get('location') ?? '', app.base)
  expect((await fetch(resource, { method: 'DELETE' })).status).toBe(200)
  await until(() => source.sockets.size === 0)
  await is('idle')
  expect(app.app.ctx.sessions.feeds.all()).toEqual([])

  expect((await master('door')).status).toBe(200)
  expect(source.connections).toBe(2)
})

test('a source that does not answer keeps its viewers for eight seconds, and is left then too', async () => {
  const { source, is } = await pulled('mute', { answer: () => [] })
  const viewer = new TestViewer('h264')
  onTestFinished(() => viewer.close())
  const answers = await Promise.all([master('mute'), offer('mute', await viewer.offer())])
  const facts = answers.map(({ status, headers }) => [status, headers.get('retry-after')])
  expect(facts).toEqual([
    [404, '2'],
    [409, '2'],
  ])
  expect(source.connections).toBe(1)
  await is('idle')
  await until(() => source.sockets.size === 0)
})
