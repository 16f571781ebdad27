import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { Endpoint } from '../../src/media/relay/transport/socket.ts'
import { addressOf, WirePeer } from './wirePeer.ts'
import { socketWire } from './socketWire.ts'

/** Frames of ten small packets, so that a few viewers are much work for a relay. */
const FRAME_MS = 10
const PACKETS_A_FRAME = 10
const PACKET_BYTES = 150
const KEY_EVERY = 100
/** Where a packet has the time of its sending. */
const TIME_AT = 16
/** Viewers prove their address every 15 s, or are gone after 30 s. */
const CHECK_MS = 2000

/** A packet that arrived: when, and how long after it was sent. Milliseconds of `performance.now()`. */
export interface Arrival {
  readonly atMs: number
  readonly delayMs: number
}

/** How an offer is answered over HTTP. */
export type AskOver = (offer: string) => Promise<{ readonly status: number; readonly sdp: string }>

class TimedPeer extends WirePeer {
  readonly #wire: ReturnType<typeof socketWire>
  #timers: NodeJS.Timeout[] = []

  constructor(wire = socketWire('udp')) {
    super(wire, addressOf(0))
    this.#wire = wire
  }

  /** Connects after the answer. Returns its status. */
  async join(ask: AskOver, direction: 'sendonly' | 'recvonly'): Promise<number> {
    const { status, sdp } = await ask(this.offer(direction))
    if (status !== 201) return status
    this.accept({ ok: true, answer: sdp, etag: '' })
    await this.#wire.open(sdp)
    await this.connect()
    this.every(CHECK_MS, () => this.check())
    return status
  }

  every(ms: number, act: () => void): void {
    this.#timers.push(setInterval(act, ms))
  }

  override close(): void {
    for (const timer of this.#timers) clearInterval(timer)
    super.close()
    this.#wire.close()
  }
}

/** Sends a thousand packets a second, each with the time. */
export class TimedPublisher extends TimedPeer {
  /** When it sent its latest packet, milliseconds of `performance.now()`. */
  sentAtMs = 0

  play(): void {
    let [frame, asked] = [0, 0]
    let dueMs = performance.now()
    this.every(FRAME_MS / 2, () => {
      for (; dueMs <= performance.now(); dueMs += FRAME_MS, frame++) {
        this.sendPayloads(payloads(frame % KEY_EVERY === 0 || this.asked > asked))
        asked = this.asked
        this.sentAtMs = performance.now()
      }
    })
  }
}

function payloads(isKey: boolean): Buffer[] {
  return Array.from({ length: PACKETS_A_FRAME }, (_, at) => {
    const payload = Buffer.alloc(PACKET_BYTES)
    // The payload descriptor of RFC 7741 with the start of a partition, and the frame header of RFC 6386 section 9.1.
    payload.set(at > 0 ? [0] : [0x10, isKey ? 0x10 : 0x11, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0xe0, 0x01])
    payload.writeDoubleBE(performance.now(), TIME_AT)
    return payload
  })
}

/** A socket that the time is sent to at the same pace: how late this process itself reads, which is no fault of a server. */
export class OwnLateness {
  readonly #socket = createSocket('udp4')
  readonly #arrivals: Arrival[] = []
  #timer: NodeJS.Timeout | undefined

  async start(): Promise<void> {
    this.#socket.bind(0, '127.0.0.1')
    await once(this.#socket, 'listening')
    const { port } = this.#socket.address()
    const time = Buffer.alloc(8)
    this.#socket.on('message', (message) => {
      const atMs = performance.now()
      this.#arrivals.push({ atMs, delayMs: atMs - message.readDoubleBE() })
    })
    this.#timer = setInterval(() => {
      time.writeDoubleBE(performance.now())
      this.#socket.send(time, port, '127.0.0.1')
    }, FRAME_MS / 2)
  }

  /** The most around this moment. */
  at(atMs: number): number {
    const near = this.#arrivals.filter((arrival) => Math.abs(arrival.atMs - atMs) < 100)
    return Math.max(0, ...near.map(({ delayMs }) => delayMs))
  }

  close(): void {
    clearInterval(this.#timer)
    this.#socket.close()
  }
}

/** To decrypt a packet costs as much as to forward it: one of eight is. */
const SAMPLE = 8

/** Notes when packets arrive. */
export class TimedViewer extends TimedPeer {
  arrivals: Arrival[] = []

  override take(datagram: Buffer, at: Endpoint): void {
    const isMedia = datagram.length > PACKET_BYTES && (datagram[0] ?? 0) >> 6 === 2
    if (isMedia && this.arrivals.length > 0 && datagram.readUInt16BE(2) % SAMPLE !== 0) return
    super.take(datagram, at)
    const atMs = performance.now()
    for (const packet of this.media.splice(0)) {
      if (packet.length < PACKET_BYTES) continue
      const sentMs = packet.readDoubleBE(packet.length - PACKET_BYTES + TIME_AT)
      this.arrivals.push({ atMs, delayMs: atMs - sentMs })
    }
  }
}
