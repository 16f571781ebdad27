import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { DownTrack } from '../../../src/media/relay/outbound/downTrack.ts'
import { FrameFeed } from '../../../src/media/relay/forward/frameFeed.ts'
import { LinkReceiver } from '../../../src/media/relay/link/linkReceiver.ts'
import { LinkTransport } from '../../../src/media/relay/link/linkTransport.ts'
import { DtlsHandshake } from '../../../src/media/relay/transport/dtls.ts'
import { WebRtcTransport } from '../../../src/media/relay/transport/webRtcTransport.ts'
import type { Relay } from '../../../src/media/relay/relay.ts'
import { parseRtcp, writePli } from '../../../src/media/relay/wire/rtcp/rtcp.ts'
import { until } from '../../support/until.ts'
import { addressOf, turn, WireNet, WirePeer } from '../../support/wirePeer.ts'
import { onAir } from './onAir.ts'

const FAULT = new Error('a fault of ours')
const BROKEN = '192.0.2.9'
const raise = (): never => {
  throw FAULT
}

const faults: unknown[] = []
const net = { fault: (error: unknown) => void faults.push(error) }
beforeEach(() => void (faults.length = 0))
afterEach(() => vi.restoreAllMocks())

/** From now on this method fails for the transport of `BROKEN`, and works for all others. */
function failAt(method: 'sendRtp' | 'sendRtcp'): void {
  const works = WebRtcTransport.prototype[method] as (...given: unknown[]) => void
  vi.spyOn(WebRtcTransport.prototype, method).mockImplementation(function (this: WebRtcTransport, ...given: unknown[]) {
    return this.address === BROKEN ? raise() : works.apply(this, given)
  })
}

/** A publisher, a viewer, and another one that is to fail. */
async function withViewers() {
  const on = await onAir({ net })
  const broken = new WirePeer(on.net, addressOf(9, BROKEN))
  broken.view(on.net.relay, 'broken')
  await broken.connect()
  on.publisher.sendFrame(3, true)
  await on.net.pass(40)
  return { ...on, broken }
}

test('a viewer whose packets cannot be sent ended the session of its publisher', async () => {
  const { net: wire, publisher, viewer } = await withViewers()
  failAt('sendRtp')
  const before = viewer.media.length
  publisher.sendFrame(3, false)
  await wire.pass(20)
  expect(faults).toEqual([FAULT])
  expect(wire.endOf('broken')).toMatchObject({ reason: 'lost' })
  publisher.sendFrame(3, false)
  await turn()
  expect(viewer.media.length - before).toBe(6)
  expect([wire.endOf('publisher'), wire.endOf('viewer'), faults.length]).toEqual([undefined, undefined, 1])
})

test('a viewer that cannot follow to another publisher ends alone', async () => {
  const { net: wire, viewer } = await withViewers()
  const attach = DownTrack.prototype['attach'] as (...given: unknown[]) => boolean
  vi.spyOn(DownTrack.prototype, 'attach').mockImplementation(function (this: DownTrack, ...given) {
    const isBroken = (this.options.transport as WebRtcTransport).address === BROKEN
    return isBroken ? raise() : attach.apply(this, given)
  })
  const next = new WirePeer(wire, addressOf(3))
  next.publish(wire.relay, 'next')
  await next.connect()
  next.sendFrame(3, true)
  await wire.pass(20)
  expect(wire.endOf('broken')).toMatchObject({ reason: 'lost' })
  expect(wire.endOf('publisher')).toMatchObject({ reason: 'replaced' })
  const before = viewer.media.length
  next.sendFrame(3, true)
  await turn()
  expect(viewer.media.length - before).toBe(3)
  expect([wire.endOf('next'), wire.endOf('viewer')]).toEqual([undefined, undefined])
})

test('a publisher that cannot be asked for a keyframe ends, and not the viewer who needs one', async () => {
  const wire = new WireNet(net)
  const publisher = new WirePeer(wire, addressOf(9, BROKEN))
  publisher.publish(wire.relay, 'publisher')
  await publisher.connect()
  publisher.sendFrame(3, false)
  await wire.pass(20)
  failAt('sendRtcp')
  const viewer = new WirePeer(wire, addressOf(2))
  viewer.view(wire.relay, 'viewer')
  await viewer.connect()
  await wire.pass(20)
  expect([faults, wire.endOf('viewer')]).toEqual([[FAULT], undefined])
  expect(wire.endOf('publisher')).toMatchObject({ reason: 'lost' })
})

