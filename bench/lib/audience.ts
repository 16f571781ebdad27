// A publisher and viewers over WHIP and WHEP, in a process of their own that `startAudience()` starts.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { type PeerConnection, RtcpReceivingSession, type Track, Video } from 'node-datachannel'
import { connected, connection, delayMs, described, startSending } from '../relay/load.ts'

const PAYLOAD_TYPE = 96
/** The payload type that encoders use. */
const H264_PAYLOAD_TYPE = 97
const FIRST_PACKET_MS = 10_000
/** By status. */
const RETRY_MS: Readonly<Record<number, number>> = { 409: 100, 503: 1000 }
/** Behind each packet: AES-GCM (RFC 7714). */
const TAG_BYTES = 16

interface Endpoint {
  readonly url: string
  readonly token?: string | undefined
  /** Of the server, instead of the one that it announces. */
  readonly mediaAddress?: string | undefined
}

interface JoinRequest extends Endpoint {
  readonly count: number
  readonly atOnce: number
}

type Order =
  | ({ do: 'publish'; bitrate: number } & Endpoint)
  | ({ do: 'join' } & JoinRequest)
  | { do: 'leave'; goodbye: boolean }
  | { do: 'lastMedia' }
  | { do: 'delays' }
  | { do: 'received' }

export interface Audience {
  publish(to: Endpoint, bitrate: number): Promise<void>
  /** Adds viewers. Returns the milliseconds from offer to first packet for each. */
  join(request: JoinRequest): Promise<number[]>
  /** All viewers leave: they send DELETE, or (without goodbye) only close the connection. */
  leave(goodbye?: boolean): Promise<void>
  /** When each viewer last received a media packet, in milliseconds since 1970. */
  lastMedia(): Promise<number[]>
  /** How long packets were on their way to the viewers since the last call, each in milliseconds. */
  delays(): Promise<number[]>
  /** Sums over the viewers of now, since they joined. */
  received(): Promise<Received>
  stop(): Promise<void>
  /** Kills the process, so that no peer sends a message, as when a machine loses its network. */
  vanish(): Promise<void>
}

/** What viewers got over SRTP. */
interface Received {
  /** RTP with what encryption adds, without RTCP. */
  readonly bytes: number
  readonly packets: number
  /** Sequence numbers that never came. */
  readonly missing: number
}

