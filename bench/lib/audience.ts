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

type Order =
  | { do: 'publish'; url: string; token: string; bitrate: number }
  | { do: 'join'; url: string; token: string; count: number; atOnce: number }
  | { do: 'leave'; goodbye: boolean }
  | { do: 'lastMedia' }
  | { do: 'delays' }

export interface Audience {
  publish(url: string, token: string, bitrate: number): Promise<void>
  /** Adds viewers. Returns the milliseconds from offer to first packet for each. */
  join(request: { url: string; token: string; count: number; atOnce: number }): Promise<number[]>
  /** All viewers leave: they send DELETE, or (without goodbye) only close the connection. */
  leave(goodbye?: boolean): Promise<void>
  /** When each viewer last received a media packet, in milliseconds since 1970. */
  lastMedia(): Promise<number[]>
  /** How long packets were on their way to the viewers since the last call, each in milliseconds. */
  delays(): Promise<number[]>
  stop(): Promise<void>
  /** Kills the process, so that no peer sends a message, as when a machine loses its network. */
  vanish(): Promise<void>
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
    publish: async (url, token, bitrate) => void (await ask({ do: 'publish', url, token, bitrate })),
    join: (request) => ask({ do: 'join', ...request }),
    leave: async (goodbye = true) => void (await ask({ do: 'leave', goodbye })),
    lastMedia: () => ask({ do: 'lastMedia' }),
    delays: () => ask({ do: 'delays' }),
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
    case 'delays': {
      const all = delays ?? []
      delays = []
      return all
    }
  }
}

interface Endpoint {
  readonly url: string
  readonly token: string
}

/** POSTs the offer of `peer`; resolves with the resource once connected. */
async function negotiate(peer: PeerConnection, { url, token }: Endpoint): Promise<string> {
  const headers = { 'content-type': 'application/sdp', authorization: `Bearer ${token}` }
  const response = await posted(url, { method: 'POST', headers, body: await described(peer, 'offer') })
  const answer = await response.text()
  if (response.status !== 201) throw new Error(`${url}: ${response.status} ${answer}`)
  const up = connected(peer)
  peer.setRemoteDescription(answer, 'answer')
  await up
  return new URL(response.headers.get('location') ?? '', url).href
}

/** Retries, because a publisher is connected a moment before its stream is on the air. */
async function posted(url: string, request: RequestInit): Promise<Response> {
  for (let triesLeft = 50; ; triesLeft--) {
    const response = await fetch(url, request)
    if (response.status !== 409 || triesLeft === 0) return response
    await response.arrayBuffer()
    await sleep(100)
  }
}

async function publish(order: { url: string; token: string; bitrate: number }): Promise<void> {
  const peer = connection('publisher')
  const media = new Video('0', 'SendOnly')
  media.addVP8Codec(PAYLOAD_TYPE)
  media.addSSRC(0x1234, 'bench', 'stream', 'track')
  const track = peer.addTrack(media)
  await negotiate(peer, order)
  referenced.push(peer, track, startSending(track, order.bitrate))
}

async function joinAll(order: { url: string; token: string; count: number; atOnce: number }): Promise<number[]> {
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
  const viewer = { peer, track, resource: '', lastMs: 0 }
  const first = new Promise<number>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('a viewer saw nothing')), FIRST_PACKET_MS)
    track.onMessage((packet) => {
      if (![PAYLOAD_TYPE, H264_PAYLOAD_TYPE].includes((packet[1] ?? 0) & 0x7f)) return
      if (viewer.lastMs === 0) clearTimeout(timer)
      viewer.lastMs = nowMs()
      delays?.push(delayMs(packet))
      resolve(viewer.lastMs - beganMs)
    })
  })
  first.catch(() => undefined)
  const resource = await negotiate(peer, endpoint)
  viewers.push(Object.assign(viewer, { resource }))
  return first
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
