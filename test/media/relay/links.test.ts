import { expect, test } from 'vitest'
import type { LinkMessage, LinkOffer } from '../../../src/media/relay/link/linkOffer.ts'
import type { Relay } from '../../../src/media/relay/relay.ts'
import { isRtcp, parseRtp } from '../../../src/media/relay/wire/rtp.ts'
import { writePli } from '../../../src/media/relay/wire/rtcp/rtcp.ts'
import { seeded } from '../../support/lossyUdp.ts'
import { addressOf, WireNet, WirePeer } from '../../support/wirePeer.ts'

const [HOME, CHILD] = [0, 1] as const
const ROOM = 'a/show'

/** Two relays with a link between them, which loses what `loses` says, and whose datagrams take `delayMs` each way. */
async function linked() {
  const said: LinkMessage[] = []
  const carried: Buffer[] = []
  const nothing: (datagram: Buffer) => boolean = () => false
  const state = { loses: nothing, delayMs: 0 }
  const onTheWay: { readonly atMs: number; readonly arrive: () => void }[] = []
  const relays: Relay[] = []
  const wants: string[] = []
  const netOf = (own: 0 | 1): WireNet =>
    new WireNet({
      want: (sessionId, isWanted) => wants.push(`${sessionId} ${isWanted}`),
      links: {
        process: own,
        port: 5000 + own,
        native: null,
        send: (datagram, { port }) => {
          const sealed = Buffer.from(datagram)
          carried.push(Buffer.from(sealed))
          const arrive = () => relays[port - 5000]?.receiveLink(sealed, 0)
          if (state.loses(sealed)) return
          if (state.delayMs === 0) arrive()
          else onTheWay.push({ atMs: nets[own].nowMs + state.delayMs, arrive })
        },
        post: (process, message) => {
          said.push(message)
          relays[process]?.heard(own, message)
        },
      },
    })
  const nets = [netOf(HOME), netOf(CHILD)] as const
  relays.push(nets[0].relay, nets[1].relay)
  const publisher = new WirePeer(nets[0], addressOf(1))
  publisher.publish(nets[0].relay, 'publisher')
  await publisher.connect()
  publisher.sendFrame(3, true)
  nets[0].relay.share(ROOM, { process: CHILD, port: 5000 + CHILD })
  const viewer = new WirePeer(nets[1], addressOf(2))
  viewer.view(nets[1].relay, 'viewer')
  await viewer.connect()
  const pass = async (ms: number, step: (passedMs: number) => void = () => undefined): Promise<void> => {
    for (let passed = 20; passed <= ms; passed += 20) {
      await Promise.all(nets.map((net) => net.pass(20)))
      while (onTheWay[0] !== undefined && onTheWay[0].atMs <= nets[0].nowMs) onTheWay.shift()?.arrive()
      step(passed)
    }
  }
  const publish = (passedMs: number): void => {
    if (passedMs % 40 === 0) publisher.sendFrame(3, false)
  }
  const sequences = (): number[] => viewer.media.map((packet) => parseRtp(packet)?.sequence ?? -1)
  return {
    wants,
    home: nets[0],
    child: nets[1],
    publisher,
    viewer,
    pass,
    publish,
    state,
    said,
    carried,
    sequences,
  }
}

const isRtpOf = (datagram: Buffer): boolean => !isRtcp(datagram)

test('a viewer of another process begins with the keyframe that the home has, and gets every packet', async () => {
  const { viewer, pass, publish, sequences, publisher } = await linked()
  await pass(1000, publish)
  expect(viewer.media.length).toBeGreaterThan(70)
  const steps = sequences()
    .slice(1)
    .map((sequence, at) => (sequence - (sequences()[at] ?? 0)) & 0xffff)
  expect(new Set(steps)).toEqual(new Set([1]))
  expect(publisher.asked).toBe(0)
})

test('an offer of a link whose SSRC is in use has no effect', async () => {
  const { child, said } = await linked()
  const open = said.find(({ kind }) => kind === 'open') ?? expect.fail()
  const before = said.length
  child.relay.heard(HOME, open)
  expect(said).toHaveLength(before)
})

test('what a link loses is sent again by the home', async () => {
  const { viewer, pass, publish, state, sequences } = await linked()
  let count = 0
  state.loses = (datagram) => isRtpOf(datagram) && (count += 1) % 10 === 0
  await pass(2000, publish)
  state.loses = () => false
  await pass(400, publish)
  const got = new Set(sequences())
  expect(got.size).toBe(Math.max(...got) - Math.min(...got) + 1)
  expect(viewer.media.length).toBeGreaterThan(140)
})

/** A link with a round trip of 60 ms that loses this share. */
async function lossy(loss: number) {
  const all = await linked()
  const { pass, publish, state, sequences } = all
  const random = seeded(7)
  await pass(100, publish)
  Object.assign(state, { delayMs: 30, loses: () => random() < loss })
  await pass(3000, publish)
  Object.assign(state, { loses: () => false })
  await pass(800, publish)
  const got = new Set(sequences())
  return {
    ...all,
    missing: Math.max(...got) - Math.min(...got) + 1 - got.size,
  }
}

test.each([0.03, 0.08])('with a loss of %s every packet arrives without a new keyframe', async (loss) => {
  const { viewer, publisher, missing } = await lossy(loss)
  expect(viewer.media.length).toBeGreaterThan(250)
  expect({ missing, asked: publisher.asked }).toEqual({
    missing: 0,
    asked: 0,
  })
})

test('with a loss of a quarter nearly all of it arrives, and nothing waits in a queue', async () => {
  const { viewer, missing, carried, pass, publish } = await lossy(0.25)
  expect(viewer.media.length).toBeGreaterThan(250)
  expect(missing).toBeLessThan(20)
  const before = carried.filter(isRtpOf).length
  await pass(400, publish)
  // Ten frames of three packets.
  expect(carried.filter(isRtpOf).length - before).toBe(30)
})

