import { setTimeout as sleep } from 'node:timers/promises'
import { PeerConnection, type Track, Video } from 'node-datachannel'
import { createIdentity } from '../../src/media/relay/transport/dtls.ts'
import { parseRtcp } from '../../src/media/relay/wire/rtcp/rtcp.ts'
import { isRtcp } from '../../src/media/relay/wire/rtp.ts'
import { writeRtp } from '../../test/support/rtpPackets.ts'
import { median } from '../lib/report.ts'
import { type Contender, type Forwarder, ownAddress } from './contender.ts'
import { Sockets } from './sockets.ts'
import { Viewer } from './viewer.ts'

/**
 * One publisher on a WebRTC stack other than ours, which sends VP8 at a constant bit rate and 30 frames a second. Its
 * viewers join like any other and then only count packets, so that the machine spends its time on the server.
 */

const BITRATE = 2_500_000
const WINDOW_MS = 4000
const PAYLOAD = 1100
export const PACKET = PAYLOAD + 12
const PAYLOAD_TYPE = 96
const SSRC = 0x1234
const FRAMES_PER_SECOND = 30
/** Of the RTP clock. */
const TICKS_A_FRAME = 90_000 / FRAMES_PER_SECOND
/** Frames between keyframes that no server asked for. */
const KEY_INTERVAL = 60
const JOINS_AT_ONCE = 4
const CONNECT_MS = 15_000
/** Per viewer, on a busy machine. With every server a viewer sometimes fails to connect; then another one joins. */
const JOIN_MS = 10_000
const TRIES = 3
const JOINING_BITRATE = 200_000
/** The warm-up, until the hot code is compiled; after it a pause to collect the garbage of the joins. */
const WARM_PACKETS = 60_000
const SETTLE_MS = 10_000

export interface Measured {
  /** Microseconds of server CPU per packet that arrived at a viewer. */
  readonly usPerPacket: number
  /** Share of sent packets that arrived. */
  readonly delivery: number
  readonly packetsPerSecond: number
  /** From the publisher's call to the arrival at viewers, of the first packet of each frame; milliseconds. */
  readonly delay: { readonly p50: number; readonly p99: number }
  /** The p50 of the viewers of each server process. */
  readonly p50s: readonly number[]
}

export const connection = (name: string): PeerConnection =>
  new PeerConnection(name, { iceServers: [], bindAddress: ownAddress(), disableAutoNegotiation: true })

/** Starts a contender, measures it once with so many viewers, and stops it. `settleMs`: before that, at the full bit rate. */
export async function measureOnce(
  start: () => Promise<Contender>,
  viewers: number,
  settleMs = SETTLE_MS,
): Promise<Measured> {
  const server = await start()
  try {
    const load = await Load.start(server, viewers)
    try {
      await load.join(viewers)
      return await load.measure(settleMs)
    } finally {
      await load.close()
    }
  } finally {
    await server.stop()
  }
}

/** The share of packets that arrived, for people. */
export const arrived = (all: readonly Measured[]): string =>
  `${Math.round(median(all.map(({ delivery }) => delivery)) * 100)} %`

/** One server with its publisher, and viewers who join in steps. */
export class Load {
  readonly #server: Forwarder
  readonly #publisher: PeerConnection
  readonly #sender: ReturnType<typeof startSending>
  readonly #sockets: Sockets
  readonly #viewers: Viewer[] = []
  readonly #sentAtMs: ReadonlyMap<number, number>
  #count = 0

  /** @param most viewers */
  static async start(server: Forwarder, most: number): Promise<Load> {
    const publisher = connection('publisher')
    const sockets = new Sockets(most * TRIES)
    const sentAtMs = new Map<number, number>()
    const note = (timestamp: number): void => void sentAtMs.set(timestamp, sockets.now())
    const sender = startSending(await publish(server, publisher), BITRATE, note)
    return new Load({ server, publisher, sender, sockets, sentAtMs })
  }

