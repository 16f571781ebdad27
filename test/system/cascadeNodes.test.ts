import { afterAll, beforeAll, expect, test } from 'vitest'
import { captureThumbnail } from '../../src/commands/recordings/thumbnails.ts'
import type { NodeLink } from '../../src/core/nodes/nodeLinks.ts'
import type { RunningApp } from '../support/app.ts'
import { LOOPBACK, TestPublisher, TestViewer } from '../support/rtcPeer.ts'
import { ownPort } from '../support/ownPort.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { offerTo, viewersOf, WebRtcNodes } from '../support/webrtcNodes.ts'
import { endServers, newDirectory, serve } from './cliProcess.ts'

const nodes = new WebRtcNodes()
/** Has the feeds, and room. */
let home: RunningApp

beforeAll(async () => {
  home = await nodes.start()
})
afterAll(async () => {
  endServers()
  await nodes.close()
})

test('a region gets a stream once: its nodes have it from the first one, and from the node of the feed when that one drains or dies', async () => {
  const south = () => nodes.start({ server: { region: 'south' } })
  const [first, second, third] = [await south(), await south(), await south()]
  await nodes.publish(home, 'far')
  const { token } = await makeToken(home, 'subscribe')
  const watching = await nodes.watch(first, 'far', token)
  const others = [await nodes.watch(second, 'far', token), await nodes.watch(third, 'far', token)]
  await Promise.all([watching, ...others].map(({ viewer }) => viewer.gets()))
  const countsOf = ({ app }: RunningApp) => app.ctx.lentRooms.links?.counts
  expect([first, second, third].map(countsOf)).toEqual([
    { lent: 2, borrowed: 1 },
    { lent: 0, borrowed: 1 },
    { lent: 0, borrowed: 1 },
  ])
  const linksOf = async (at: RunningApp) => {
    const { json } = await at.call('GET', '/api/nodes')
    const { links } = json.data.nodes.find(({ isThis }: { isThis: boolean }) => isThis)
    return links.map(({ lent, relayed, borrowed }: NodeLink) => [lent, relayed, borrowed])
  }
  expect([await linksOf(home), (await linksOf(first)).toSorted()]).toEqual([
    [[1, 0, 0]],
    [
      [0, 0, 1],
      [0, 1, 0],
      [0, 1, 0],
    ],
  ])
  const lentTo = (at: RunningApp, to: RunningApp) =>
    at.app.ctx.lentRooms
      .nodesWith({ accountId: home.accountId, streamName: 'far' }, home.app.ctx.sessions.node)
      .includes(to.app.ctx.sessions.node)
  expect([first, second, third].map((to) => lentTo(home, to))).toEqual([true, false, false])

  await home.call('POST', `/api/nodes/${first.app.ctx.sessions.node}/drain`)
  // A node waits a second for another one of its region.
  const [parent, child] = await nodes.clock.slowly(0.1, async () => {
    await until(() => [second, third].filter((to) => lentTo(home, to)).length === 1)
    const [next, further] = lentTo(home, second) ? [second, third] : [third, second]
    await until(() => lentTo(next, further))
    return [next, further] as const
  })
  await Promise.all(others.map(({ viewer }) => viewer.gets(60)))
  expect(viewersOf(child)).toHaveLength(1)
  await nodes.stop(parent)
  await until(() => lentTo(home, child))
  const left = others[child === second ? 0 : 1]
  await left?.viewer.gets(100)
  expect(left?.viewer.steps).toEqual(new Set([1]))
})

test('when the node that lends a stream on in its region is killed, the others have it from its home, without a new offer', async () => {
  const port = String(await ownPort())
  const parent = await serve(['--data', newDirectory()], {
    SLUICE_STORAGE_URL: nodes.databaseUrl,
    SLUICE_SECRETS_SEALING_KEY: SEALING_KEY,
    SLUICE_SERVER_PORT: port,
    SLUICE_SERVER_NODE_URL: `http://127.0.0.1:${port}`,
    SLUICE_SERVER_REGION: 'east',
    SLUICE_WEBRTC_HOST: '127.0.0.1',
    SLUICE_WEBRTC_PORT: '0',
    SLUICE_WEBRTC_PROCESSES: '1',
  })
  const child = await nodes.start({ server: { region: 'east' } })
  await nodes.publish(home, 'lasting')
  const { token } = await makeToken(home, 'subscribe')
  const first = new TestViewer('vp8', LOOPBACK)
  nodes.open.push(first)
  const offer = await first.offer()
  const whep = `${parent.url}/api/whep/${home.accountId}/lasting`
  const answer = await until(async () => {
    const asked = await offerTo(whep, token, offer)
    return asked.status === 201 && asked.text()
  })
  await first.accept(answer)
  await first.gets()
  const { viewer } = await nodes.watch(child, 'lasting', token)
  await viewer.gets()
  const lenders = () => child.app.ctx.cascade.streams.map(({ node }) => node)
  const { node: homeId } = home.app.ctx.sessions
  expect(lenders()).not.toContain(homeId)
  parent.signal('SIGKILL')
  await until(() => lenders().includes(homeId))
  await viewer.gets(60)
  // It is the session of before.
  expect(viewersOf(child)).toHaveLength(1)
})

