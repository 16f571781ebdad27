import { setTimeout as sleep } from 'node:timers/promises'
import { type PeerConnection, RtcpReceivingSession, type Track, Video } from 'node-datachannel'
import { connected, connection, described, startSending } from '../relay/load.ts'

const VP8 = 96
const H264 = 97

export interface Endpoint {
  readonly url: string
  readonly token: string
}

/** What a peer went through. Milliseconds since the start of this process. */
export interface Course {
  /** Pauses of its media around each end of a session, until it came back. */
  readonly gapsMs: number[]
  /** Ends that the server explained with 410. */
  moved: number
  stop(): Promise<void>
}

/** A session that is up. */
interface Up {
  readonly resource: string
  readonly ended: Promise<void>
}

/** POSTs the offer until the server takes it, as `sluice/client` does: a little later after each refusal. */
async function begin(peer: PeerConnection, { url, token }: Endpoint, signal: AbortSignal): Promise<Up> {
  const headers = { 'content-type': 'application/sdp', authorization: `Bearer ${token}` }
  const body = await described(peer, 'offer')
  for (let delayMs = 250; ; delayMs = Math.min(2 * delayMs, 2000)) {
    signal.throwIfAborted()
    const response = await fetch(url, { method: 'POST', headers, body }).catch(() => null)
    const answer = (await response?.text().catch(() => '')) ?? ''
    if (response?.status !== 201) {
      await sleep(delayMs * (0.5 + Math.random() / 2))
      continue
    }
    const up = connected(peer)
    peer.setRemoteDescription(answer, 'answer')
    await up
    const ended = new Promise<void>((resolve) => {
      peer.onStateChange((state) => ['closed', 'disconnected', 'failed'].includes(state) && resolve())
    })
    return { resource: new URL(response.headers.get('location') ?? '', response.url).href, ended }
  }
}

/** One session after the other, until it is stopped. `open` makes the next peer. */
function follow(endpoint: Endpoint, open: () => PeerConnection, course: Omit<Course, 'stop'>): Course {
  const stopping = new AbortController()
  const over = (async () => {
    while (!stopping.signal.aborted) {
      const peer = open()
      try {
        const { resource, ended } = await begin(peer, endpoint, stopping.signal)
        await Promise.race([ended, new Promise((resolve) => stopping.signal.addEventListener('abort', resolve))])
        const gone = await fetch(resource, { method: 'DELETE' }).catch(() => null)
        if (gone?.status === 410) course.moved += 1
      } catch {
        // The next session.
      } finally {
        peer.close()
      }
    }
  })()
  return Object.assign(course, {
    stop() {
      stopping.abort()
      return over
    },
  })
}

/** References that prevent garbage collection of native objects. */
const referenced = new Set<Track>()

/** Publishes, and comes back whenever its session ends. */
export function publishing(endpoint: Endpoint, bitrate: number): Course {
  const open = () => {
    const peer = connection('publisher')
    const media = new Video('0', 'SendOnly')
    media.addVP8Codec(VP8)
    media.addSSRC(0x1234, 'bench', 'stream', 'track')
    const track = peer.addTrack(media)
    referenced.add(track)
    const sending = startSending(track, bitrate)
    track.onClosed(() => sending.stop())
    return peer
  }
  return follow(endpoint, open, { gapsMs: [], moved: 0 })
}

/** Watches, and comes back whenever its session ends. */
export function watching(endpoint: Endpoint): Course & { readonly packets: () => number } {
  const course = { gapsMs: [] as number[], moved: 0 }
  let [lastMs, packets] = [0, 0]
  const open = () => {
    let isFirst = true
    const peer = connection('viewer')
    const media = new Video('0', 'RecvOnly')
    media.addVP8Codec(VP8)
    media.addH264Codec(H264)
    const track = peer.addTrack(media)
    referenced.add(track)
    track.setMediaHandler(new RtcpReceivingSession())
    track.onMessage((packet) => {
      if (![VP8, H264].includes((packet[1] ?? 0) & 0x7f)) return
      const nowMs = performance.now()
      if (isFirst && lastMs > 0) course.gapsMs.push(nowMs - lastMs)
      isFirst = false
      lastMs = nowMs
      packets += 1
    })
    return peer
  }
  return Object.assign(follow(endpoint, open, course), { packets: () => packets })
}
