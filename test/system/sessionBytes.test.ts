import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { RtmpClient } from '../media/rtmp/client.ts'
import { avcConfig, videoFrame } from '../media/rtmp/media.ts'
import { RawConnection } from '../support/rawConnection.ts'
import { meet } from '../support/wireViewer.ts'

/** Of a frame. */
const PACKETS = 20

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

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp({ flags: { webrtc: { host: '127.0.0.1', port: 0, processes: 1 } } })
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

test('the sessions, the reports and the network agree on every byte', async () => {
  const rtmp = await wireTo(sluice.rtmpPort ?? 0)
  const http = await wireTo(Number(new URL(sluice.base).port))
  const publishing = await makeToken(sluice, 'publish', { subscribeRequiresAuth: true })
  const viewing = await makeToken(sluice, 'subscribe', { tracking: { trackingId: 'customer' } })
  const publisher = await RtmpClient.open(rtmp.port)
  await publisher.publish('v2/pub', `show?token=${publishing.token}`)
  publisher.send(avcConfig())
  let sent = 0
  const sendSecond = () => {
    const from = sent
    for (; sent < from + 25; sent++) publisher.send(videoFrame(sent * 40, 4000, { key: sent === from }))
  }
  const master = `/hls/${sluice.accountId}/show/index.m3u8?auth=${viewing.token}`
  // The first answer waits for segments, which begin with what is sent after it was asked. A refusal belongs to no session.
  const isReady = until(async () => (await fetch(sluice.base + master)).status === 200)
  await until(() => {
    sendSecond()
    return Promise.race([isReady, Promise.resolve(false)])
  })
  await watchHls(await RawConnection.open(http.port), master, sendSecond)
  const ids = sessionIds()
  publisher.socket.end()
  await publisher.closed
  await sluice.call('POST', '/api/stream/stop', { streamId: `${sluice.accountId}/show` })

  const sum = await recorded(ids)
  expect(sum('publish', 'bytesIn')).toBeGreaterThan(100_000)
  expect(sum('view', 'bytesOut')).toBeGreaterThan(50_000)
  expect([sum('publish', 'bytesIn'), sum('view', 'bytesIn')]).toEqual([rtmp.up, http.up])
  expect(sum('view', 'bytesOut')).toBe(http.down)
  expect(await report(`account/total?${DATES}`)).toMatchObject({
    bytesIn: sum('publish', 'bytesIn') + sum('view', 'bytesIn'),
    bytesOut: sum('publish', 'bytesOut') + sum('view', 'bytesOut'),
  })
  expect((await report(`tracking/total?${DATES}&trackingIds=customer`)).customer).toEqual([
    { streamName: 'show', bytesIn: sum('view', 'bytesIn'), bytesOut: sum('view', 'bytesOut') },
  ])
})

/** Gets the playlists of a stream until they name three segments, and then these with their init segment. */
async function watchHls(viewer: RawConnection, master: string, sendSecond: () => void): Promise<void> {
  const pathsIn = async (path: string): Promise<string[]> => {
    const { body } = await viewer.ask(path)
    const names = body.toString('latin1').match(/^[^#\s].*$|(?<=MAP:URI=")[^"]+/gm) ?? []
    return names.map((name) => new URL(name, `http://a${path}`)).map(({ pathname, search }) => pathname + search)
  }
  let named: string[] = []
  await until(async () => {
    sendSecond()
    const [media] = await pathsIn(master)
    named = media === undefined ? [] : await pathsIn(media)
    return named.length > 3
  })
  for (const path of named) expect((await viewer.ask(path)).status).toBe(200)
}

/** A peer over WHIP or WHEP, connected. */
async function meetAt(direction: 'sendonly' | 'recvonly', path: string, headers = {}) {
  const met = await meet(direction, async (body) => {
    const sdp = { 'content-type': 'application/sdp', ...headers }
    const response = await fetch(`${sluice.base}/api/${path}`, { method: 'POST', headers: sdp, body })
    expect(response.status).toBe(201)
    return response.text()
  })
  onTestFinished(() => met.close())
  return met
}

test('so do they over WHIP and WHEP, for two viewers', async () => {
  const { token } = await makeToken(sluice, 'publish', { streams: [{ streamName: 'counted' }] })
  const publisher = await meetAt('sendonly', 'whip/counted', { authorization: `Bearer ${token}` })
  await until(() => sluice.app.ctx.sessions.feeds.all().length === 1)
  const watch = () => meetAt('recvonly', `whep/${sluice.accountId}/counted`)
  const viewers = [await watch(), await watch()]
  // A frame at a time, so that no buffer of the network overflows.
  for (let frame = 1; frame <= 50; frame++) {
    publisher.peer.sendFrame(PACKETS, frame === 1)
    await until(() => viewers.every(({ peer }) => peer.media.length === frame * PACKETS))
  }
  const ids = sessionIds()
  await sluice.call('POST', '/api/stream/stop', { streamId: `${sluice.accountId}/counted` })

  const sum = await recorded(ids)
  const carried = (way: 'up' | 'down') =>
    [publisher, ...viewers].reduce((total, { wire }) => total + wire.carried[way], 0)
  expect(sum('publish', 'bytesIn') + sum('view', 'bytesIn')).toBe(carried('up'))
  // The last datagrams may still be under way.
  await expect.poll(() => carried('down')).toBe(sum('publish', 'bytesOut') + sum('view', 'bytesOut'))
  expect((await report(`streams/total?${DATES}&streamNames=counted`)).counted).toMatchObject({
    bytesIn: sum('publish', 'bytesIn') + sum('view', 'bytesIn'),
    bytesOut: sum('publish', 'bytesOut') + sum('view', 'bytesOut'),
  })
})
