import { expect, test } from 'vitest'
import type { Negotiated } from '../../../src/media/engine.ts'
import type { TrackInfo } from '../../../src/media/frame.ts'
import { ControlChannel } from '../../../src/media/relay/link/controlChannel.ts'
import { derivedLinkSecrets, linkSession } from '../../../src/media/relay/link/linkTransport.ts'
import type { Endpoint } from '../../../src/media/relay/transport/socket.ts'
import { parseRtp } from '../../../src/media/relay/wire/rtp.ts'
import { addressOf, WireNet, WirePeer } from '../../support/wirePeer.ts'

const VIDEO: TrackInfo = { kind: 'video', codec: 'h264', width: 640, height: 360, config: new Uint8Array(0) }
const ROOM = 'a/show'
const KEY = Buffer.alloc(32, 5)
const SSRC = 2 ** 31 + 7

/** Two relays at different nodes, which reach each other by what `drops` lets pass. */
function twoNodes() {
  const carried: { to: string; datagram: Buffer }[] = []
  const nothing: (datagram: Buffer, to: string) => boolean = () => false
  const state = { drops: nothing }
  const told: string[] = []
  const wants: string[] = []
  const at = (address: string): Endpoint => ({ address, port: 8081, via: 0 })
  const netOf = (name: string, address: string): WireNet =>
    new WireNet({
      hosts: () => [{ transport: 'udp', address, port: 8081 }],
      want: (sessionId, isWanted) => void wants.push(`${name} ${sessionId} ${isWanted}`),
      links: {
        process: 0,
        port: 0,
        native: null,
        send: () => undefined,
        post: () => undefined,
        tell: (peer, what) => told.push(`${name} ${peer} ${what}`),
      },
    })
  const [home, edge] = [netOf('home', '198.51.100.1'), netOf('edge', '198.51.100.2')]
  const join = (from: WireNet, to: WireNet, [source, target]: readonly [string, string]): void =>
    from.listen(at(target), (datagram) => {
      carried.push({ to: target, datagram: Buffer.from(datagram) })
      if (!state.drops(datagram, target)) to.send(datagram, at(source))
    })
  join(home, edge, ['198.51.100.1', '198.51.100.2'])
  join(edge, home, ['198.51.100.2', '198.51.100.1'])
  const pass = async (ms: number, step: (passedMs: number) => void = () => undefined): Promise<void> => {
    for (let passed = 20; passed <= ms; passed += 20) {
      await Promise.all([home.pass(20), edge.pass(20)])
      step(passed)
    }
  }
  const share = (key = KEY, ssrc = SSRC, isReplaceable = false): void => {
    const addresses = home.relay.shareWithNode({ peer: 1000, room: ROOM, key: KEY, ssrc, addresses: null })
    edge.relay.shareWithNode({ peer: 1001, room: ROOM, key, ssrc, addresses, isReplaceable })
  }
  return { home, edge, pass, share, state, carried, told, wants }
}

async function publisherAt(net: WireNet, port: number, id: string): Promise<WirePeer> {
  const publisher = new WirePeer(net, addressOf(port))
  publisher.publish(net.relay, id)
  await publisher.connect()
  publisher.sendFrame(3, true)
  return publisher
}

/** A viewer at the edge of what a publisher sends at the home. */
async function watched() {
  const nodes = twoNodes()
  const publisher = await publisherAt(nodes.home, 1, 'publisher')
  nodes.share()
  await nodes.pass(200)
  const viewer = new WirePeer(nodes.edge, addressOf(2))
  viewer.view(nodes.edge.relay, 'viewer')
  await viewer.connect()
  const publish = (passedMs: number): void => {
    if (passedMs % 40 === 0) publisher.sendFrame(3, false)
  }
  const sequences = (): number[] => viewer.media.map((packet) => parseRtp(packet)?.sequence ?? -1)
  return { ...nodes, publisher, viewer, publish, sequences }
}

function viewH264(net: WireNet, sessionId: string, room: string, sourceId: string | null): Negotiated {
  const h264 = 'H264/90000\r\na=fmtp:96 packetization-mode=1;profile-level-id=42e01f'
  const offer = new WirePeer(net, addressOf(3)).offer('recvonly').replace('VP8/90000', h264)
  return net.relay.view({ sessionId, room, sourceId, offer })
}

const isRtp = (datagram: Buffer): boolean => (datagram[0] ?? 0) >= 128 && (datagram[1] ?? 0) < 192
const isControl = (datagram: Buffer): boolean =>
  (datagram[0] ?? 0) >= 128 && !isRtp(datagram) && datagram.readUInt32BE(4) === SSRC