/** Starts the process. An error in it ends it, and rejects every pending call. */
export async function startAudience(): Promise<Audience> {
  const child = fork(import.meta.filename, ['audience'])
  const broke = once(child, 'exit').then(() => Promise.reject(new Error('the audience is gone')))
  broke.catch(() => undefined)
  const ask = async (order: Order): Promise<number[]> => {
    const answered = once(child, 'message') as Promise<[number[]]>
    child.send(order)
    return (await Promise.race([answered, broke]))[0]
  }
  return {
    publish: async (to, bitrate) => void (await ask({ do: 'publish', ...to, bitrate })),
    join: (request) => ask({ do: 'join', ...request }),
    leave: async (goodbye = true) => void (await ask({ do: 'leave', goodbye })),
    lastMedia: () => ask({ do: 'lastMedia' }),
    delays: () => ask({ do: 'delays' }),
    async received() {
      const [bytes = 0, packets = 0, missing = 0] = await ask({ do: 'received' })
      return { bytes, packets, missing }
    },
    async stop() {
      const gone = once(child, 'exit')
      child.disconnect()
      await gone
    },
    async vanish() {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}

interface Viewer {
  readonly peer: PeerConnection
  readonly track: Track
  readonly resource: string
  lastMs: number
  bytes: number
  packets: number
  /** Sequence numbers, counted on where they wrap. */
  first: number
  highest: number
}

/** References that prevent garbage collection of native objects. */
const referenced: unknown[] = []
let viewers: Viewer[] = []
/** Null: nobody has asked for them yet. */
let delays: number[] | null = null

const nowMs = (): number => performance.timeOrigin + performance.now()

async function obey(order: Order): Promise<number[]> {
  switch (order.do) {
    case 'publish':
      await publish(order)
      return []
    case 'join':
      return joinAll(order)
    case 'leave':
      await leaveAll(order.goodbye)
      return []
    case 'lastMedia':
      return viewers.map(({ lastMs }) => lastMs)
    case 'received':
      return [
        sum(({ bytes }) => bytes),
        sum(({ packets }) => packets),
        sum(({ packets, first, highest }) => highest - first + 1 - packets),
      ]
    case 'delays': {
      const all = delays ?? []
      delays = []
      return all
    }
  }
}

const sum = (of: (viewer: Viewer) => number): number => viewers.reduce((all, viewer) => all + of(viewer), 0)

/** The address is the second part. */
const CANDIDATE = /(a=candidate:\S+ 1 \S+ \d+ )(\S+)( \d+ typ host)/g

/** POSTs the offer of `peer`; resolves with the resource once connected. */
async function negotiate(peer: PeerConnection, { url, token = '', mediaAddress }: Endpoint): Promise<string> {
  const headers = { 'content-type': 'application/sdp', ...(token && { authorization: `Bearer ${token}` }) }
  const response = await posted(url, { method: 'POST', headers, body: await described(peer, 'offer') })
  const answer = await response.text()
  if (response.status !== 201) throw new Error(`${url}: ${response.status} ${answer}`)
  const up = connected(peer)
  const there = mediaAddress === undefined ? '$2' : mediaAddress
  peer.setRemoteDescription(answer.replace(CANDIDATE, `$1${there}$3`), 'answer')
  await up
  return new URL(response.headers.get('location') ?? '', url).href
}

/** Retries, because a publisher is connected a moment before its stream is on the air, and a busy server takes a crowd bit by bit. */
async function posted(url: string, request: RequestInit): Promise<Response> {
  for (let triesLeft = 50; ; triesLeft--) {
    const response = await fetch(url, request)
    const waitMs = RETRY_MS[response.status]
    if (waitMs === undefined || triesLeft === 0) return response
    await response.arrayBuffer()
    await sleep(waitMs)
  }
}

async function publish(order: Endpoint & { readonly bitrate: number }): Promise<void> {
  const peer = connection('publisher')
  const media = new Video('0', 'SendOnly')
  media.addVP8Codec(PAYLOAD_TYPE)
  media.addSSRC(0x1234, 'bench', 'stream', 'track')
  const track = peer.addTrack(media)
  await negotiate(peer, order)
  referenced.push(peer, track, startSending(track, order.bitrate))
}

async function joinAll(order: JoinRequest): Promise<number[]> {
  const took: number[] = []
  let begun = 0
  const some = async (): Promise<void> => {
    while (begun++ < order.count) took.push(await joinWithRetries(order))
  }
  await Promise.all(Array.from({ length: order.atOnce }, some))
  return took
}

/** Retries, because this client stack sometimes fails to connect. */
async function joinWithRetries(endpoint: Endpoint, triesLeft = 4): Promise<number> {
  const peer = connection('viewer')
  try {
    return await join(peer, endpoint)
  } catch (error) {
    viewers = viewers.filter((viewer) => viewer.peer !== peer)
    peer.close()
    if (triesLeft === 0) throw error
    return joinWithRetries(endpoint, triesLeft - 1)
  }
}

async function join(peer: PeerConnection, endpoint: Endpoint): Promise<number> {
  const beganMs = nowMs()
  const media = new Video('0', 'RecvOnly')
  media.addVP8Codec(PAYLOAD_TYPE)
  media.addH264Codec(H264_PAYLOAD_TYPE)
  const track = peer.addTrack(media)
  track.setMediaHandler(new RtcpReceivingSession())
  const viewer: Viewer = { peer, track, resource: '', lastMs: 0, bytes: 0, packets: 0, first: 0, highest: 0 }
  const first = new Promise<number>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('a viewer saw nothing')), FIRST_PACKET_MS)
    track.onMessage((packet) => {
      if (![PAYLOAD_TYPE, H264_PAYLOAD_TYPE].includes((packet[1] ?? 0) & 0x7f)) return
      if (viewer.lastMs === 0) clearTimeout(timer)
      viewer.lastMs = nowMs()
      note(viewer, packet)
      delays?.push(delayMs(packet))
      resolve(viewer.lastMs - beganMs)
    })
  })
  first.catch(() => undefined)
  const resource = await negotiate(peer, endpoint)
  viewers.push(Object.assign(viewer, { resource }))
  return first
}

function note(viewer: Viewer, packet: Buffer): void {
  const sequence = packet.readUInt16BE(2)
  if (viewer.packets === 0) viewer.first = viewer.highest = sequence
  const ahead = (sequence - viewer.highest) & 0xffff
  if (ahead < 0x8000) viewer.highest += ahead
  viewer.bytes += packet.length + TAG_BYTES
  viewer.packets += 1
}

async function leaveAll(goodbye: boolean): Promise<void> {
  const leaving = viewers
  viewers = []
  for (const { peer, resource } of leaving) {
    if (goodbye) await fetch(resource, { method: 'DELETE' }).then((response) => response.arrayBuffer())
    peer.close()
  }
}

if (process.argv[2] === 'audience') {
  process.on('message', (order: Order) => void obey(order).then((answer) => process.send?.(answer)))
  process.on('disconnect', () => process.exit())
}
