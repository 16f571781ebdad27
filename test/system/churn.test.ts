import { queryObjects } from 'node:v8'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DtlsServer } from 'werift'
import { systemRandom } from '../../src/base/random.ts'
import type { MediaEngineEvent } from '../../src/media/engine.ts'
import { createIdentity } from '../../src/media/relay/transport/dtls.ts'
import { NativeTransport } from '../../src/media/relay/transport/nativeTransport.ts'
import { WebRtcTransport } from '../../src/media/relay/transport/webRtcTransport.ts'
import { openPort } from '../../src/media/relay/transport/port.ts'
import { Relay } from '../../src/media/relay/relay.ts'
import { DownTrack } from '../../src/media/relay/outbound/downTrack.ts'
import type { UdpPort } from '../../src/media/relay/transport/socket.ts'
import { RtpTrack } from '../../src/media/relay/forward/rtpTrack.ts'
import { publishTo, TestViewer, viewFrom } from '../support/rtcPeer.ts'

/** Objects of the relay per client, and objects that hold keys and ciphers outside the heap. */
const MADE = { DtlsServer, NativeTransport, WebRtcTransport, DownTrack, RtpTrack }
const HOST = '127.0.0.1'
const LONG_MS = 60_000

const events: MediaEngineEvent[] = []
let relay: Relay
let udp: UdpPort
let ticking: NodeJS.Timeout
/** Time that the manual clock skips at once. */
let skippedMs = 0

beforeAll(async () => {
  const port = await openPort({ host: HOST, port: 0 }, true, (datagram, from) => relay.receive(datagram, from))
  udp = port.udp
  relay = new Relay({
    identity: await createIdentity(),
    random: systemRandom,
    now: () => performance.now() + skippedMs,
    hosts: () => [{ transport: 'udp', address: HOST, port: udp.port }],
    native: port.native,
    maxBitrate: 2_500_000,
    maxSessions: 100,
    publisherSilentMs: 15_000,
    send: (datagram, to) => udp.send(datagram, to),
    emit: (event) => events.push(event),
    want: () => undefined,
    release: () => undefined,
  })
  ticking = setInterval(() => relay.tick(), 20)
})

afterAll(async () => {
  clearInterval(ticking)
  await udp.close()
})

const engine = {
  publish: async (offer: Parameters<Relay['publish']>[0]) => relay.publish(offer),
  view: async (offer: Parameters<Relay['view']>[0]) => relay.view(offer),
}

/** The number of live objects of each class, after a garbage collection. */
const alive = (): Record<string, number> =>
  Object.fromEntries(Object.entries(MADE).map(([name, kind]) => [name, queryObjects(kind, { format: 'count' })]))

const ended = (): string[] => events.flatMap((event) => (event.kind === 'ended' ? event.sessionId : []))

async function seeing(names: readonly string[]): Promise<TestViewer[]> {
  const viewers = await Promise.all(names.map((name) => viewFrom(engine, name)))
  await expect.poll(() => viewers.every(({ packets }) => packets.length > 0)).toBe(true)
  return viewers
}

async function comeAndGo(): Promise<void> {
  const publishers = [await publishTo(engine, 'first')]
  await expect.poll(() => events.some(({ kind }) => kind === 'connected')).toBe(true)
  const viewers = await seeing(['cut', 'left', 'lost'])
  publishers.push(await publishTo(engine, 'replacing'))
  relay.end('cut')
  await viewers[1]?.close()
  await expect.poll(ended).toEqual(expect.arrayContaining(['first', 'cut']))
  // Timeouts end clients that never connected, and those that vanished without a message.
  relay.view({ sessionId: 'never', room: 'a1b2c3/show', sourceId: null, offer: await new TestViewer().offer() })
  await Promise.all([...publishers, ...viewers].map((one) => one.vanish()))
  const later = (): string[] => {
    // Advance in steps, because their last packets may still be in flight.
    skippedMs += LONG_MS
    return ended()
  }
  await expect.poll(later).toHaveLength(6)
}

test('no object of departed clients stays in memory, however they left', async () => {
  // Earlier tests in the same process may have left some.
  const before = alive()
  await comeAndGo()
  const added = () => Object.entries(alive()).filter(([name, count]) => count > (before[name] ?? 0))
  // To count collects all garbage. werift repeats a DTLS flight for up to 33 s on a busy machine, and its timer holds the transport until then.
  await expect.poll(added, { interval: 2000, timeout: 100_000 }).toEqual([])
}, 240_000)