  private constructor(parts: {
    server: Forwarder
    publisher: PeerConnection
    sender: ReturnType<typeof startSending>
    sockets: Sockets
    sentAtMs: ReadonlyMap<number, number>
  }) {
    this.#server = parts.server
    this.#publisher = parts.publisher
    this.#sender = parts.sender
    this.#sockets = parts.sockets
    this.#sentAtMs = parts.sentAtMs
  }

  /** Adds viewers, at a low bit rate, which leaves the server time for them. */
  async join(count: number): Promise<void> {
    this.#sender.turn(JOINING_BITRATE)
    await join(this.#server, count, this.#sockets, this.#viewers)
    this.#count += count
  }

  /** Sends at the full bit rate, and measures when the server has settled. */
  async measure(settleMs = SETTLE_MS): Promise<Measured> {
    this.#sender.turn(BITRATE)
    await sleep(Math.max(settleMs, (WARM_PACKETS * 1000) / (perSecond(BITRATE) * this.#count)))
    this.#sockets.takeArrivals()
    const before = await this.#read()
    await sleep(WINDOW_MS)
    const after = await this.#read()
    const received = after.received - before.received
    return {
      usPerPacket: (after.cpu - before.cpu) / 1000 / received,
      delivery: received / (after.sent - before.sent) / this.#count,
      packetsPerSecond: (received * 1000) / (after.at - before.at),
      ...this.#delays(),
    }
  }

  async close(): Promise<void> {
    this.#sender.stop()
    for (const viewer of this.#viewers) viewer.close()
    this.#sockets.close()
    this.#publisher.close()
    await sleep(300)
  }

  async #read() {
    return {
      cpu: await this.#server.cpuNs(),
      received: this.#sockets.media,
      sent: this.#sender.sent(),
      at: performance.now(),
    }
  }

  /** A viewer who was moved to another track has RTP times a little apart from those of the publisher. */
  #delays(): Pick<Measured, 'delay' | 'p50s'> {
    const portOf = new Map(this.#viewers.map(({ index, serverPort }) => [index, serverPort]))
    const delays = this.#sockets.takeArrivals().flatMap(({ index, timestamp, atMs }) => {
      const sentAtMs = this.#sentAtMs.get(Math.round(timestamp / TICKS_A_FRAME) * TICKS_A_FRAME)
      return sentAtMs === undefined ? [] : [{ port: portOf.get(index), ms: atMs - sentAtMs }]
    })
    const msOf = (some: readonly { readonly ms: number }[]): number[] => some.map(({ ms }) => ms)
    const all = msOf(delays)
    return {
      delay: { p50: percentile(all, 0.5), p99: percentile(all, 0.99) },
      p50s: [...Map.groupBy(delays, ({ port }) => port).values()].map((some) => percentile(msOf(some), 0.5)),
    }
  }
}

/** The smallest value that this share of all do not exceed. */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

async function publish(server: Forwarder, peer: PeerConnection): Promise<Track> {
  const media = new Video('0', 'SendOnly')
  media.addVP8Codec(PAYLOAD_TYPE)
  media.addSSRC(SSRC, 'bench', 'stream', 'track')
  const track = peer.addTrack(media)
  const up = connected(peer)
  peer.setRemoteDescription(await server.publish(await described(peer, 'offer')), 'answer')
  await up
  return track
}

/** Adds viewers, a few at a time, and waits until each has decrypted a media packet. */
async function join(server: Forwarder, count: number, sockets: Sockets, joined: Viewer[]): Promise<void> {
  const identity = await createIdentity()
  let begun = 0
  const joinOne = async (triesLeft = TRIES): Promise<void> => {
    const viewer = new Viewer(sockets, identity)
    joined.push(viewer)
    await server.view(viewer)
    if (await isInTime(viewer.watching)) return
    viewer.close()
    if (triesLeft === 1) throw new Error(`a viewer saw nothing in ${JOIN_MS / 1000} s, ${TRIES} times`)
    await joinOne(triesLeft - 1)
  }
  const joinMany = async (): Promise<void> => {
    while (begun++ < count) await joinOne()
  }
  await Promise.all(Array.from({ length: JOINS_AT_ONCE }, joinMany))
}

const isInTime = (done: Promise<void>): Promise<boolean> =>
  Promise.race([done.then(() => true), sleep(JOIN_MS, false, { ref: false })])

export async function described(peer: PeerConnection, type: 'offer' | 'answer'): Promise<string> {
  const gathered = new Promise<void>((resolve) => {
    peer.onGatheringStateChange((state) => state === 'complete' && resolve())
  })
  peer.setLocalDescription(type)
  await Promise.race([gathered, sleep(CONNECT_MS)])
  return peer.localDescription()?.sdp ?? ''
}

export function connected(peer: PeerConnection): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('a peer did not connect in time')), CONNECT_MS)
    peer.onStateChange((state) => {
      if (state !== 'connected' && state !== 'failed') return
      clearTimeout(timer)
      if (state === 'connected') resolve()
      else reject(new Error('a peer failed to connect'))
    })
  })
}

