import { percentDecoded } from '../../base/percent.ts'
import type { Random } from '../../base/random.ts'
import { coded, type CodedSentence, say } from '../../core/notices.ts'
import { type Frame, type FrameSink, isDescribed, type TrackInfo } from '../frame.ts'
import type { WaitingMedia } from '../mediaQueue.ts'
import type { SenderEnd } from '../publishing.ts'
import { TcpSender, type TcpSenderOptions } from '../tcpSender.ts'
import { RtspLogin } from './login.ts'
import { OutgoingTrack } from './outgoingTrack.ts'
import { RtspReplies, type RtspReply, spoken } from './replies.ts'

/** Servers end a session without a request after this time, unless they name another (RFC 2326 section 12.37). */
const SESSION_SECONDS = 60
const REPORT_MS = 5000

export interface RtspSenderOptions extends TcpSenderOptions {
  readonly random: Random
  /** With its secrets. */
  readonly url: URL
}

type State = 'asking' | 'ready' | 'opening' | 'recording'

interface Request {
  readonly method: string
  readonly uri: string
  readonly headers?: readonly string[]
  readonly body?: string
  readonly answered: (reply: RtspReply) => void
}

/** A frame becomes packets when it is sent: before that the target may choose its channel. */
interface WaitingFrame extends WaitingMedia {
  readonly frame: Frame
}

/**
 * Publishes one feed to an RTSP server, over one connection (RFC 2326 sections 10.3, 10.11 and 10.12), so that its answers lead no
 * media elsewhere.
 *
 * | State | Means | Goes to |
 * |---|---|---|
 * | `asking` | OPTIONS: does it speak RTSP? | `ready` with the answer |
 * | `ready` | it waits for the first frame, whose tracks it announces | `opening` |
 * | `opening` | ANNOUNCE, SETUP of each track and RECORD, each after the answer to the one before it; frames wait | `recording` |
 * | `recording` | frames are sent as they come | |
 *
 * An answer that is none of success, the end of the socket, tracks that the description does not fit and a deadline of `tick`
 * end it in each.
 */
