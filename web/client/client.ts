import { delayMs } from './backoff.ts'
import { browser, type Environment } from './environment.ts'
import { asSluiceError, SluiceError } from './errors.ts'
import { readReports, type Report } from './playout.ts'
import { Session } from './session.ts'
import { Silence } from './silence.ts'
import { bytesReceived, type MediaStats, StatsReader } from './stats.ts'

/**
 * `waiting`: the stream has no publisher; the client asks again by itself, or keeps its session for the next one. `reconnecting`:
 * the network is interrupted, the publisher may be back soon, or a new session is under way. `ended`: nothing happens until the next
 * `start`.
 */
export type ClientState = 'idle' | 'connecting' | 'waiting' | 'live' | 'reconnecting' | 'ended'

export interface ClientOptions {
  /** The endpoint: relative to the page, or with a host. */
  readonly url: string
  /** Open streams need none. */
  readonly token?: string | undefined
  /** One of several sources of the stream. */
  readonly sourceId?: string | undefined
  /** Send ICE candidates to the server as they are found. Default false: Sluice needs none. */
  readonly trickle?: boolean | undefined
  /** No media connection after this time is the error `not_connected`. Default 10,000. */
  readonly connectTimeoutMs?: number | undefined
  /** Whether it connects again by itself. Default true. */
  readonly reconnect?: boolean | undefined
  /** Called at each change of the state, with the reason if there is one. */
  readonly onState?: ((state: ClientState, reason: SluiceError | null) => void) | undefined
  /** Replaces the browser in tests. */
  readonly environment?: Environment | undefined
}

/** A connection that lasted this long counts as a success: the next failure is the first again. */
const STABLE_MS = 10_000
/** How often it looks at a connection. */
export const LOOK_MS = 500

/** What publisher and viewer share: attempts, states, the way back after an interruption. */
export abstract class Client {
  readonly #options: ClientOptions
  protected readonly env: Environment
  #state: ClientState = 'idle'
  #reason: SluiceError | null = null
  #session: Session | null = null
  #stats = new StatsReader()
  #run: AbortController | null = null
  #wake: () => void = () => undefined
  readonly #silence: Silence

  constructor(options: ClientOptions) {
    this.#options = options
    this.env = options.environment ?? browser
    this.#silence = new Silence(this.env, () => void this.#ask())
  }

  get state(): ClientState {
    return this.#state
  }

  /** Why the state is what it is: the refusal that ended it, or the loss that it recovers from. */
  get reason(): SluiceError | null {
    return this.#reason
  }

  /** `account/stream`, as the server named it; '' before it did. */
  get streamId(): string {
    return this.#session?.streamId ?? ''
  }

  /** Statistics since the last call; null without a connection. */
  async stats(): Promise<MediaStats | null> {
    return this.#session === null ? null : this.#stats.read(this.#session.pc)
  }

  /** The browser's own statistics of the connection; null without one. */
  async getStats(): Promise<ReadonlyMap<string, unknown> | null> {
    return this.#session === null ? null : this.#session.pc.getStats()
  }

  /** Ends the session at once, and stops every attempt. Safe to call at any time. */
  stop(): Promise<void> {
    return this.#stop(true)
  }

