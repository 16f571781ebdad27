import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'
import { makeToken, until } from '../support/testNode.ts'
import { freeUdpPort, lossyLink } from '../support/lossyUdp.ts'
import { TestPublisher, TestViewer } from '../support/rtcPeer.ts'

/** A proxy that counts the bytes on the network, until the test ends: up to the server, and down from it. */
interface Wire {
  port: number
  up: number
  down: number
}

async function wireTo(port: number): Promise<Wire> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
    client.on('data', (chunk: Buffer) => (wire.up += chunk.length))
    upstream.on('data', (chunk: Buffer) => (wire.down += chunk.length))
    client.pipe(upstream).pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const wire: Wire = { port: (server.address() as AddressInfo).port, up: 0, down: 0 }
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return wire
}

const ffmpeg = (...argv: string[]) => spawn('ffmpeg', ['-v', 'error', '-nostdin', ...argv], { stdio: 'inherit' })

let sluice: RunningApp
let udpPort: number
beforeAll(async () => {
  udpPort = await freeUdpPort()
  sluice = await runApp({ flags: { webrtc: { host: '127.0.0.1', port: udpPort, processes: 1 } } })
})
afterAll(async () => {
  await sluice.close()
})

type Field = 'bytesIn' | 'bytesOut'

/** The summed bytes of these sessions in the store, once all of them are over. */
async function recorded(ids: readonly string[]): Promise<(action: string, field: Field) => number> {
  const { sessions: live, store } = sluice.app.ctx
  await until(() => live.size === 0 && live.leaving.size === 0)
  const stored = await Promise.all(ids.map((id) => store.read.sessions.get(id)))
  return (action, field) =>
    stored.filter((one) => one?.action === action).reduce((total, one) => total + (one?.[field] ?? 0), 0)
}

const sessionIds = () => sluice.app.ctx.sessions.all().map(({ session }) => session.id)

const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
const DATES = `startDate=${day(-1)}&stopDate=${day(1)}`
const report = async (path: string) => (await sluice.call('GET', `/api/analytics/${path}`)).json.data

test('the sessions, the reports and the network agree on the bytes within 2%', async () => {
  const rtmp = await wireTo(sluice.rtmpPort ?? 0)
  const http = await wireTo(Number(new URL(sluice.base).port))
  const publishing = await makeToken(sluice, 'publish', { subscribeRequiresAuth: true })
  const viewing = await makeToken(sluice, 'subscribe', { tracking: { trackingId: 'customer' } })
  const source = ['-re', '-f', 'lavfi', '-i', 'testsrc=size=640x360:rate=25', '-f', 'lavfi', '-i', 'sine']
  const coded = ['-t', '100', '-c:v', 'libx264', '-preset', 'ultrafast', '-g', '25', '-b:v', '1M', '-c:a', 'aac']
  const target = `rtmp://127.0.0.1:${rtmp.port}/v2/pub/show?token=${publishing.token}`
  const publisher = ffmpeg(...source, ...coded, '-pix_fmt', 'yuv420p', '-f', 'flv', target)
  const { sessions: live } = sluice.app.ctx
  await until(() => live.feeds().length === 1)
  const watched = `http://127.0.0.1:${http.port}/hls/${sluice.accountId}/show/index.m3u8?auth=${viewing.token}`
  const viewer = ffmpeg('-i', watched, '-t', '3', '-c', 'copy', '-f', 'null', '-')
  await once(viewer, 'exit')
  const ids = sessionIds()
  publisher.kill('SIGINT')
  await once(publisher, 'exit')
  await sluice.call('POST', '/api/stream/stop', { streamId: `${sluice.accountId}/show` })

  const sum = await recorded(ids)
  expect(sum('publish', 'bytesIn')).toBeGreaterThan(100_000)
  expect(sum('view', 'bytesOut')).toBeGreaterThan(50_000)
  expectWithin2Percent(sum('publish', 'bytesIn'), rtmp.up)
  expectWithin2Percent(sum('view', 'bytesOut'), http.down)
  expect(await report(`account/total?${DATES}`)).toMatchObject({
    bytesIn: sum('publish', 'bytesIn') + sum('view', 'bytesIn'),
    bytesOut: sum('publish', 'bytesOut') + sum('view', 'bytesOut'),
  })
  expect((await report(`tracking/total?${DATES}&trackingIds=customer`)).customer).toEqual([
    { streamName: 'show', bytesIn: sum('view', 'bytesIn'), bytesOut: sum('view', 'bytesOut') },
  ])
})

test('so do they over WHIP and WHEP, for two viewers', async () => {
  const { token } = await makeToken(sluice, 'publish', { streams: [{ streamName: 'counted' }] })
  const link = await lossyLink(udpPort, 1)
  const meet = async (peer: TestPublisher | TestViewer, path: string, headers = {}): Promise<void> => {
    const sent = {
      method: 'POST',
      headers: { 'content-type': 'application/sdp', ...headers },
      body: await peer.offer(),
    }
    const response = await fetch(`${sluice.base}/api/${path}`, sent)
    expect(response.status).toBe(201)
    const answer = (await response.text()).replace(/a=candidate:.* tcp .*\r\n/gi, '')
    await peer.accept(answer.replaceAll(` 127.0.0.1 ${udpPort} `, ` 127.0.0.1 ${link.port} `))
  }
  const publisher = new TestPublisher()
  await meet(publisher, 'whip/counted', { authorization: `Bearer ${token}` })
  publisher.play(10)
  await until(() => sluice.app.ctx.sessions.feeds().length === 1)
  const viewers = [new TestViewer(), new TestViewer()]
  for (const viewer of viewers) await meet(viewer, `whep/${sluice.accountId}/counted`)
  await until(() => link.carried.down > 1_500_000)
  const ids = sessionIds()
  for (const peer of [publisher, ...viewers]) await peer.close()
  await sluice.call('POST', '/api/stream/stop', { streamId: `${sluice.accountId}/counted` })

  const sum = await recorded(ids)
  expectWithin2Percent(sum('publish', 'bytesIn') + sum('view', 'bytesIn'), link.carried.up)
  expectWithin2Percent(sum('publish', 'bytesOut') + sum('view', 'bytesOut'), link.carried.down)
  expect((await report(`streams/total?${DATES}&streamNames=counted`)).counted).toMatchObject({
    bytesIn: sum('publish', 'bytesIn') + sum('view', 'bytesIn'),
    bytesOut: sum('publish', 'bytesOut') + sum('view', 'bytesOut'),
  })
  link.close()
})

function expectWithin2Percent(counted: number, carried: number): void {
  expect(counted / carried).toBeGreaterThan(0.98)
  expect(counted / carried).toBeLessThan(1.02)
}