export class RtspSender extends TcpSender<WaitingFrame> implements FrameSink {
  readonly #options: RtspSenderOptions
  readonly #uri: string
  readonly #login: RtspLogin
  readonly #replies: RtspReplies
  #state: State = 'asking'
  #request: Request | null = null
  #sequence = 0
  #session: string | null = null
  #keepAliveMs = Number.POSITIVE_INFINITY
  #keptAtMs = 0
  #infos: readonly TrackInfo[] = []
  #tracks: OutgoingTrack[] = []
  /** The time of the feed that is 0 for the target, and of our clock then. */
  #begin: { readonly us: number; readonly wallMs: number } | null = null
  #reportedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: RtspSenderOptions) {
    super(options)
    const { random, url } = options
    this.#options = options
    this.#uri = `${url.protocol}//${url.host}${url.pathname}${url.search}`
    this.#login = new RtspLogin(loginOf(url), random)
    this.#replies = new RtspReplies((reply) => {
      this.#answered(reply)
      return false
    })
    this.#ask({ method: 'OPTIONS', uri: this.#uri, answered: () => this.#isReady() })
  }

  /** RTP carries each codec that a feed may have. */
  takes(): boolean {
    return true
  }

  /** Also keeps the session. */
  override tick(nowMs: number): void {
    super.tick(nowMs)
    // Also where the one before it has no answer: some servers answer none of them.
    const isDue = nowMs - this.#keptAtMs >= this.#keepAliveMs
    if (!this.takesMedia || this.isBlocked || !isDue) return
    this.#keptAtMs = nowMs
    this.#ask({ method: 'OPTIONS', uri: this.#uri, answered: () => undefined })
  }

  tracks(tracks: readonly TrackInfo[]): void {
    if (this.isOver) return
    this.#infos = tracks
    const isAlike = tracks.length === this.#tracks.length
    if (this.#tracks.length === 0 || (isAlike && tracks.every((one, at) => this.#tracks[at]?.follow(one)))) return
    // A session keeps the tracks that it was announced with.
    this.lose(coded('target_other_tracks'))
  }

  frame(frame: Frame): void {
    if (this.#state === 'ready' && this.#infos.length > 0 && this.#infos.every(isDescribed)) this.#announce()
    const isAnnounced = this.#state === 'opening' || this.#state === 'recording'
    if (this.isOver || !isAnnounced || this.skips(frame, this.#infos)) return
    this.#begin ??= { us: frame.decodeTimeUs, wallMs: this.clock.now() }
    this.push({ timestamp: Math.floor(frame.decodeTimeUs / 1000), payload: frame.data, frame })
  }

  protected get takesMedia(): boolean {
    return this.#state === 'recording' && !this.isOver
  }

  protected sayGoodbye(): void {
    this.#ask({ method: 'TEARDOWN', uri: this.#uri, answered: () => undefined })
  }

  #isReady(): void {
    if (this.#state !== 'asking') return
    this.#state = 'ready'
    this.awaitAnswer(false)
    this.#options.ready()
  }

  #announce(): void {
    const { random, url } = this.#options
    const cname = random.bytes(8).toString('hex')
    this.#state = 'opening'
    this.awaitAnswer()
    this.#tracks = this.#infos.map(
      (info, index) => new OutgoingTrack(info, { index, cname, ssrc: random.bytes(4).readUInt32BE() }),
    )
    const head = ['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=Sluice', `c=IN ${connectionOf(url)}`, 't=0 0']
    const body = [...head, ...this.#tracks.flatMap((track) => track.describe()), ''].join('\r\n')
    const headers = ['Content-Type: application/sdp']
    this.#ask({ method: 'ANNOUNCE', uri: this.#uri, headers, body, answered: () => this.#setUp(0) })
  }

  #setUp(at: number): void {
    const track = this.#tracks[at]
    if (track === undefined) return this.#record()
    const channels = `${track.channel}-${track.channel + 1}`
    const headers = [`Transport: RTP/AVP/TCP;unicast;interleaved=${channels};mode=record`]
    const uri = `${this.#uri}${this.#uri.endsWith('/') ? '' : '/'}${track.control}`
    const answered = (reply: RtspReply): void => {
      const transport = reply.headers.get('transport') ?? ''
      if (transport !== '' && !/RTP\/AVP\/TCP/i.test(transport)) return this.over(NO_TCP)
      track.channel = Number(/interleaved=(\d{1,3})/i.exec(transport)?.[1] ?? track.channel) & 0xff
      this.#keepSession(reply)
      this.#setUp(at + 1)
    }
    this.#ask({ method: 'SETUP', uri, headers, answered })
  }

  #keepSession({ headers }: RtspReply): void {
    const [, id, timeout] = /^([^;\s]+)(?:\s*;\s*timeout=(\d{1,6}))?/i.exec(headers.get('session') ?? '') ?? []
    this.#session = id ?? this.#session
    this.#keepAliveMs = Math.max(2, Number(timeout ?? SESSION_SECONDS)) * 500
  }

  #record(): void {
    const answered = (): void => {
      this.#state = 'recording'
      this.awaitAnswer(false)
      this.#keptAtMs = this.clock.monotonic()
      this.#options.accepted()
      this.unblocked()
    }
    this.#ask({ method: 'RECORD', uri: this.#uri, headers: ['Range: npt=0.000-'], answered })
  }

  protected piecesOf({ frame }: WaitingFrame): Buffer[] {
    const track = this.#tracks.find(({ kind }) => kind === frame.kind)
    const packets = track?.packets(frame, this.#begin?.us ?? 0) ?? []
    const nowMs = this.clock.monotonic()
    if (packets.length === 0 || nowMs - this.#reportedAtMs < REPORT_MS) return packets
    this.#reportedAtMs = nowMs
    return [...packets, ...this.#reports()]
  }

  #reports(): Buffer[] {
    const begin = this.#begin
    return begin === null ? [] : this.#tracks.map((track) => track.report(begin.us, begin.wallMs))
  }

  #ask(request: Request): void {
    const { method, uri, headers = [], body = '' } = request
    const login = this.#login.header(method, uri)
    this.#request = request
    this.#sequence += 1
    const lines = [
      `${method} ${uri} RTSP/1.0`,
      `CSeq: ${this.#sequence}`,
      'User-Agent: Sluice',
      ...(this.#session === null ? [] : [`Session: ${this.#session}`]),
      ...(login === null ? [] : [`Authorization: ${login}`]),
      ...headers,
      ...(body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
    ]
    this.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
  }

  protected received(data: Buffer): void {
    if (typeof this.#replies.push(data) === 'string') this.lose(coded('target_not_rtsp'))
    this.note(this.#replies.cost)
  }

  #answered(reply: RtspReply): void {
    const request = this.#request
    const isAwaited = Number(reply.headers.get('cseq') ?? this.#sequence) === this.#sequence
    if (this.isOver || request === null || !isAwaited || reply.status < 200) return
    this.#request = null
    if (reply.status < 300) {
      this.#login.taken()
      return request.answered(reply)
    }
    if (reply.status === 401 && this.#login.take(reply.headers.get('www-authenticate') ?? '')) return this.#ask(request)
    this.over(problemOf(reply, this.#options.url))
  }
}

const NO_TCP: SenderEnd = { kind: 'unsuitable', ...say(coded('target_no_tcp')) }

const loginOf = ({ username, password }: URL): { user: string; password: string } | null =>
  username === '' ? null : { user: percentDecoded(username), password: percentDecoded(password) }

/** An address of the target for `c=`; servers take the media from the connection. */
const connectionOf = ({ hostname }: URL): string => (hostname.startsWith('[') ? 'IP6 ::' : 'IP4 0.0.0.0')

const refused = (why: CodedSentence): SenderEnd => ({ kind: 'refused', ...say(why), isInUse: false })

/** Why an answer ends the attempt. */
function problemOf({ status, reason }: RtspReply, url: URL): SenderEnd {
  if (status < 400) return refused(coded('target_redirects'))
  switch (status) {
    case 401:
      return refused(coded(url.username === '' ? 'target_wants_login' : 'target_refuses_login'))
    case 403:
      return refused(coded('target_refuses_access', { status }))
    case 415:
      return { kind: 'unsuitable', ...say(coded('target_none_of_codecs')) }
    case 461:
      return NO_TCP
  }
  return { kind: 'lost', ...say(coded('target_answers', { text: spoken(status, reason, url) })) }
}
