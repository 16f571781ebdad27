// WHIP (RFC 9725) and WHEP in a browser: one POST to begin, one DELETE to end.

/** A refusal of the server, with its `status` and `text`. */
export class Refusal extends Error {
  constructor(status, text, retryAfterSeconds = 0) {
    super(text)
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/**
 * Sends the tracks of `media` to `url`, the video in one or several `encodings`. Resolves with the server's answer; media
 * flows once `pc` is connected.
 */
export async function publish({
  url,
  token,
  media,
  codec = '',
  sourceId = '',
  encodings = [{ maxBitrate: 2_500_000 }],
}) {
  const pc = connection()
  for (const track of media.getTracks()) {
    const sendEncodings = track.kind === 'video' ? encodings : []
    const transceiver = pc.addTransceiver(track, { direction: 'sendonly', streams: [media], sendEncodings })
    if (track.kind === 'video' && codec !== '') transceiver.setCodecPreferences(codecsFor(codec))
  }
  return negotiate(pc, withQuery(url, { codec, sourceId }), token)
}

/** Requests the media at `url`. Tracks are added to `media` as they arrive. */
export async function watch({ url, token, sourceId = '' }) {
  const pc = connection()
  const media = new MediaStream()
  pc.addTransceiver('video', { direction: 'recvonly' })
  pc.addTransceiver('audio', { direction: 'recvonly' })
  pc.addEventListener('track', ({ track }) => media.addTrack(track))
  return { ...(await negotiate(pc, withQuery(url, { sourceId }), token)), media }
}

function connection() {
  if (globalThis.RTCPeerConnection === undefined) throw new Refusal(0, 'This browser has no WebRTC. HLS may work.')
  return new RTCPeerConnection({ bundlePolicy: 'max-bundle' })
}

/**
 * The server is reachable at its own addresses, so the offer does not wait for our candidates. Gathering begins with the
 * answer, which names the STUN and TURN servers.
 */
async function negotiate(pc, url, token) {
  try {
    const offer = await pc.createOffer()
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/sdp', ...(token ? { Authorization: `Bearer ${token}` } : {}) },
      body: offer.sdp,
    })
    const text = await response.text()
    if (!response.ok) throw new Refusal(response.status, text, Number(response.headers.get('Retry-After')) || 0)
    const resource = new URL(response.headers.get('Location'), response.url).href
    pc.setConfiguration({ ...pc.getConfiguration(), iceServers: iceServers(response.headers.get('Link') ?? '') })
    await pc.setLocalDescription(offer)
    await pc.setRemoteDescription({ type: 'answer', sdp: text })
    return {
      pc,
      resource,
      streamId: decodeURI(response.headers.get('X-Stream-Id') ?? ''),
      stop: () => stop(pc, resource),
    }
  } catch (error) {
    pc.close()
    throw error
  }
}

/** The ICE servers in `Link` headers (RFC 9725 section 4.6), for an RTCPeerConnection. */
function iceServers(links) {
  const entries = links.matchAll(/<([^>]*)>((?:\s*;\s*[\w-]+="[^"]*")*)/g)
  return [...entries].flatMap(([, urls, text]) => {
    const { rel, username, credential } = Object.fromEntries(
      [...text.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    )
    return rel === 'ice-server' ? [{ urls, ...(username ? { username, credential } : {}) }] : []
  })
}

/**
 * Resolves when the connection is over. If the server closes it, the DTLS transport closes at once, which
 * `connectionState` does not show. ICE detects a server that vanished. `disconnected` is not the end: after a pause of
 * the network both sides continue.
 */
export function over(pc) {
  return new Promise((resolve) => {
    // A media section that the server rejected has no transport.
    const transport = pc.getTransceivers().find(({ sender }) => sender.transport)?.sender.transport
    const look = () => {
      const states = [pc.connectionState, transport?.state]
      if (states.some((state) => ['failed', 'closed'].includes(state))) resolve()
    }
    pc.addEventListener('connectionstatechange', look)
    transport?.addEventListener('statechange', look)
    look()
  })
}

/** `keepalive`: the DELETE is sent even while the user leaves the page. */
async function stop(pc, resource) {
  pc.close()
  await fetch(resource, { method: 'DELETE', keepalive: true }).catch(() => undefined)
}

function withQuery(url, parameters) {
  const full = new URL(url, location.href)
  for (const [name, value] of Object.entries(parameters)) if (value) full.searchParams.set(name, value)
  return full
}

const sendable = () => globalThis.RTCRtpSender?.getCapabilities('video')?.codecs ?? []
const isOf = (codec) => (one) => one.mimeType.toLowerCase() === `video/${codec}`

/** Whether this browser encodes `codec`. Some browsers load H.264 only later. */
export const canSend = (codec) => sendable().some(isOf(codec))

/** The chosen codec first, then the formats that serve every codec (RTX, FEC). */
function codecsFor(codec) {
  const all = sendable()
  const chosen = all.filter(isOf(codec))
  if (chosen.length === 0) throw new Refusal(0, `This browser cannot send ${codec.toUpperCase()}`)
  return [...chosen, ...all.filter(({ mimeType }) => /\/(rtx|red|ulpfec|flexfec-03)$/.test(mimeType))]
}
