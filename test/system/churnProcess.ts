import { queryObjects } from 'node:v8'
import { DtlsServer } from 'werift'
import { systemRandom } from '../../src/base/random.ts'
import type { MediaEngineEvent } from '../../src/media/engine.ts'
import { createIdentity } from '../../src/media/relay/transport/dtls.ts'
import { NativeTransport } from '../../src/media/relay/transport/nativeTransport.ts'
import { WebRtcTransport } from '../../src/media/relay/transport/webRtcTransport.ts'
import { openPort } from '../../src/media/relay/transport/port.ts'
import { Relay, TICK_MS } from '../../src/media/relay/relay.ts'
import { DownTrack } from '../../src/media/relay/outbound/downTrack.ts'
import { RtpTrack } from '../../src/media/relay/forward/rtpTrack.ts'
import { publishTo, TestViewer, viewFrom } from '../support/rtcPeer.ts'
import { pace, until } from '../support/until.ts'

/**
 * Lets clients of a relay come and go, and then sends the classes of which objects are left, with their number, until it
 * is ended. A process of its own: to count objects collects the garbage of the whole heap, so the heap has to be small.
 */

/** Objects of the relay per client, and objects that hold keys and ciphers outside the heap. */
const MADE = { DtlsServer, NativeTransport, WebRtcTransport, DownTrack, RtpTrack }
const HOST = '127.0.0.1'
/** Of the clock of the relay, in each tick. A longer step is a pause of the process, which counts for no deadline. */
const SKIP_MS = 500
const LOOK_MS = 500

const events: MediaEngineEvent[] = []
/** Time by which the clock of the relay is ahead. */
let skippedMs = 0
let isSkipping = false

const { udp, native } = await openPort({ host: HOST, port: 0, random: systemRandom }, true, (datagram, from) =>
  relay.receive(datagram, from),
)
const relay = new Relay({
  identity: await createIdentity(),
  random: systemRandom,
  now: () => performance.now() + skippedMs,
  later: (work) => void setImmediate(work),
  hosts: () => [{ transport: 'udp', address: HOST, port: udp.port }],
  native,
  maxBitrate: 2_500_000,
  maxSessions: 100,
  publisherSilentMs: 15_000,
  send: (datagram, to) => udp.send(datagram, to),
  fault: (error) => {
    throw error
  },
  emit: (event) => events.push(event),
  want: () => undefined,
  release: () => undefined,
})
setInterval(() => {
  if (isSkipping) skippedMs += SKIP_MS
  relay.tick()
}, TICK_MS)

const engine = {
  async publish(offer: Parameters<Relay['publish']>[0]) {
    const answer = relay.publish(offer)
    relay.answered(offer.sessionId)
    return answer
  },
  async view(offer: Parameters<Relay['view']>[0]) {
    const answer = relay.view(offer)
    relay.answered(offer.sessionId)
    return answer
  },
}

const has = (kind: MediaEngineEvent['kind'], sessionId: string): boolean =>
  events.some((event) => event.kind === kind && 'sessionId' in event && event.sessionId === sessionId)

async function comeAndGo(): Promise<void> {
  const publishers = [await publishTo(engine, 'first')]
  await until(() => has('connected', 'first'))
  const viewers = await Promise.all(['cut', 'left', 'lost'].map((name) => viewFrom(engine, name)))
  await until(() => viewers.every(({ packets }) => packets.length > 0))
  publishers.push(await publishTo(engine, 'replacing'))
  await until(() => has('connected', 'replacing'))
  relay.end('cut')
  await viewers[1]?.close()
  await until(() => ['first', 'cut'].every((name) => has('ended', name)))
  // Timeouts end clients that never connected, and those that vanished without a message.
  await engine.view({ sessionId: 'never', room: 'a1b2c3/show', sourceId: null, offer: await new TestViewer().offer() })
  await Promise.all([...publishers, ...viewers].map((one) => one.vanish()))
  isSkipping = true
  await until(() => ['left', 'lost', 'replacing', 'never'].every((name) => has('ended', name)))
}

const left = (): Record<string, number> =>
  Object.fromEntries(
    Object.entries(MADE)
      .map(([name, kind]) => [name, queryObjects(kind, { format: 'count' })] as const)
      .filter(([, count]) => count > 0),
  )

await comeAndGo()
// A handshake of werift holds its transport until its timer has seen that it is over.
for (;;) {
  process.send?.(left())
  await pace(LOOK_MS)
}