/**
 * Sends every 10 ms, and catches up with packets that are late. Answers requests for a keyframe. `turn` sets another bit rate.
 * `begins` is called with the RTP time of each frame before its first packet.
 */
export function startSending(track: Track, bitrate: number, begins: (timestamp: number) => void = () => undefined) {
  const perFrame = Math.max(1, Math.round(perSecond(bitrate) / FRAMES_PER_SECOND))
  let rate = perSecond(bitrate)
  let [owed, owedAt, sent, keyFrame] = [0, performance.now(), 0, 0]
  track.onMessage((message) => {
    if (asksForKeyframe(message)) keyFrame = Math.ceil(sent / perFrame)
  })
  const timer = setInterval(() => {
    const now = performance.now()
    owed += ((now - owedAt) / 1000) * rate
    owedAt = now
    for (; owed >= 1 && track.isOpen(); owed--) {
      if (sent % perFrame === 0) begins((sent / perFrame) * TICKS_A_FRAME)
      track.sendMessageBinary(packetOf(sent++, perFrame, keyFrame))
    }
  }, 10)
  return {
    sent: () => sent,
    turn: (to: number) => {
      rate = perSecond(to)
    },
    stop: () => clearInterval(timer),
  }
}

const asksForKeyframe = (message: Buffer): boolean =>
  isRtcp(message) && (parseRtcp(message) ?? []).some(({ kind }) => kind === 'pli' || kind === 'fir')

const perSecond = (bitrate: number): number => bitrate / 8 / PACKET

const BODY = Buffer.alloc(PAYLOAD, 0x55)
/** Where the time of sending lies in a payload, in milliseconds since 1970. */
const SENT_AT = 16

const nowMs = (): number => performance.timeOrigin + performance.now()

/** How long a packet of ours was on its way. @param packet without encryption */
export const delayMs = (packet: Buffer): number => nowMs() - packet.readDoubleBE(packet.length - PAYLOAD + SENT_AT)

/** `keyFrame`: the frame at which the keyframes begin to be counted. */
function packetOf(count: number, perFrame: number, keyFrame: number): Buffer {
  const frame = Math.floor(count / perFrame)
  const packet = count % perFrame
  const isKey = frame >= keyFrame && (frame - keyFrame) % KEY_INTERVAL === 0
  // The payload descriptor of RFC 7741 with the start of a partition, and the frame header of RFC 6386 section 9.1.
  const head = packet > 0 ? [0] : [0x10, isKey ? 0x10 : 0x11, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0xe0, 0x01]
  BODY.set(head)
  BODY.writeDoubleBE(nowMs(), SENT_AT)
  const fields = { marker: packet === perFrame - 1, payloadType: PAYLOAD_TYPE, sequence: count & 0xffff, ssrc: SSRC }
  return writeRtp({ ...fields, timestamp: frame * TICKS_A_FRAME }, BODY)
}