  async #stop(saysGoodbye: boolean): Promise<void> {
    const session = this.#session
    if (this.#run !== null) {
      this.closed(new SluiceError('stopped', 'Stopped'), true)
      this.#finish(null)
    }
    await session?.close(saysGoodbye)
  }

  /** Adds the media of the session to a new connection. */
  protected abstract prepare(pc: RTCPeerConnection): void
  /** Whether it tries again after this. `lostAtMs`: when the media stopped; null: there never was any. */
  protected abstract triesAgain(reason: SluiceError, lostAtMs: number | null): boolean
  /** The parameters of the endpoint's URL. */
  protected parameters(): Readonly<Record<string, string | undefined>> {
    return { sourceId: this.#options.sourceId }
  }
  /** Called when the server has answered an offer, with the address of the session: a secret of this client. */
  protected opened(_resource: string): void {}
  /** Called when an attempt has failed, or a session is over. `isFinal`: nothing follows. */
  protected closed(_reason: SluiceError, _isFinal: boolean): void {}
  /** Called when media can flow. */
  protected connected(): void {}
  /** Whether a page that is left may have been loaded again, so that its session ends without a goodbye. */
  protected abstract readonly mayReturn: boolean
  /** What the server sends as long as its media process lives: the statistics that count it. */
  protected abstract readonly hears: 'inbound-rtp' | 'candidate-pair'
  /** Called with the statistics at each look. Returns the time to the next one. */
  protected looked(_all: readonly Report[]): number {
    return LOOK_MS
  }

  protected get pc(): RTCPeerConnection | null {
    return this.#session?.pc ?? null
  }

  protected get session(): Session | null {
    return this.#session
  }

  /** Resolves with `result()` when media flows for the first time. Rejects with the reason when it never will. */
  protected begin<T>(result: () => T): Promise<T> {
    if (this.#run !== null) return Promise.reject(new Error('It has already begun'))
    const run = new AbortController()
    this.#run = run
    const releases = [
      this.env.onNetworkChange(() => this.#networkChanged()),
      this.env.onLeave(() => void this.#stop(!this.mayReturn)),
    ]
    run.signal.addEventListener('abort', () => {
      releases.forEach((release) => release())
      this.#wake()
    })
    const begun = new Promise<T>((resolve, reject) => {
      run.signal.addEventListener('abort', () => reject(run.signal.reason))
      void this.#attempts(run.signal, () => resolve(result()))
    })
    // A page that only follows the states need not await this.
    begun.catch(() => undefined)
    return begun
  }

  async #attempts(signal: AbortSignal, live: () => void): Promise<void> {
    let lostAtMs: number | null = null
    let failures = 0
    this.#set('connecting')
    while (!signal.aborted) {
      const { reason, lastedMs } = await this.#once(signal, live)
      if (signal.aborted) return
      if (lastedMs !== null) lostAtMs = this.#silence.heardAtMs
      const isFinal = this.#options.reconnect === false || !this.triesAgain(reason, lostAtMs)
      this.closed(reason, isFinal)
      if (isFinal) return this.#finish(reason)
      if (lastedMs !== null && lastedMs >= STABLE_MS) failures = 0
      // A session that waits for the next publisher ends if none comes. The next offer is told the same as it was.
      if (this.#state !== 'waiting' || reason.code !== 'ended_by_server')
        this.#set(stateAfter(reason, lostAtMs), reason)
      await this.#pause(delayMs(failures++, reason, this.env.random()))
    }
  }

  /** One session from its offer to its end; `lastedMs` null: it was never up. */
  async #once(signal: AbortSignal, live: () => void): Promise<{ reason: SluiceError; lastedMs: number | null }> {
    let upAtMs: number | null = null
    let reason: SluiceError
    try {
      const session = await this.#open(signal)
      this.#session = session
      this.#stats = new StatsReader()
      upAtMs = this.env.now()
      if (!signal.aborted) this.#follow(session)
      live()
      const ended = await session.ended
      if (this.#session === session) this.#session = null
      reason = await session.reasonAfter(ended)
    } catch (error) {
      reason = asSluiceError(error)
    }
    return { reason, lastedMs: upAtMs === null ? null : this.env.now() - upAtMs }
  }

  #open(signal: AbortSignal): Promise<Session> {
    const { token = '', trickle = false, connectTimeoutMs = 10_000 } = this.#options
    const pc = this.env.connect({ bundlePolicy: 'max-bundle' })
    if (pc === null) throw new SluiceError('no_webrtc', 'This browser has no WebRTC')
    try {
      this.prepare(pc)
    } catch (error) {
      pc.close()
      throw error
    }
    const opened = (resource: string): void => this.opened(resource)
    return Session.open(this.env, pc, { url: this.#url(), token, trickle, connectTimeoutMs, opened }, signal)
  }

  #url(): string {
    const url = new URL(this.#options.url, globalThis.location?.href)
    for (const [name, value] of Object.entries(this.parameters())) if (value) url.searchParams.set(name, value)
    return url.href
  }

  /** Shows the state of a session's connection as long as the session lasts. */
  #follow(session: Session): void {
    const { pc } = session
    pc.addEventListener('connectionstatechange', () => {
      if (this.#session !== session) return
      if (pc.connectionState === 'connected') this.#set('live')
      if (pc.connectionState !== 'disconnected') return
      this.#set('reconnecting', new SluiceError('connection_lost', 'The connection is interrupted'))
      void session.recover()
    })
    this.connected()
    this.#set('live')
    this.#silence.begin()
    void this.#look(session)
  }

  /** Looks at a connection again and again, as long as it is the present one. */
  async #look(session: Session): Promise<void> {
    const all = await readReports(session.pc).catch(() => [])
    if (this.#session !== session) return
    this.#silence.look(bytesReceived(all, this.hears))
    if (this.#reason?.code === 'stream_not_published' && !this.#silence.isSilent) this.#set('live')
    this.env.later(() => void this.#look(session), this.looked(all))
  }

  /**
   * A session without a publisher waits some seconds for the next one, whose media then comes without a new session. One that has not
   * said goodbye may be back first.
   */
  async #ask(): Promise<void> {
    const session = this.#session
    const reason = (await session?.ask()) ?? null
    if (reason === null || this.#session !== session) return
    if (reason.retryAfterMs === 0) return this.#set('waiting', reason)
    this.#set('reconnecting', reason)
    this.env.later(() => {
      if (this.#reason === reason) this.#set('waiting', reason)
    }, reason.retryAfterMs)
  }

  /** Restarts ICE, because media would else wait until the browser misses the old network; or tries again now. */
  #networkChanged(): void {
    void this.#session?.networkChanged()
    this.#wake()
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.env.later(resolve, ms)
      this.#wake = () => {
        cancel()
        resolve()
      }
    })
  }

  #finish(reason: SluiceError | null): void {
    const run = this.#run
    this.#run = null
    this.#session = null
    this.#set('ended', reason)
    run?.abort(reason ?? new SluiceError('stopped', 'Stopped'))
  }

  #set(state: ClientState, reason: SluiceError | null = null): void {
    if (this.#state === state && this.#reason?.code === reason?.code) return
    this.#state = state
    this.#reason = reason
    this.#options.onState?.(state, reason)
  }
}

function stateAfter({ code }: SluiceError, lostAtMs: number | null): ClientState {
  if (code === 'stream_not_published' || code === 'at_another_node') return 'waiting'
  return lostAtMs === null ? 'connecting' : 'reconnecting'
}
