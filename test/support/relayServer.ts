import { systemRandom } from '../../src/base/random.ts'
import type { MediaEngineEvent, Negotiated } from '../../src/media/engine.ts'
import type { TrackInfo } from '../../src/media/frame.ts'
import { FrameFeed } from '../../src/media/relay/forward/frameFeed.ts'
import { Relay, TICK_MS } from '../../src/media/relay/relay.ts'
import { type Endpoint, openUdp, type UdpPort } from '../../src/media/relay/transport/socket.ts'
import { identity } from './wirePeer.ts'

export const ROOM = 'a/show'

/** A relay with a socket on loopback, as another server has one. */
export class RelayServer {
  readonly relay: Relay
  readonly events: MediaEngineEvent[] = []
  /** Datagrams that came. */
  received = 0
  readonly #udp: UdpPort
  readonly #ticking: NodeJS.Timeout

  private constructor(udp: UdpPort) {
    this.#udp = udp
    const now = () => performance.timeOrigin + performance.now()
    this.relay = new Relay({
      identity,
      random: systemRandom,
      now,
      later: (work) => void setImmediate(work),
      hosts: () => [{ transport: 'udp', address: '127.0.0.1', port: udp.port }],
      maxBitrate: 8_000_000,
      maxSessions: 20,
      publisherSilentMs: 15_000,
      send: (datagram, to) => udp.send(datagram, to),
      fault: (error) => {
        throw error
      },
      emit: (event) => this.events.push(event),
      want: () => undefined,
      release: () => undefined,
    })
    this.#ticking = setInterval(() => this.relay.tick(), TICK_MS)
  }

  static async start(): Promise<RelayServer> {
    const receive = (datagram: Buffer, from: Endpoint): void => {
      server.received += 1
      server.relay.receive(datagram, from)
    }
    const server = new RelayServer(await openUdp({ host: '127.0.0.1', port: 0, random: systemRandom }, receive))
    return server
  }

  get port(): number {
    return this.#udp.port
  }

  /** A stream whose frames the test sends. */
  feed(tracks: readonly TrackInfo[]): FrameFeed {
    const feed = this.relay.feed({ sessionId: 'feed', room: ROOM, sourceId: null })
    feed.tracks(tracks)
    return feed
  }

  view(offer: string): Negotiated {
    const answer = this.relay.view({ sessionId: 'viewer', room: ROOM, sourceId: null, offer })
    this.relay.answered('viewer')
    return answer
  }

  endOf(sessionId: string): string | undefined {
    return this.events.flatMap((event) =>
      event.kind === 'ended' && event.sessionId === sessionId ? event.reason : [],
    )[0]
  }

  stop(): Promise<void> {
    clearInterval(this.#ticking)
    return this.#udp.close()
  }
}
