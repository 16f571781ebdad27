import { setTimeout as sleep } from 'node:timers/promises'
import { PeerConnection, RtcpReceivingSession, type Track, Video } from 'node-datachannel'
import { writeRtp } from '../../src/media/relay/wire/rtp.ts'
import { type Contender, cpuNs, ownAddress, type ViewerSide } from './contender.ts'

/**
 * One publisher and some viewers, all of another WebRTC stack than ours. The publisher sends VP8 of a constant bitrate, 30
 * frames a second; the viewers decrypt, and some of them count.
 */

const PAYLOAD = 1100
export const PACKET = PAYLOAD + 12
const PAYLOAD_TYPE = 96
const SSRC = 0x1234
const FRAMES_PER_SECOND = 30
/** Frames between keyframes. */
const KEY_INTERVAL = 60
const COUNTING_VIEWERS = 10
const JOINS_AT_ONCE = 8
const CONNECT_MS = 5000
/** Until what is compiled while it runs has been compiled. */
const SETTLE_MS = 3000

export interface Measured {
  /** Microseconds of the server's CPU for each packet that arrived at a viewer. */
  readonly usPerPacket: number
  /** Share of what was sent that arrived. */
  readonly delivery: number
  readonly packetsPerSecond: number
}

const connection = (name: string): PeerConnection =>
  new PeerConnection(name, { iceServers: [], bindAddress: ownAddress(), disableAutoNegotiation: true })

/** Runs one contender with `viewers` at `bitrate` (bits per second) for `windowMs`, and stops what it started. */
export async function measure(
  server: Contender,
  viewers: number,
  bitrate: number,
  windowMs: number,
): Promise<Measured> {
  const peers: PeerConnection[] = []
  const publisher = connection('publisher')
  peers.push(publisher)
  const sending = await publish(server, publisher)
  const sender = startSending(sending, bitrate)
  try {
    const counters = await connectViewers(server, viewers, peers)
    await sleep(SETTLE_MS)
    return await window(server, viewers, windowMs, sender, counters)
  } finally {
    sender.stop()
    for (const peer of peers) peer.close()
    await sleep(300)
  }
}

async function publish(server: Contender, peer: PeerConnection): Promise<Track> {
  const media = new Video('0', 'SendOnly')
  media.addVP8Codec(PAYLOAD_TYPE)
  media.addSSRC(SSRC, 'bench', 'stream', 'track')
  const track = peer.addTrack(media)
  const up = connected(peer)
  peer.setRemoteDescription(await server.publish(await described(peer, 'offer')), 'answer')
  await up
  return track
}

async function connectViewers(server: Contender, count: number, peers: PeerConnection[]): Promise<Counter[]> {
  const counters = Array.from({ length: Math.min(count, COUNTING_VIEWERS) }, () => new Counter())
  let joined = 0
  const join = async (): Promise<void> => {
    for (let at = joined++; at < count; at = joined++) peers.push(await joinOne(server, counters[at] ?? null))
  }
  await Promise.all(Array.from({ length: JOINS_AT_ONCE }, join))
  return counters
}

/** This stack as a client now and then does not connect; then it tries again. */
async function joinOne(server: Contender, counter: Counter | null, triesLeft = 4): Promise<PeerConnection> {
  const peer = connection('viewer')
  try {
    await Promise.all([connected(peer), server.view(viewerSide(peer, counter))])
    return peer
  } catch (error) {
    peer.close()
    if (triesLeft === 0) throw error
    return joinOne(server, counter, triesLeft - 1)
  }
}

class Counter {
  packets = 0
}

function viewerSide(peer: PeerConnection, counter: Counter | null): ViewerSide {
  const watch = (track: Track) => {
    kept.add(track)
    track.setMediaHandler(new RtcpReceivingSession())
    if (counter !== null) track.onMessage(() => void counter.packets++)
  }
  return {
    offer: () => {
      const media = new Video('0', 'RecvOnly')
      media.addVP8Codec(PAYLOAD_TYPE)
      watch(peer.addTrack(media))
      return described(peer, 'offer')
    },
    accept: async (answer) => peer.setRemoteDescription(answer, 'answer'),
    answer: (offer) => {
      peer.onTrack(watch)
      peer.setRemoteDescription(offer, 'offer')
      return described(peer, 'answer')
    },
  }
}

/** Tracks that the library would free with their JavaScript object. */
const kept = new Set<Track>()

async function described(peer: PeerConnection, type: 'offer' | 'answer'): Promise<string> {
  const gathered = new Promise<void>((resolve) => {
    peer.onGatheringStateChange((state) => state === 'complete' && resolve())
  })
  peer.setLocalDescription(type)
  await Promise.race([gathered, sleep(CONNECT_MS)])
  return peer.localDescription()?.sdp ?? ''
}

function connected(peer: PeerConnection): Promise<void> {
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

/** Sends on a schedule of 10 ms, and catches up with what it owes. */
function startSending(track: Track, bitrate: number): { sent(): number; stop(): void } {
  const packetsPerSecond = bitrate / 8 / PACKET
  const perFrame = Math.max(1, Math.round(packetsPerSecond / FRAMES_PER_SECOND))
  const startedAt = performance.now()
  let sent = 0
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * packetsPerSecond)
    for (; sent < due; sent++) track.sendMessageBinary(packetOf(sent, perFrame))
  }, 10)
  return { sent: () => sent, stop: () => clearInterval(timer) }
}

const BODY = Buffer.alloc(PAYLOAD, 0x55)

function packetOf(count: number, perFrame: number): Buffer {
  const frame = Math.floor(count / perFrame)
  const place = count % perFrame
  const isKey = frame % KEY_INTERVAL === 0
  // The payload descriptor of RFC 7741 with the start of a partition, and the frame header of RFC 6386 section 9.1.
  const head = place > 0 ? [0] : [0x10, isKey ? 0x10 : 0x11, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0xe0, 0x01]
  BODY.set(head)
  const fields = { marker: place === perFrame - 1, payloadType: PAYLOAD_TYPE, sequence: count & 0xffff, ssrc: SSRC }
  return writeRtp({ ...fields, timestamp: (frame * 90_000) / FRAMES_PER_SECOND }, BODY)
}

async function window(
  server: Contender,
  viewers: number,
  windowMs: number,
  sender: { sent(): number },
  counters: readonly Counter[],
): Promise<Measured> {
  const read = () => ({
    cpu: cpuNs(server.pids()),
    received: counters.reduce((sum, { packets }) => sum + packets, 0) / counters.length,
    sent: sender.sent(),
    at: performance.now(),
  })
  const before = read()
  await sleep(windowMs)
  const after = read()
  const received = (after.received - before.received) * viewers
  return {
    usPerPacket: (after.cpu - before.cpu) / 1000 / received,
    delivery: (after.received - before.received) / (after.sent - before.sent),
    packetsPerSecond: (received * 1000) / (after.at - before.at),
  }
}