test('a viewer at another node gets every packet, although a tenth is lost and messages too', async () => {
  const { viewer, pass, publish, sequences, state, told } = await watched()
  expect(told).toEqual(['edge 1001 reached', 'edge 1001 open'])
  let count = 0
  state.drops = (datagram) => (isRtp(datagram) || isControl(datagram)) && (count += 1) % 10 === 0
  await pass(2000, publish)
  state.drops = () => false
  await pass(400, publish)
  const got = new Set(sequences())
  expect(got.size).toBe(Math.max(...got) - Math.min(...got) + 1)
  expect(viewer.media.length).toBeGreaterThan(140)
})

test('the first packets of both may be lost', async () => {
  const nodes = twoNodes()
  await publisherAt(nodes.home, 1, 'publisher')
  let count = 0
  nodes.state.drops = (datagram) => isControl(datagram) && (count += 1) <= 4
  nodes.share()
  await nodes.pass(2000)
  expect(nodes.told).toEqual(['edge 1001 reached', 'edge 1001 open'])
})

test('a message that is lost leaves again before its sender can miss the answer', async () => {
  const nodes = twoNodes()
  nodes.share()
  await nodes.pass(1000)
  let count = 0
  nodes.state.drops = (datagram, to) => to === '198.51.100.2' && isControl(datagram) && (count += 1) === 1
  await publisherAt(nodes.home, 1, 'publisher')
  await nodes.pass(40)
  expect(nodes.told).toContain('edge 1001 open')
  expect(count).toBeGreaterThan(1)
})

test('who has another key gets no answer, and leaves no trace', async () => {
  const nodes = twoNodes()
  await publisherAt(nodes.home, 1, 'publisher')
  nodes.share(Buffer.alloc(32, 6))
  await nodes.pass(2500)
  expect(nodes.carried.filter(({ to }) => to === '198.51.100.2')).toEqual([])
  await nodes.pass(1000)
  expect(nodes.told).toEqual(['edge 1001 ended'])
  await nodes.pass(12_000)
  expect(nodes.told).toEqual(['edge 1001 ended', 'home 1000 ended'])
})

test('a room without media is reached, and not open before its first source', async () => {
  const nodes = twoNodes()
  nodes.share()
  await nodes.pass(1000)
  expect(nodes.told).toEqual(['edge 1001 reached'])
  await publisherAt(nodes.home, 1, 'publisher')
  await nodes.pass(200)
  expect(nodes.told).toEqual(['edge 1001 reached', 'edge 1001 open'])
})

test('packets that come again, from anywhere, change nothing', async () => {
  const { home, edge, carried, viewer, pass, publish } = await watched()
  await pass(300, publish)
  await pass(40)
  const before = [viewer.media.length, home.bytesTo(addressOf(9, '203.0.113.9'))]
  const stranger = addressOf(9, '203.0.113.9')
  for (const { datagram, to } of carried) (to === '198.51.100.1' ? home : edge).send(datagram, stranger)
  await pass(40)
  expect([viewer.media.length, home.bytesTo(stranger), edge.bytesTo(stranger)]).toEqual([...before, 0])
  await pass(200, publish)
  expect(viewer.media.length).toBeGreaterThan(before[0] ?? 0)
})

test('a node that falls silent is given up, and nothing is sent to it any more', async () => {
  const { pass, publish, state, told, carried, viewer } = await watched()
  await pass(200, publish)
  state.drops = (_, to) => to === '198.51.100.1'
  await pass(5400, publish)
  expect(told).toContain('home 1000 ended')
  const sent = carried.length
  await pass(500, publish)
  expect(carried.slice(sent).filter(({ to, datagram }) => to === '198.51.100.2' && isRtp(datagram))).toEqual([])
  expect(viewer.media.length).toBeGreaterThan(0)
})

test.each([
  { isReplaceable: true, gaveUp: true },
  { isReplaceable: false, gaveUp: false },
])(
  'a silent node is given up after three seconds if another one can lend the room: %o',
  async ({ isReplaceable, gaveUp }) => {
    const { pass, share, state, told } = twoNodes()
    share(KEY, SSRC, isReplaceable)
    await pass(200)
    state.drops = (_, to) => to === '198.51.100.2'
    await pass(3000)
    expect(told.includes('edge 1001 ended')).toBe(gaveUp)
  },
)

test('a pause of a node is no silence of the other one, which it has not heard yet', async () => {
  const { pass, share, edge, told } = twoNodes()
  share(KEY, SSRC, true)
  await pass(200)
  edge.nowMs += 60_000
  await pass(200)
  expect(told).not.toContain('edge 1001 ended')
})

test('a node that first has to start a process is waited for, and then seeks the other one', async () => {
  const { home, edge, pass, told } = twoNodes()
  await publisherAt(home, 1, 'publisher')
  const addresses = home.relay.shareWithNode({ peer: 1000, room: ROOM, key: KEY, ssrc: SSRC, addresses: null })
  await pass(10_000)
  edge.relay.shareWithNode({ peer: 1001, room: ROOM, key: KEY, ssrc: SSRC, addresses })
  await pass(200)
  expect(told).toEqual(['edge 1001 reached', 'edge 1001 open'])
})

