import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { timeOrderedId } from '../../src/base/ids.ts'
import { checkStore } from '../../src/cli/doctorStore.ts'
import { linkRequestText, LINK_VERSION } from '../../src/core/nodes/linkRequest.ts'
import { encoded } from '../media/ffmpeg/frames.ts'
import { enhancedMessages } from '../media/rtmp/enhanced.ts'
import type { RunningApp } from '../support/app.ts'
import { RtmpPublisher } from '../support/rtmpPublisher.ts'
import { SimulcastPublisher } from '../support/simulcastPublisher.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { offerTo, viewersOf, WebRtcNodes } from '../support/webrtcNodes.ts'
import { meet } from '../support/wireViewer.ts'

const cluster = new WebRtcNodes()
const { open, warned } = cluster
/** Has the feed. */
let home: RunningApp
/** Has its viewers. */
let edge: RunningApp

beforeAll(async () => {
  home = await cluster.start()
  edge = await cluster.start()
})
afterAll(() => cluster.close())

interface ListedNode {
  readonly isThis: boolean
  readonly links: readonly { readonly roundTripMs?: number; readonly loss?: number; readonly bitrateIn: number }[]
}

/** What `sluice doctor` says of it. */
const handoverOf = async ({ app: { config, ctx } }: RunningApp): Promise<string[]> =>
  (await checkStore(config, (check) => check(ctx)))
    .filter(({ check }) => check === 'handover')
    .map(({ outcome, detail }) => `${outcome} ${detail}`)

