import { setTimeout as sleep } from 'node:timers/promises'
import { PeerConnection, type Track, Video } from 'node-datachannel'
import { createIdentity } from '../../src/media/relay/transport/dtls.ts'
import { parseRtcp } from '../../src/media/relay/wire/rtcp/rtcp.ts'
import { isRtcp, writeRtp } from '../../src/media/relay/wire/rtp.ts'
import { type Contender, cpuNs, ownAddress } from './contender.ts'
import { Sockets } from './sockets.ts'
import { Viewer } from './viewer.ts'

/**
 * One publisher on a WebRTC stack other than ours, which sends VP8 at a constant bit rate and 30 frames a second. Its
 * viewers join like any other and then only count packets, so that the machine spends its time on the server.
 */

const PAYLOAD = 1100
export const PACKET = PAYLOAD + 12
const PAYLOAD_TYPE = 96
const SSRC = 0x1234
const FRAMES_PER_SECOND = 30
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
}

export const connection = (name: string): PeerConnection =>
  new PeerConnection(name, { iceServers: [], bindAddress: ownAddress(), disableAutoNegotiation: true })

/** Runs one contender with `viewers` at `bitrate` (bits per second) for `windowMs`, and stops what it started. */
export async function measure(
  server: Contender,
  viewers: number,
  bitrate: number,
  windowMs: number,
): Promise<Measured> {
  const publisher = connection('publisher')
  const sender = startSending(await publish(server, publisher), bitrate)
  // A low bit rate leaves the server time for joining viewers.
  sender.turn(JOINING_BITRATE)
  const sockets = new Sockets(viewers * TRIES)
  const joined: Viewer[] = []
  try {
    await join(server, viewers, sockets, joined)
    sender.turn(bitrate)
    await sleep(Math.max(SETTLE_MS, (WARM_PACKETS * 1000) / (perSecond(bitrate) * viewers)))
    return await window(server, viewers, windowMs, sender, sockets)
  } finally {
    sender.stop()
    for (const viewer of joined) viewer.close()
    sockets.close()
    publisher.close()
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

/** Adds viewers, a few at a time, and waits until each has decrypted a media packet. */
async function join(server: Contender, count: number, sockets: Sockets, joined: Viewer[]): Promise<void> {
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

/** Sends every 10 ms, and catches up with packets that are late. Answers requests for a keyframe. `turn` sets another bit rate. */
export function startSending(track: Track, bitrate: number) {
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
    for (; owed >= 1 && track.isOpen(); owed--) track.sendMessageBinary(packetOf(sent++, perFrame, keyFrame))
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

/** `keyFrame`: the frame at which the keyframes begin to be counted. */
function packetOf(count: number, perFrame: number, keyFrame: number): Buffer {
  const frame = Math.floor(count / perFrame)
  const packet = count % perFrame
  const isKey = frame >= keyFrame && (frame - keyFrame) % KEY_INTERVAL === 0
  // The payload descriptor of RFC 7741 with the start of a partition, and the frame header of RFC 6386 section 9.1.
  const head = packet > 0 ? [0] : [0x10, isKey ? 0x10 : 0x11, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0xe0, 0x01]
  BODY.set(head)
  const fields = { marker: packet === perFrame - 1, payloadType: PAYLOAD_TYPE, sequence: count & 0xffff, ssrc: SSRC }
  return writeRtp({ ...fields, timestamp: (frame * 90_000) / FRAMES_PER_SECOND }, BODY)
}

async function window(
  server: Contender,
  viewers: number,
  windowMs: number,
  sender: { sent(): number },
  sockets: Sockets,
): Promise<Measured> {
  const read = () => ({
    cpu: cpuNs(server.pids()),
    received: sockets.media,
    sent: sender.sent(),
    at: performance.now(),
  })
  const before = read()
  await sleep(windowMs)
  const after = read()
  const received = after.received - before.received
  return {
    usPerPacket: (after.cpu - before.cpu) / 1000 / received,
    delivery: received / (after.sent - before.sent) / viewers,
    packetsPerSecond: (received * 1000) / (after.at - before.at),
  }
}