test('a request for a keyframe goes to the publisher, and those of many viewers are one', async () => {
  const { child, publisher, viewer, pass, publish } = await linked()
  const second = new WirePeer(child, addressOf(3))
  second.view(child.relay, 'second')
  await second.connect()
  await pass(600, publish)
  for (const peer of [viewer, second]) peer.sendRtcp(writePli(1, peer.ssrcs[0] ?? 0))
  await pass(60, publish)
  expect(publisher.asked).toBe(1)
})

test('a packet that is forged or comes again has no effect', async () => {
  const { child, viewer, pass, publish, carried } = await linked()
  await pass(200, publish)
  // What is on its way arrives.
  await pass(20)
  const before = viewer.media.length
  const forged = Buffer.from(carried.findLast(isRtpOf) ?? Buffer.alloc(0))
  forged.writeUInt16BE((forged.readUInt16BE(2) + 1) & 0xffff, 2)
  child.relay.receiveLink(forged, 0)
  for (const sealed of carried.filter(isRtpOf)) child.relay.receiveLink(Buffer.from(sealed), 0)
  for (const junk of [Buffer.alloc(0), Buffer.alloc(11, 0x80), Buffer.alloc(40, 0x80)]) child.relay.receiveLink(junk, 0)
  await pass(20)
  expect(viewer.media).toHaveLength(before)
  await pass(200, publish)
  expect(viewer.media.length).toBeGreaterThan(before)
})

test('nothing is sent before a process has viewers, and each link has keys and SSRCs of its own', async () => {
  const { home, child, said, carried, pass, publish } = await linked()
  const offers = (): LinkOffer[] => said.flatMap((message) => (message.kind === 'open' ? [message] : []))
  child.relay.end('viewer')
  await pass(10_400, publish)
  const quiet = carried.length
  await pass(1000, publish)
  expect(carried.filter((datagram, at) => at >= quiet && isRtpOf(datagram))).toEqual([])
  home.relay.share(ROOM, { endedOf: CHILD })
  home.relay.share(ROOM, { process: CHILD, port: 5000 + CHILD })
  const [first, ...others] = offers()
  expect(others.length).toBeGreaterThan(0)
  for (const other of others) {
    expect(other.linkId).not.toBe(first?.linkId)
    expect(Buffer.compare(other.secrets.down, first?.secrets.down ?? new Uint8Array(0))).not.toBe(0)
  }
})

test('viewers wait when the other process is gone, and follow the next publisher there', async () => {
  const { home, child, viewer, pass } = await linked()
  child.relay.gone(HOME)
  await pass(9000)
  expect(child.endOf('viewer')).toBeUndefined()
  const next = new WirePeer(child, addressOf(9))
  next.publish(child.relay, 'next')
  await next.connect()
  const before = viewer.media.length
  await pass(200, (passedMs) => next.sendFrame(2, passedMs === 20))
  expect(viewer.media.length).toBeGreaterThan(before)
  expect(home.endOf('publisher')).toBeUndefined()
})

/** A feed at its home, which shares its room with the child. */
function feedAt(home: WireNet) {
  const room = 'a/feed'
  const feed = home.relay.feed({ sessionId: 'feed', room, sourceId: null })
  feed.tracks([
    {
      kind: 'video',
      codec: 'vp8',
      width: 640,
      height: 360,
      config: new Uint8Array(0),
    },
  ])
  home.relay.share(room, { process: CHILD, port: 5000 + CHILD })
  let port = 10
  return {
    feed,
    /** An even first byte is that of a keyframe (RFC 6386 section 9.1). */
    show: (text: string): void => {
      const timeUs = home.nowMs * 1000
      feed.frame({
        kind: 'video',
        key: true,
        timeUs,
        decodeTimeUs: timeUs,
        data: Buffer.from(text),
      })
    },
    view: async (net: WireNet, sessionId: string): Promise<WirePeer> => {
      const viewer = new WirePeer(net, addressOf((port += 1)))
      viewer.view(net.relay, sessionId, room)
      await viewer.connect()
      return viewer
    },
    shown: ({ media }: WirePeer): string[] => media.map((packet) => packet.subarray(13).toString()),
  }
}

test('a viewer in a process that had none for a while sees nothing old of a feed that others watched', async () => {
  const { home, child, pass, state } = await linked()
  const { show, view, shown } = feedAt(home)
  await view(home, 'at home')
  const first = await view(child, 'first')
  await pass(40)
  show('before')
  await pass(40)
  expect(shown(first)).toEqual(['before'])
  child.relay.end('first')
  await pass(10_400)
  show('later')
  await pass(40)
  // It is connected before anything can come.
  state.delayMs = 100
  const second = await view(child, 'second')
  await pass(400)
  expect(shown(second)).toEqual(['later'])
})

test('a feed that rested leaves nothing old in another process', async () => {
  const { home, child, pass, wants } = await linked()
  const { feed, show, view, shown } = feedAt(home)
  const first = await view(child, 'first')
  await pass(40)
  show('before')
  await pass(40)
  expect([shown(first), wants]).toEqual([['before'], ['feed true']])
  child.relay.end('first')
  // It is wanted by the child for ten seconds, and then by the home for ten.
  await pass(21_000)
  expect(wants).toEqual(['feed true', 'feed false'])
  feed.rest()
  const second = await view(child, 'second')
  await pass(400)
  expect([shown(second), wants.at(-1)]).toEqual([[], 'feed true'])
  show('later')
  await pass(40)
  expect(shown(second)).toEqual(['later'])
})
