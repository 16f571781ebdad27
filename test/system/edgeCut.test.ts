import { afterAll, beforeAll, expect, test } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'
import { metricOf } from '../support/metrics.ts'
import { ownPort } from '../support/ownPort.ts'
import { newPlace, type Place } from '../support/place.ts'
import { LOOPBACK, TestPublisher, TestViewer } from '../support/rtcPeer.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { type TcpProxy, tcpProxy } from '../support/tcpProxy.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { offerTo } from '../support/webrtcNodes.ts'
import { endServers, newDirectory, serve, type Served } from './cliProcess.ts'

/** How long a node decides without the database. */
const STALE_SECONDS = 1
/** How long a node forwards secured streams of others without the database: longer than viewers need to connect. */
const FORWARD_SECONDS = 20

let place: Place
/** Has the streams. */
let home: RunningApp
const open: { close(): unknown }[] = []

beforeAll(async () => {
  place = await newPlace('PostgreSQL')
  const port = await ownPort()
  home = await runApp({
    flags: {
      storage: { url: place.url },
      secrets: { sealingKey: SEALING_KEY },
      sessions: { leaseSeconds: 5 },
      webrtc: { host: '127.0.0.1', port: 0, processes: 1 },
      server: { port, nodeUrl: `http://127.0.0.1:${port}` },
    },
  })
  await publish('secured', true)
  await publish('open', false)
})
afterAll(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
  endServers()
  await home.close()
  await place.remove()
})

interface Edge {
  readonly server: Served
  readonly database: TcpProxy
}

/** A node in a process of its own, which reaches the database by a way that the test cuts. */
async function edge(settings: Record<string, string>): Promise<Edge> {
  const url = new URL(place.url)
  const database = await tcpProxy(Number(url.port))
  open.push(database)
  url.port = String(database.port)
  const port = String(await ownPort())
  const server = await serve(['--data', newDirectory()], {
    SLUICE_STORAGE_URL: url.href,
    SLUICE_SECRETS_SEALING_KEY: SEALING_KEY,
    SLUICE_SERVER_PORT: port,
    SLUICE_SERVER_NODE_URL: `http://127.0.0.1:${port}`,
    SLUICE_WEBRTC_HOST: '127.0.0.1',
    SLUICE_WEBRTC_PORT: '0',
    SLUICE_WEBRTC_PROCESSES: '1',
    SLUICE_ACCESS_STALE_SECONDS: String(STALE_SECONDS),
    ...settings,
  })
  return { server, database }
}

async function publish(streamName: string, subscribeRequiresAuth: boolean): Promise<void> {
  const { token } = await makeToken(home, 'publish', { streams: [{ streamName }], subscribeRequiresAuth })
  const publisher = new TestPublisher('vp8', LOOPBACK)
  open.push(publisher)
  const answer = await offerTo(`${home.base}/api/whip/${streamName}`, token, await publisher.offer())
  expect(answer.status).toBe(201)
  await publisher.accept(await answer.text())
  publisher.play()
  await until(() => home.app.ctx.sessions.feeds.ofStream(home.accountId, streamName).length === 1)
}

const whep = (base: string, streamName: string) => `${base}/api/whep/${home.accountId}/${streamName}`

/** A viewer who has media. */
async function watch(base: string, streamName: string, token = ''): Promise<TestViewer> {
  const viewer = new TestViewer('vp8', LOOPBACK)
  open.push(viewer)
  const offer = await viewer.offer()
  const answer = await until(async () => {
    const asked = await offerTo(whep(base, streamName), token, offer)
    return asked.status === 201 && asked.text()
  }, `a viewer at ${base}`)
  await viewer.accept(answer)
  await viewer.gets()
  return viewer
}

/** What a newcomer is answered, whose offer is read only after the admission. */
const statusAt = async (base: string, streamName: string, token: string) =>
  (await offerTo(whep(base, streamName), token, 'no offer')).status

const borrowedAt = ({ server }: Edge): Promise<number> => metricOf(server.url, 'sluice_links{direction="in"}')

test('a node cut from the database admits no one, keeps its viewers for a while, and then stops secured streams of others', async () => {
  const [kept, deleted] = [await makeToken(home, 'subscribe'), await makeToken(home, 'subscribe')]
  const cut = await edge({
    SLUICE_ACCESS_FORWARD_STALE_SECONDS: String(FORWARD_SECONDS),
    SLUICE_SESSIONS_LEASE_SECONDS: '300',
  })
  const { url } = cut.server
  const other = await watch(home.base, 'secured', kept.token)
  const [stays, goes, free] = [
    await watch(url, 'secured', kept.token),
    await watch(url, 'secured', deleted.token),
    await watch(url, 'open'),
  ]
  expect(await statusAt(url, 'secured', kept.token)).toBe(400)

  cut.database.cut('silent')
  await home.call('DELETE', `/api/subscribe_token/${deleted.id}`)
  // A request of before would wait for its answer.
  await until(async () => (await metricOf(url, 'sluice_store_silent_seconds')) > STALE_SECONDS)
  expect(await statusAt(url, 'secured', kept.token)).toBe(503)
  await Promise.all([stays, goes, free].map((viewer) => viewer.gets()))
  expect(await borrowedAt(cut)).toBe(2)
  await until(async () => (await borrowedAt(cut)) === 1)
  const seen = [stays.packets.length, goes.packets.length]
  await Promise.all([free, other].map((viewer) => viewer.gets(40)))
  expect([stays.packets.length, goes.packets.length]).toEqual(seen)

  // Its viewers wait for some seconds: those whose token is there yet go on without a new offer.
  cut.database.open()
  await stays.gets()
  expect(await statusAt(url, 'secured', kept.token)).toBe(400)
  await Promise.all([stays, free, other].map((viewer) => viewer.gets(40)))
  expect(goes.packets.length).toBe(seen[1])
  for (const viewer of [free, other]) expect(viewer.steps).toEqual(new Set([1]))
})

test('the node of a feed ends the links of one that was given up, which takes streams again when it is back', async () => {
  const { token } = await makeToken(home, 'subscribe')
  const [cut, other] = [
    await edge({ SLUICE_SESSIONS_LEASE_SECONDS: '5' }),
    await edge({ SLUICE_SESSIONS_LEASE_SECONDS: '5' }),
  ]
  const [lost, kept, local] = [
    await watch(cut.server.url, 'secured', token),
    await watch(other.server.url, 'secured', token),
    await watch(home.base, 'secured', token),
  ]
  const lent = () => home.app.ctx.lentRooms.nodes.length
  const before = lent()
  cut.database.cut('closed')
  await until(() => lent() === before - 1)
  const seen = lost.packets.length
  await Promise.all([kept, local].map((viewer) => viewer.gets(40)))
  // What was under way when the link ended.
  expect(lost.packets.length - seen).toBeLessThan(10)

  cut.database.open()
  await until(() => cut.server.log().includes('other nodes gave this node up'))
  await watch(cut.server.url, 'secured', token)
  for (const viewer of [kept, local]) expect(viewer.steps).toEqual(new Set([1]))
})
