import {
  MediaStreamTrack,
  RTCPeerConnection,
  type RtpPacket,
  RtpHeader,
  RtpPacket as Packet,
  useH264,
  useOPUS,
  useVP8,
} from 'werift'
import type { MediaEngine } from '../../src/media/engine.ts'
import { unwrapSequence } from '../../src/media/relay/wire/rtp.ts'
import { packetsOf } from '../media/relay/wire/captures/read.ts'
import { until } from './until.ts'

/** A peer with IPv6 only, as `Where` and the constructors take it. */
export const IPV6 = { iceUseIpv4: false, iceUseIpv6: true, iceAdditionalHostAddresses: ['::1'] }
/** A server on this machine alone. */
export const LOOPBACK = { iceUseIpv4: true, iceUseIpv6: false, iceAdditionalHostAddresses: ['127.0.0.1'] }
type IceOptions = Partial<typeof IPV6>

/** Another implementation of WebRTC at the other end. Its congestion feedback is off, because it is known to be wrong. */
function connection(codec: 'vp8' | 'h264', ice: IceOptions): RTCPeerConnection {
  const video = codec === 'vp8' ? useVP8() : useH264()
  return new RTCPeerConnection({
    ...ice,
    codecs: { video: [video], audio: [useOPUS()] },
    iceServers: [],
    bundlePolicy: 'max-bundle',
    headerExtensions: { video: [], audio: [] },
  })
}

/** A publisher that loops a short capture, a frame every 40 ms. */
export class TestPublisher {
  readonly pc: RTCPeerConnection
  readonly #track = new MediaStreamTrack({ kind: 'video' })
  readonly #codec: 'vp8' | 'h264'
  #timer: NodeJS.Timeout | undefined
  #sequence = 65_000
  #shown = 0

  constructor(codec: 'vp8' | 'h264' = 'vp8', ice: IceOptions = {}) {
    this.#codec = codec
    this.pc = connection(codec, ice)
    this.pc.addTransceiver(this.#track, { direction: 'sendonly' })
  }

  async offer(): Promise<string> {
    await this.pc.setLocalDescription(await this.pc.createOffer())
    return this.pc.localDescription?.sdp ?? ''
  }

  /** As a server that is asked for what it has. */
  answer(offer: string): Promise<string> {
    return answerOf(this.pc, offer)
  }

  async accept(answer: string): Promise<void> {
    await this.pc.setRemoteDescription({ type: 'answer', sdp: answer })
    await this.pc.connectionStateChange.watch((state) => state === 'connected', 8000).catch(() => undefined)
  }

  /** Sends, a frame at a time. */
  play(everyMs = 40): void {
    const frames = Object.values(Object.groupBy(packetsOf(this.#codec), ({ timestamp }) => String(timestamp)))
    this.#timer = setInterval(() => {
      for (const { marker, payload } of frames[this.#shown % frames.length] ?? []) {
        const header = new RtpHeader({
          sequenceNumber: this.#sequence,
          timestamp: this.#shown * 3600,
          marker,
          payloadType: 96,
          ssrc: 1,
        })
        this.#track.writeRtp(new Packet(header, payload))
        this.#sequence = (this.#sequence + 1) & 0xffff
      }
      this.#shown += 1
    }, everyMs)
  }

  /** Sends nothing until it plays again, and stays connected. */
  pause(): void {
    clearInterval(this.#timer)
  }

  /** Loses its network without a goodbye. */
  async vanish(): Promise<void> {
    clearInterval(this.#timer)
    await cutOff(this.pc)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.pc.close()
  }
}

/** A viewer that records its packets. */
export class TestViewer {
  readonly pc: RTCPeerConnection
  readonly packets: RtpPacket[] = []

  constructor(codec: 'vp8' | 'h264' = 'vp8', ice: IceOptions = {}) {
    this.pc = connection(codec, ice)
    this.pc.addTransceiver('video', { direction: 'recvonly' })
    this.pc.onTrack.subscribe((track) => {
      track.onReceiveRtp.subscribe((packet) => {
        this.packets.push(packet)
      })
    })
  }

  /** Waits until so many packets more are there. */
  async gets(more = 20): Promise<void> {
    const enough = this.packets.length + more
    await until(() => this.packets.length >= enough)
  }

  /** From each packet to the next, in the order of their numbers. 1 alone: all came. One that was lost and sent again came late. */
  get steps(): ReadonlySet<number> {
    let latest = this.packets[0]?.header.sequenceNumber ?? 0
    const numbers = this.packets.map(({ header }) => (latest = unwrapSequence(latest, header.sequenceNumber)))
    numbers.sort((a, b) => a - b)
    return new Set(numbers.slice(1).map((number, at) => number - (numbers[at] ?? 0)))
  }

  async offer(): Promise<string> {
    await this.pc.setLocalDescription(await this.pc.createOffer())
    return this.pc.localDescription?.sdp ?? ''
  }

  /** As a server that takes publishers. */
  answer(offer: string): Promise<string> {
    return answerOf(this.pc, offer)
  }

  accept(answer: string): Promise<void> {
    return this.pc.setRemoteDescription({ type: 'answer', sdp: answer })
  }

  /** Loses its network without a goodbye. */
  vanish(): Promise<void> {
    return cutOff(this.pc)
  }

  close(): Promise<void> {
    return this.pc.close()
  }
}

/** The answer of a peer to an offer. */
export async function answerOf(pc: RTCPeerConnection, offer: string): Promise<string> {
  await pc.setRemoteDescription({ type: 'offer', sdp: offer })
  await pc.setLocalDescription(await pc.createAnswer())
  return pc.localDescription?.sdp ?? ''
}

async function cutOff(pc: RTCPeerConnection): Promise<void> {
  for (const transport of pc.iceTransports) await transport.connection.close()
}

interface Where {
  room?: string
  sourceId?: string | null
  codec?: 'vp8' | 'h264'
  ice?: IceOptions
}

/** A publisher on the air. Throws on a refusal. */
export async function publishTo(
  engine: Pick<MediaEngine, 'publish' | 'view'>,
  sessionId: string,
  { room = 'a1b2c3/show', sourceId = null, codec = 'vp8', ice = {} }: Where = {},
): Promise<TestPublisher> {
  const publisher = new TestPublisher(codec, ice)
  const answer = await engine.publish({ sessionId, room, sourceId, offer: await publisher.offer(), codec: null })
  if (!answer.ok) throw new Error(answer.problem)
  await publisher.accept(answer.answer)
  publisher.play()
  return publisher
}

/** A viewer. Throws on a refusal. */
export async function viewFrom(
  engine: Pick<MediaEngine, 'publish' | 'view'>,
  sessionId: string,
  { room = 'a1b2c3/show', sourceId = null, codec = 'vp8', ice = {} }: Where = {},
): Promise<TestViewer> {
  const viewer = new TestViewer(codec, ice)
  const answer = await engine.view({ sessionId, room, sourceId, offer: await viewer.offer() })
  if (!answer.ok) throw new Error(answer.problem)
  await viewer.accept(answer.answer)
  return viewer
}