test('a node whose address changes, as behind a NAT, gets everything at its new one', async () => {
  const { home, edge, pass, publish, state, viewer, sequences } = await watched()
  await pass(400, publish)
  const moved = addressOf(4000, '198.51.100.3')
  // From here on the home sees another address.
  state.drops = (datagram, to) => {
    if (to === '198.51.100.1') home.send(datagram, moved)
    return true
  }
  home.listen(moved, (datagram) => edge.send(datagram, { address: '198.51.100.1', port: 8081, via: 0 }))
  await pass(3000, publish)
  const before = viewer.media.length
  await pass(400, publish)
  expect(viewer.media.length - before).toBeGreaterThan(20)
  const got = new Set(sequences())
  expect(got.size).toBe(Math.max(...got) - Math.min(...got) + 1)
})

test('viewers wait when the share has ended, and follow another publisher of their node', async () => {
  const { edge, home, pass, viewer, told } = await watched()
  home.relay.endShare(1000)
  await pass(9000)
  expect(told).toContain('edge 1001 ended')
  expect(edge.endOf('viewer')).toBeUndefined()
  const before = viewer.media.length
  const next = await publisherAt(edge, 7, 'next')
  await pass(400, (passedMs) => next.sendFrame(2, passedMs === 20))
  expect(viewer.media.length).toBeGreaterThan(before)
})

test('two nodes that lend each other the same room send only what is published with them', async () => {
  const { home, edge, pass, share, told, wants } = twoNodes()
  for (const [net, sourceId] of [
    [home, 'one'],
    [edge, 'two'],
  ] as const)
    net.relay.feed({ sessionId: sourceId, room: ROOM, sourceId }).tracks([VIDEO])
  share()
  const back = { room: ROOM, key: Buffer.alloc(32, 9), ssrc: SSRC + 1 }
  const addresses = edge.relay.shareWithNode({ ...back, peer: 1002, addresses: null })
  home.relay.shareWithNode({ ...back, peer: 1003, addresses })
  await pass(1000)
  const opened = ['edge 1001 open', 'edge 1001 reached', 'home 1003 open', 'home 1003 reached']
  expect(told.toSorted()).toEqual(opened)
  // Each has its own source still, and none of the other's but by the link.
  expect(viewH264(edge, 'at its node', ROOM, 'two')).toMatchObject({ ok: true })
  await pass(400)
  expect(wants).toEqual(['edge two true'])
  expect(viewH264(home, 'elsewhere', ROOM, 'two')).toMatchObject({ ok: true })
  expect(viewH264(edge, 'the other', ROOM, 'one')).toMatchObject({ ok: true })
  await pass(400)
  expect(wants).toEqual(['edge two true', 'home one true'])
})

test('fifty rooms at once, and a feed rests until a viewer of the other node watches it', async () => {
  const { home, edge, pass, told, wants } = twoNodes()
  for (let at = 0; at < 50; at += 1) {
    const share = { room: `a/${at}`, key: Buffer.alloc(32, at), ssrc: SSRC + at }
    home.relay.feed({ sessionId: `f${at}`, room: share.room, sourceId: null }).tracks([VIDEO])
    const addresses = home.relay.shareWithNode({ ...share, peer: 1000 + at, addresses: null })
    edge.relay.shareWithNode({ ...share, peer: 2000 + at, addresses })
  }
  await pass(400)
  const opened = Array.from({ length: 50 }, (_, at) => `edge ${2000 + at} open`)
  expect(new Set(told.filter((one) => one.endsWith('open')))).toEqual(new Set(opened))
  expect(wants).toEqual([])
  expect(viewH264(edge, 'viewer', 'a/7', null)).toMatchObject({ ok: true })
  await pass(400)
  expect(wants).toEqual(['home f7 true'])
})

test('a node that borrows a room cannot publish in it', async () => {
  const { home } = twoNodes()
  home.relay.shareWithNode({ peer: 1000, room: ROOM, key: KEY, ssrc: SSRC, addresses: null })
  const send = (sealed: Buffer): void => home.send(sealed, addressOf(8081, '198.51.100.2'))
  const srtp = linkSession(derivedLinkSecrets(KEY, 'control'), 'child', null)
  const channel = new ControlChannel({ srtp, ssrc: SSRC, send })
  const shape = { kind: 'video', codec: 'h264', rate: 90_000 }
  const tracks = [{ ssrc: SSRC + 1, rtxSsrc: SSRC + 2, shape, rid: '', isAskable: true }]
  channel.post({ kind: 'open', linkId: SSRC + 1, sessionId: 'stranger', tracks }, home.nowMs)
  expect(viewH264(home, 'viewer', ROOM, null)).toMatchObject({ ok: false, status: 409 })
})