test('a fault in a handshake ends its session, and kept all others from connecting', async () => {
  const wire = new WireNet(net)
  const broken = vi.spyOn(DtlsHandshake.prototype, 'receive').mockImplementation(raise)
  const first = new WirePeer(wire, addressOf(1))
  first.publish(wire.relay, 'first')
  first.check()
  await first.shakeHands()
  await until(() => broken.mock.calls.length > 0)
  await wire.pass(400)
  expect(faults).toEqual([FAULT])
  expect(wire.endOf('first')).toMatchObject({ reason: 'lost' })
  broken.mockRestore()
  const second = new WirePeer(wire, addressOf(2))
  second.publish(wire.relay, 'second')
  await second.connect()
})

test('a feed that fails ends alone', async () => {
  const wire = new WireNet(net)
  const feeds = ['broken', 'other'].map((sessionId) =>
    wire.relay.feed({ sessionId, room: `a/${sessionId}`, sourceId: null }),
  )
  const pace = FrameFeed.prototype['pace']
  vi.spyOn(FrameFeed.prototype, 'pace').mockImplementation(function (this: FrameFeed, nowMs) {
    return this === feeds[0] ? raise() : pace.call(this, nowMs)
  })
  await wire.pass(40)
  expect(faults).toEqual([FAULT])
  expect(wire.endOf('broken')).toMatchObject({ reason: 'lost' })
  expect(wire.endOf('other')).toBeUndefined()
})

/** A publisher at one relay, whose room another one has by a link. */
async function linked() {
  const relays: Relay[] = []
  const netOf = (own: number): WireNet =>
    new WireNet({
      ...net,
      links: {
        process: own,
        port: 5000 + own,
        native: null,
        send: (datagram, { port }) => relays[port - 5000]?.receiveLink(Buffer.from(datagram), 0),
        post: (process, message) => relays[process]?.heard(own, message),
      },
    })
  const [home, child] = [netOf(0), netOf(1)]
  relays.push(home.relay, child.relay)
  const publisher = new WirePeer(home, addressOf(1))
  publisher.publish(home.relay, 'publisher')
  await publisher.connect()
  publisher.sendFrame(3, true)
  home.relay.share('a/show', { process: 1, port: 5001 })
  return { home, child }
}

test('a link that fails ends alone, and the relay goes on', async () => {
  const { home, child } = await linked()
  vi.spyOn(LinkReceiver.prototype, 'pace').mockImplementation(raise)
  await child.pass(40)
  expect(faults).toEqual([FAULT])
  const other = new WirePeer(child, addressOf(2))
  expect(() => other.view(child.relay, 'viewer')).toThrow('Stream not being published')
  other.publish(child.relay, 'other')
  await other.connect()
  await home.pass(40)
  expect([home.endOf('publisher'), child.endOf('other')]).toEqual([undefined, undefined])
})

test('a link that cannot ask for a keyframe ends, and not the viewer who needs one', async () => {
  const { home, child } = await linked()
  const viewer = new WirePeer(child, addressOf(2))
  viewer.view(child.relay, 'viewer')
  await viewer.connect()
  await home.pass(20)
  await child.pass(20)
  expect(viewer.media.length).toBe(3)
  const send = LinkTransport.prototype['sendRtcp']
  vi.spyOn(LinkTransport.prototype, 'sendRtcp').mockImplementation(function (this: LinkTransport, ...packets) {
    const isRequest = parseRtcp(Buffer.concat(packets))?.some(({ kind }) => kind === 'pli')
    return isRequest === true ? raise() : send.apply(this, packets)
  })
  viewer.sendRtcp(writePli(1, viewer.ssrcs[0] ?? 0))
  expect(faults).toEqual([])
  await child.pass(20)
  expect([faults, child.endOf('viewer'), home.endOf('publisher')]).toEqual([[FAULT], undefined, undefined])
})
