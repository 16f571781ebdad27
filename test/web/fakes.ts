import type { Environment } from '../../web/client/environment.ts'

/** A peer connection without a network, driven by its test. Its SDP has only what the client reads. */
export class FakePeer extends EventTarget {
  connectionState = 'new'
  signalingState = 'stable'
  localDescription: { sdp: string } | null = null
  remoteDescription: { sdp: string } | null = null
  configuration: RTCConfiguration
  readonly transport = Object.assign(new EventTarget(), { state: 'new' })
  readonly transceivers: { kind: string; init: RTCRtpTransceiverInit; preferred: unknown[] }[] = []
  restarts = 0
  report: object[] = []

  constructor(configuration: RTCConfiguration) {
    super()
    this.configuration = configuration
  }

  addTransceiver(track: string | { kind: string }, init: RTCRtpTransceiverInit) {
    const made = { kind: typeof track === 'string' ? track : track.kind, init, preferred: [] as unknown[] }
    this.transceivers.push(made)
    return { setCodecPreferences: (codecs: unknown[]) => made.preferred.push(...codecs) }
  }

  getTransceivers = () => [{ sender: { transport: this.transport } }]
  getSenders = () => []
  getConfiguration = () => this.configuration
  setConfiguration = (configuration: RTCConfiguration) => (this.configuration = configuration)
  getStats = async () => new Map(this.report.map((each, at) => [String(at), each]))

  async createOffer() {
    return { type: 'offer', sdp: this.#offer() }
  }

  async setLocalDescription(offer?: { sdp: string }) {
    this.localDescription = offer ?? { sdp: this.#offer() }
    this.signalingState = 'have-local-offer'
  }

  async setRemoteDescription(answer: { sdp: string }) {
    this.remoteDescription = answer
    this.signalingState = 'stable'
  }

  restartIce() {
    this.restarts++
  }

  close() {
    this.connectionState = 'closed'
  }

  become(state: string) {
    this.connectionState = state
    this.dispatchEvent(new Event('connectionstatechange'))
  }

  /** As when the server ends the session: the connection's own state stays. */
  closeTransport() {
    this.transport.state = 'closed'
    this.transport.dispatchEvent(new Event('statechange'))
  }

  find(candidate: string | null) {
    this.dispatchEvent(Object.assign(new Event('icecandidate'), { candidate: candidate && { candidate } }))
  }

  #offer = () =>
    `v=0\r\nm=video 9 X 0\r\na=mid:0\r\na=ice-ufrag:our${this.restarts}\r\na=ice-pwd:secret${this.restarts}\r\n`
}

export interface Sent {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The server's next answers, in order; the last one stays. `null`: the network fails. */
export type Answers = ((sent: Sent) => Response | null)[]

/** An answer to an offer, as Sluice sends it. */
export const CREATED = () =>
  new Response('v=0\r\na=ice-ufrag:theirs\r\na=ice-pwd:their-secret\r\n', {
    status: 201,
    headers: { Location: '/api/whep/resource/abc', ETag: '"one"', 'X-Stream-Id': 'acc/show' },
  })

export const REFUSED =
  (status: number, text: string, retryAfter = '') =>
  () =>
    new Response(text, { status, headers: retryAfter === '' ? {} : { 'Retry-After': retryAfter } })

/** A browser without a network: time stands still until the test moves it. */
export class FakeBrowser implements Environment {
  readonly peers: FakePeer[] = []
  readonly sent: Sent[] = []
  /** What it reported to the server. */
  readonly reports: Record<string, number | string>[] = []
  reportStatus = 204
  readonly answers: Answers
  timeMs = 1_000_000
  /** The status of each answer to a DELETE. */
  deleteStatus = 200
  readonly #timers = new Map<object, { atMs: number; step: () => void }>()
  readonly #listeners = { network: new Set<() => void>(), leave: new Set<() => void>(), hide: new Set<() => void>() }

  constructor(answers: Answers = [CREATED]) {
    this.answers = answers
  }

  fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { method = 'GET', headers = {}, body = '', signal } = init
    signal?.throwIfAborted()
    const sent = { method, url, headers: headers as Record<string, string>, body: body as string }
    if (url.endsWith('/report')) {
      this.reports.push(JSON.parse(sent.body) as Record<string, number | string>)
      return new Response(null, { status: this.reportStatus })
    }
    this.sent.push(sent)
    if (method === 'DELETE') return new Response('', { status: this.deleteStatus })
    const answer = (this.answers.length > 1 ? this.answers.shift() : this.answers[0])?.(sent)
    if (!answer) throw new TypeError('Failed to fetch')
    return answer
  }
  connect = (configuration: RTCConfiguration) => {
    const peer = new FakePeer(configuration)
    this.peers.push(peer)
    return peer as unknown as RTCPeerConnection
  }
  now = () => this.timeMs
  random = (): number => 0
  later = (step: () => void, ms: number) => {
    const key = {}
    this.#timers.set(key, { atMs: this.timeMs + ms, step })
    return () => void this.#timers.delete(key)
  }
  onNetworkChange = (changed: () => void) => this.#listen('network', changed)
  onLeave = (left: () => void) => this.#listen('leave', left)
  onHide = (hidden: () => void) => this.#listen('hide', hidden)

  get peer(): FakePeer {
    return this.peers.at(-1) as FakePeer
  }

  get listeners(): number {
    return this.#listeners.network.size + this.#listeners.leave.size + this.#listeners.hide.size
  }

  requests = (method: string): Sent[] => this.sent.filter((each) => each.method === method)
  changeNetwork = () => this.#listeners.network.forEach((changed) => changed())
  hide = () => this.#listeners.hide.forEach((hidden) => hidden())
  leave = () => this.#listeners.leave.forEach((left) => left())

  /** Lets `ms` pass, with all timers in it. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.timeMs + ms
    for (;;) {
      await settled()
      const next = [...this.#timers].toSorted(([, a], [, b]) => a.atMs - b.atMs)[0]
      if (!next || next[1].atMs > untilMs) break
      this.#timers.delete(next[0])
      // One that was due while the machine slept runs when it wakes up.
      this.timeMs = Math.max(this.timeMs, next[1].atMs)
      next[1].step()
    }
    this.timeMs = untilMs
  }

  #listen(kind: 'network' | 'leave' | 'hide', listener: () => void) {
    this.#listeners[kind].add(listener)
    return () => void this.#listeners[kind].delete(listener)
  }
}

/** Promises that wait for nothing but one another are resolved after this. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

export class FakeMedia {
  readonly tracks: { kind: string }[]
  constructor(tracks: { kind: string }[] = []) {
    this.tracks = tracks
  }
  getTracks = () => this.tracks
  addTrack = (track: { kind: string }) => this.tracks.push(track)
}