test('viewers at another node get the stream there by one link, are counted there, and cut there when their token is deleted', async () => {
  await cluster.publish(home, 'show')
  const [deleted, kept] = [await makeToken(home, 'subscribe'), await makeToken(home, 'subscribe')]
  expect(await cluster.view(edge, 'show', 'wrong')).toMatchObject({ status: 401 })
  const cut = await cluster.watch(edge, 'show', deleted.token)
  const others = await Promise.all([1, 2, 3].map(() => cluster.watch(edge, 'show', kept.token)))
  expect(cut.location.startsWith(edge.base)).toBe(true)
  await Promise.all([cut, ...others].map(({ viewer }) => viewer.gets()))
  expect([viewersOf(home).length, viewersOf(edge).length]).toEqual([0, 4])
  expect([home.app.ctx.lentRooms.links?.counts, edge.app.ctx.lentRooms.links?.counts]).toEqual([
    { lent: 1, borrowed: 0 },
    { lent: 0, borrowed: 1 },
  ])
  const linksOf = async (at: RunningApp) => {
    const { json } = await at.call('GET', '/api/nodes')
    return (json.data.nodes as ListedNode[]).find(({ isThis }) => isThis)?.links
  }
  // A look in which no packet came has no loss and no bit rate, so each is asserted of the look that was waited for.
  const measured = async (at: RunningApp, isMeasured: (link: NonNullable<ListedNode['links']>[number]) => boolean) => {
    let links: Awaited<ReturnType<typeof linksOf>>
    await until(async () => {
      links = await linksOf(at)
      const [link] = links ?? []
      return link?.roundTripMs !== undefined && link.loss !== undefined && isMeasured(link)
    })
    return links
  }
  const atNodes = [await measured(home, () => true), await measured(edge, ({ bitrateIn }) => bitrateIn > 0)]
  const none = { lent: 0, relayed: 0, borrowed: 0, bitrateIn: 0, bitrateOut: 0 }
  expect(atNodes).toMatchObject([
    [{ ...none, node: edge.app.ctx.sessions.node, lent: 1, bitrateOut: expect.any(Number) as number, loss: 0 }],
    [{ ...none, node: home.app.ctx.sessions.node, borrowed: 1, bitrateIn: expect.any(Number) as number, loss: 0 }],
  ])
  const linksAt = async ({ base }: RunningApp) =>
    (await (await fetch(`${base}/metrics`)).text()).match(/^sluice_links\{.*$/gm)
  expect(await linksAt(home)).toEqual([
    'sluice_links{direction="in"} 0',
    'sluice_links{direction="out"} 1',
    'sluice_links{direction="relayed"} 0',
  ])
  expect(await linksAt(edge)).toEqual([
    'sluice_links{direction="in"} 1',
    'sluice_links{direction="out"} 0',
    'sluice_links{direction="relayed"} 0',
  ])

  await home.call('DELETE', `/api/subscribe_token/${deleted.id}`)
  await until(() => viewersOf(edge).length === 3)
  const seen = cut.viewer.packets.length
  await Promise.all(others.map(({ viewer }) => viewer.gets(40)))
  expect(cut.viewer.packets.length).toBe(seen)
  const publishing = () => home.app.ctx.sessions.all().find(({ session }) => session.action === 'publish')
  await until(() => viewersOf(edge).every(({ bytes }) => bytes.bytesOut > 1000))
  expect(publishing()?.bytes.bytesOut ?? 0).toBeLessThan(20_000)
})

const admitted: typeof offerTo = (...offer) => cluster.admitted(() => offerTo(...offer))

const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

test('sessions, usage and the sockets of clients agree on every byte at three nodes, and links are in none of them', async () => {
  const nodes = [home, edge, await cluster.start()]
  const { token: publishing } = await makeToken(home, 'publish')
  const { token: viewing, id } = await makeToken(home, 'subscribe')
  const connect = async (direction: 'sendonly' | 'recvonly', url: string, token: string) => {
    const met = await meet(direction, (offer) => admitted(url, token, offer).then((answer) => answer.text()))
    open.push({ close: async () => met.close() })
    return met
  }
  const publisher = await connect('sendonly', `${home.base}/api/whip/summed`, publishing)
  publisher.peer.sendFrame(1, true)
  await until(() => nodes.every(({ app, accountId }) => app.ctx.streamsOnAir(accountId, 'summed') !== undefined))
  const urls = Array.from({ length: 20 }, (_, at) => {
    const { base = '', accountId = '' } = nodes[at % nodes.length] ?? {}
    return `${base}/api/whep/${accountId}/summed`
  })
  const viewers = await Promise.all(urls.map((url) => connect('recvonly', url, viewing)))
  for (let frame = 0; frame < 40; frame += 1) {
    const before = viewers.map(({ peer }) => peer.media.length)
    publisher.peer.sendFrame(10, frame === 0)
    await until(() => viewers.every(({ peer }, at) => peer.media.length >= (before[at] ?? 0) + 10))
  }
  const ofStream = () =>
    nodes.flatMap(({ app }) => app.ctx.sessions.all().filter(({ session }) => session.streamName === 'summed'))
  const ids = ofStream().map(({ session }) => session.id)
  expect(ids).toHaveLength(21)

  await nodes.at(-1)?.call('DELETE', `/api/subscribe_token/${id}`)
  await until(() => ofStream().length === 1)
  await home.call('POST', '/api/stream/stop', { streamId: `${home.accountId}/summed` })
  await until(() => ofStream().length === 0 && nodes.every(({ app }) => app.ctx.sessions.leaving.size === 0))
  const stored = await Promise.all(ids.map((one) => home.app.ctx.store.read.sessions.get(one)))
  const sums = {
    bytesIn: stored.reduce((sum, one) => sum + (one?.bytesIn ?? 0), 0),
    bytesOut: stored.reduce((sum, one) => sum + (one?.bytesOut ?? 0), 0),
  }
  const carried = (way: 'up' | 'down') => [publisher, ...viewers].reduce((sum, { wire }) => sum + wire.carried[way], 0)
  // The last datagrams may still be under way.
  await until(() => carried('down') === sums.bytesOut)
  expect(sums.bytesIn).toBe(carried('up'))
  const query = `startDate=${day(-1)}&stopDate=${day(1)}&streamNames=summed`
  const usage = async () => (await edge.call('GET', `/api/analytics/streams/total?${query}`)).json.data.summed
  // Each node adds its hour to the sums in its turn.
  await until(async () => (await usage())?.bytesOut === sums.bytesOut)
  expect(await usage()).toMatchObject(sums)
})

test('a viewer at another node sees the sizes of all layers, and gets the one that it chooses', async () => {
  const { token } = await makeToken(home, 'publish')
  const negotiate = async ({ offer }: { readonly offer: string }) => {
    const answer = await offerTo(`${home.base}/api/whip/layered`, token, offer)
    return { ok: true, answer: await answer.text(), etag: '' } as const
  }
  const publisher = await SimulcastPublisher.publish({ publish: negotiate }, '', '')
  open.push(publisher)
  await until(() => edge.app.ctx.streamsOnAir(edge.accountId, 'layered') !== undefined)
  let layer = ''
  const viewer = await meet('recvonly', async (offer) => {
    const answer = await admitted(`${edge.base}/api/whep/${edge.accountId}/layered`, '', offer)
    layer = /<([^>]+)>; rel="urn:ietf:params:whep:ext:core:layer"/.exec(answer.headers.get('link') ?? '')?.[1] ?? ''
    return answer.text()
  })
  open.push({ close: async () => viewer.close() })
  const address = new URL(layer, edge.base)
  const look = async () => (await (await fetch(address)).json()) as Layers
  // Bit rates are measured for a second.
  await until(async () => (await look()).layers.every(({ bitrate }) => bitrate > 0))
  await until(async () => (await look()).sent === 'h')
  expect((await look()).layers).toMatchObject([
    { encodingId: 'h', width: 640, height: 480 },
    { encodingId: 'm', width: 320, height: 240 },
    { encodingId: 'l', width: 160, height: 120 },
  ])
  for (const encodingId of ['l', 'm', 'h']) {
    const headers = { 'content-type': 'application/json' }
    const chosen = await fetch(address, { method: 'POST', headers, body: JSON.stringify({ encodingId }) })
    expect(chosen.status).toBe(200)
    await until(async () => (await look()).sent === encodingId)
  }
})

interface Layers {
  layers: { encodingId: string; width: number; height: number; bitrate: number }[]
  sent: string | null
}

/** A node with a lease, of which nothing else is there. */
async function ghost(): Promise<string> {
  const { store, clock, random } = home.app.ctx
  const id = timeOrderedId(clock.now(), random)
  await store.transaction((tx) => tx.nodes.insert({ id, hostKey: 'elsewhere', pid: 1, url: null }, 60_000))
  return id
}

test('who has no key of the installation, or no lease, gets no link, and a request works once', async () => {
  await cluster.publish(home, 'asked')
  const [key] = edge.app.ctx.nodeKeys
  const { accountId } = home
  const ask = async (over: object = {}, code?: string) => {
    const request = {
      from: edge.app.ctx.sessions.node,
      to: home.app.ctx.sessions.node,
      accountId,
      streamName: 'asked',
      feedAt: home.app.ctx.sessions.node,
      isDirect: false,
      isSecured: true,
      atMs: home.app.ctx.clock.now(),
      nonce: Math.random().toString(36),
      ...over,
    }
    const body = { version: LINK_VERSION, ...request, code: code ?? key.code(linkRequestText(request)) }
    return { body, ...(await send(body)) }
  }
  const send = async (body: object) => {
    const answer = await fetch(`${home.base}/api/links`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: answer.status, text: await answer.text() }
  }
  const genuine = await ask()
  expect(genuine.status, genuine.text).toBe(200)
  expect(await send(genuine.body)).toMatchObject({ status: 401 })
  expect(await send({ ...genuine.body, nonce: 'other' })).toMatchObject({ status: 401 })
  expect(await ask({}, 'A'.repeat(43))).toMatchObject({ status: 401 })
  expect(await ask({ from: 'nobody' })).toMatchObject({ status: 401 })
  expect(await ask({ to: edge.app.ctx.sessions.node })).toMatchObject({ status: 401 })
  expect(await ask({ atMs: home.app.ctx.clock.now() - 121_000 })).toMatchObject({ status: 401 })
  expect(await ask({ streamName: 'none' })).toMatchObject({ status: 404 })
  // Nothing of another node is lent on that did not come here.
  expect(await ask({ feedAt: edge.app.ctx.sessions.node })).toMatchObject({ status: 404 })
  expect(await send({ hello: 1 })).toMatchObject({ status: 400 })
  const from = await ghost()
  expect(await ask({ from })).toMatchObject({ status: 200 })
  expect(home.app.ctx.lentRooms.nodes).toContain(from)
  await home.app.ctx.store.transaction((tx) => tx.nodes.delete(from))
  await until(() => !home.app.ctx.lentRooms.nodes.includes(from))
  const refused = warned.filter((message) => message.startsWith('a link was refused'))
  expect(refused.map((message) => message.split(': ')[1])).toEqual([
    'it came before',
    'the code is wrong',
    'the code is wrong',
    'it is no node that serves',
    'it is for another node',
    'it is too old',
  ])
})

test('a node that is told to redirect sends viewers to the node of the feed, as does one that cannot reach it', async () => {
  const redirecting = await cluster.start({ server: { handover: 'redirect' } })
  const { token } = await makeToken(home, 'subscribe')
  await cluster.publish(home, 'elsewhere')
  await until(() => redirecting.app.ctx.streamsOnAir(home.accountId, 'elsewhere') !== undefined)
  const sent = await cluster.view(redirecting, 'elsewhere', token)
  expect([sent.status, sent.location.startsWith(home.base)]).toEqual([307, true])
  // It lends nothing either.
  await cluster.publish(redirecting, 'kept')
  expect(await cluster.view(edge, 'kept', token)).toMatchObject({ status: 307 })
  expect(await handoverOf(redirecting)).toEqual([
    'ok redirect: WebRTC viewers of a stream at another node are sent there',
  ])
})

test('viewers follow a publisher who comes back at another node, without a new offer', async () => {
  const third = await cluster.start()
  const publishing = await makeToken(home, 'publish', { streams: [{ streamName: 'moves' }] })
  const first = await cluster.publish(home, 'moves', publishing.token)
  const { token } = await makeToken(home, 'subscribe')
  const watching = await cluster.watch(edge, 'moves', token)
  await watching.viewer.gets()
  await first.close()
  await cluster.publish(third, 'moves', publishing.token)
  await watching.viewer.gets(60)
  expect(viewersOf(edge).filter(({ session }) => session.streamName === 'moves')).toHaveLength(1)
  await until(() => third.app.ctx.lentRooms.links?.counts.lent === 1)
})

test('a stream that came over RTMP, and one of a node whose media port cannot be reached, which is a redirect', async () => {
  const show = enhancedMessages(await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '320x180' }))
  const play = async (at: RunningApp, streamName: string): Promise<void> => {
    const { token: publishing } = await makeToken(at, 'publish', { streams: [{ streamName }] })
    const url = `rtmp://127.0.0.1:${at.rtmpPort}/v2/pub/${streamName}?token=${publishing}`
    const publisher = await RtmpPublisher.start(url, systemClock, show)
    open.push({ close: async () => publisher.end() })
    await until(() => edge.app.ctx.streamsOnAir(edge.accountId, streamName) !== undefined)
  }
  const { token } = await makeToken(home, 'subscribe')
  await play(home, 'rtmp')
  const watching = await cluster.watch(edge, 'rtmp', token, 'h264')
  await watching.viewer.gets()

  // Nothing of it listens there.
  const away = await cluster.start({ webrtc: { host: '127.0.0.1', port: 0, publicAddresses: ['127.0.0.99'] } })
  await play(away, 'away')
  // A process for media, which a busy machine takes seconds to start, would keep it from answering in time: another reason.
  expect((await cluster.view(away, 'away', token, 'h264')).status).toBe(201)
  const sent = await cluster.view(edge, 'away', token, 'h264')
  expect([sent.status, sent.location.startsWith(away.base)]).toEqual([307, true])
  const why = 'no stream comes from this node, so its viewers are redirected: its media port does not answer'
  // The viewer and the link stop waiting in the same moment.
  await until(() => warned.includes(why))
  expect((await cluster.view(edge, 'away', token, 'h264')).status).toBe(307)
  const { json } = await edge.call('GET', '/api/attention')
  const notes = (json.data as { kind: string; text: string }[]).filter(({ kind }) => kind === 'node_unlinked')
  const [unreachable] = notes.filter(({ text }) => text.includes(away.base))
  expect(unreachable?.text).toContain(`${edge.base} are redirected to ${away.base}. Its media ports do not answer`)
  expect(await handoverOf(edge)).toEqual([expect.stringMatching(/^warn cascade: .* do not come, as said below$/)])
  expect(warned.filter((message) => message === why)).toHaveLength(1)
})