test('a publisher whose token is for another region is sent on over WHIP, and its viewers watch where they are', async () => {
  const west = await nodes.start({ server: { region: 'west' } })
  const { token } = await makeToken(home, 'publish', { streams: [{ streamName: 'western' }], originCluster: 'west' })
  const publisher = new TestPublisher('vp8', LOOPBACK)
  nodes.open.push(publisher)
  const offer = await publisher.offer()
  const sent = await offerTo(`${home.base}/api/whip/western`, token, offer)
  const location = sent.headers.get('location') ?? ''
  expect([sent.status, location.startsWith(west.base)]).toEqual([307, true])
  const taken = await offerTo(location, '', offer)
  expect(taken.status).toBe(201)
  await publisher.accept(await taken.text())
  publisher.play()
  await until(() => home.app.ctx.streamsOnAir(home.accountId, 'western'))
  const watching = await nodes.watch(home, 'western', '')
  await watching.viewer.gets()
})

test('a stream for some regions comes to none of the others: viewers there go on to its home, and have no thumbnail of it', async () => {
  const [west, north] = [
    await nodes.start({ server: { region: 'west' } }),
    await nodes.start({ server: { region: 'north' } }),
  ]
  const geoCascade = { isEnabled: true, clusters: ['west'] }
  const { token } = await makeToken(home, 'publish', { streams: [{ streamName: 'kept' }], geoCascade })
  await nodes.publish(home, 'kept', token)
  const [inside, outside] = [await nodes.watch(west, 'kept', ''), await nodes.view(north, 'kept', '')]
  expect([outside.status, outside.location.startsWith(home.base)]).toEqual([307, true])
  await inside.viewer.gets()
  const hls = await fetch(`${north.base}/hls/${home.accountId}/kept/index.m3u8`, { redirect: 'manual' })
  expect([hls.status, hls.headers.get('location')?.startsWith(home.base)]).toEqual([307, true])
  const feed = home.app.ctx.sessions.feeds.get(home.accountId, 'kept', null) ?? expect.fail()
  await captureThumbnail(home.app.ctx, feed, Buffer.from('ffd8ffe000104a464946', 'hex'))
  const thumbnails = [home, west, north].map(({ base }) => fetch(`${base}/hls/${home.accountId}/kept/thumbnail.jpeg`))
  expect((await Promise.all(thumbnails)).map(({ status }) => status)).toEqual([200, 200, 404])
  expect(north.app.ctx.cascade.has({ accountId: home.accountId, streamName: 'kept' })).toBe(false)
})

test('a full node sends new viewers and publishers on to one with room, which sends none further', async () => {
  // The publisher takes the only slot.
  const small = await nodes.start({ sessions: { max: 1 } })
  await nodes.publish(small, 'crowded')
  const { token } = await makeToken(home, 'subscribe')
  const viewer = await nodes.view(small, 'crowded', token)
  expect([viewer.status, viewer.text]).toEqual([307, 'Another server takes this session'])
  expect(viewer.location).not.toContain(small.base)
  const followed = new TestViewer('vp8', LOOPBACK)
  nodes.open.push(followed)
  const offer = await followed.offer()
  const at = (url: string, base: string) => base + url.slice(new URL(url).origin.length)
  const refused = await offerTo(at(viewer.location, small.base), '', offer)
  expect([refused.status, refused.headers.get('location'), refused.headers.get('retry-after')]).toEqual([
    503,
    null,
    '5',
  ])
  const admitted = await nodes.admitted(() => offerTo(viewer.location, '', offer))
  const answer = await admitted.text()
  expect(admitted.status, answer).toBe(201)
  await followed.accept(answer)
  await followed.gets()

  const publishing = await makeToken(home, 'publish', { streams: [{ streamName: 'second' }] })
  const publisher = new TestPublisher('vp8', LOOPBACK)
  nodes.open.push(publisher)
  const sent = await offerTo(`${small.base}/api/whip/second`, publishing.token, await publisher.offer())
  const location = sent.headers.get('location') ?? ''
  expect([sent.status, location.includes(small.base)]).toEqual([307, false])
  expect((await offerTo(at(location, small.base), '', await publisher.offer())).status).toBe(503)
  const taken = await offerTo(location, '', await publisher.offer())
  expect(taken.status).toBe(201)
  await publisher.accept(await taken.text())
})
