import type { Environment } from './environment.ts'
import { refusalOf, SluiceError } from './errors.ts'
import { fragmentOf, withCredentials } from './sdp.ts'
import { layersOf, type ViewerLayers } from './layers.ts'
import { type Answer, deleteSession, patchSession, postOffer } from './signaling.ts'

export interface SessionOptions {
  readonly url: string
  readonly token: string
  /** Send our ICE candidates to the server. Sluice does not need them: it is an ICE-lite agent at public addresses. */
  readonly trickle: boolean
  /** The connection must be up after this time. */
  readonly connectTimeoutMs: number
  /** Called when the server has answered, with the address of the session. */
  readonly opened: (resource: string) => void
}

/** An ICE restart that does not reach the server is repeated this often, at this distance. */
const RESTARTS_MAX = 10
const RESTART_AGAIN_MS = 1500
/** Candidates of this time share one PATCH. */
const TRICKLE_MS = 50

/** The longest wait for what the server says of a session that it ended. */
const REASON_MS = 2000

const MOVED = (): SluiceError => new SluiceError('moved', 'Another server continues the session', 410)
const AWAY = (): SluiceError => new SluiceError('connection_lost', 'The server went away')
const ENDED = (): SluiceError => new SluiceError('connection_lost', 'The server has ended the session', 404)
const NOT_CONNECTED = (): SluiceError => new SluiceError('not_connected', 'No media connection came up')

/** One WHIP or WHEP session: a peer connection with its resource at the server. */
export class Session {
  readonly pc: RTCPeerConnection
  readonly streamId: string
  /** Resolves with the reason when the session is over, but not after `close()`. */
  readonly ended: Promise<SluiceError>
  readonly #env: Environment
  readonly #resource: string
  #etag: string
  #end: (reason: SluiceError) => void = () => undefined
  #isClosed = false
  #isRecovering = false
  /** The machine has another network since the last offer. */
  #hasNewNetwork = false
  /** Media could flow once. */
  #isUp = false

  private constructor(env: Environment, pc: RTCPeerConnection, answer: Answer) {
    this.#env = env
    this.pc = pc
    this.#resource = answer.resource
    this.#etag = answer.etag
    this.streamId = answer.streamId
    this.ended = new Promise((resolve) => (this.#end = resolve))
  }

  /**
   * Negotiates, and waits until media can flow. The offer does not wait for our candidates, because the server has
   * addresses of its own. Gathering begins with the answer, which names the STUN and TURN servers (RFC 9725 section 4.6).
   * @throws SluiceError when the server refuses, or no connection comes up in time
   */
  static async open(
    env: Environment,
    pc: RTCPeerConnection,
    { url, token, trickle, connectTimeoutMs, opened }: SessionOptions,
    signal: AbortSignal,
  ): Promise<Session> {
    let session: Session | null = null
    try {
      const offer = await pc.createOffer()
      const answer = await postOffer(env, { url, token, sdp: offer.sdp ?? '', signal })
      session = new Session(env, pc, answer)
      opened(answer.resource)
      if (trickle) session.#trickle()
      pc.setConfiguration({ ...pc.getConfiguration(), iceServers: answer.iceServers })
      await pc.setLocalDescription(offer)
      await pc.setRemoteDescription({ type: 'answer', sdp: answer.sdp })
      await session.#connected(connectTimeoutMs, signal)
      return session
    } catch (error) {
      pc.close()
      await session?.close()
      throw error
    }
  }

  /** The layers of what this session watches, after the choice of one; null: the server does not say. See `WhepViewer.layers`. */
  async layers(choice?: string | null): Promise<ViewerLayers | null> {
    if (this.#isClosed) return null
    return layersOf(this.#env, this.#resource, choice).catch(() => null)
  }

  /**
   * Ends the session, here and at the server. The status of the server's answer; null without one.
   * @param saysGoodbye false: the server only sees that the connection is closed, and awaits a publisher back for some seconds
   */
  async close(saysGoodbye = true): Promise<number | null> {
    if (this.#isClosed) return null
    this.#isClosed = true
    this.pc.close()
    return saysGoodbye ? deleteSession(this.#env, this.#resource) : null
  }

  /** Closes a session that is over. A server that ended it says whether another one continues it, unless it stops itself. */
  async reasonAfter(reason: SluiceError): Promise<SluiceError> {
    const closed = this.close()
    if (reason.code !== 'ended_by_server') return reason
    const late = new Promise<'late'>((resolve) => this.#env.later(() => resolve('late'), REASON_MS))
    const status = await Promise.race([closed, late])
    if (status === 410) return MOVED()
    return status === null || Number(status) >= 500 ? AWAY() : reason
  }

  /**
   * Asks the server whether it still has the session; if not, it ends here too. A list of no candidates changes nothing at any
   * server (RFC 9725 section 4.3.2). A restart of ICE that is under way says the same. Resolves with a reason if the session
   * waits for a publisher: the last one, if it is back by its `retryAfterMs`, or another one.
   */
  async ask(): Promise<SluiceError | null> {
    if (this.pc.signalingState !== 'stable') return null
    const answer = await this.#patch([]).catch(() => null)
    this.#heard(answer?.status ?? null)
    return answer?.status === 409 ? refusalOf(409, await answer.text(), answer.headers.get('Retry-After')) : null
  }

  /** The machine has another network: an offer that is under way has the addresses of the one before. */
  networkChanged(): Promise<void> {
    this.#hasNewNetwork = true
    return this.recover()
  }

  /** Restarts ICE until the server has answered. If the session is over at the server, it ends here too. */
  async recover(): Promise<void> {
    if (this.#isRecovering) return
    this.#isRecovering = true
    for (let tries = 0; tries < RESTARTS_MAX && !this.#isClosed; tries++) {
      const status = await this.#restartIce().catch(() => null)
      this.#heard(status)
      if (status === 200 && this.#hasNewNetwork) continue
      if (status !== null && status !== 503) break
      await new Promise<void>((resolve) => this.#env.later(resolve, RESTART_AGAIN_MS))
    }
    this.#isRecovering = false
  }

  /** @param status of an answer about the session; null: there was none */
  #heard(status: number | null): void {
    if (status === 404) this.#end(ENDED())
    if (status === 410) this.#end(MOVED())
  }

  /** Sends candidates of this ICE session. */
  #patch(candidates: readonly string[]): Promise<Response> {
    const fragment = fragmentOf(this.pc.localDescription?.sdp ?? '', candidates)
    return patchSession(this.#env, { resource: this.#resource, fragment, ifMatch: this.#etag })
  }

  /** The status of the answer. An offer without an answer is sent again, unless it is of another network. */
  async #restartIce(): Promise<number> {
    const { pc } = this
    if (pc.signalingState === 'stable' || this.#hasNewNetwork) {
      pc.restartIce()
      await pc.setLocalDescription()
      this.#hasNewNetwork = false
    }
    const fragment = fragmentOf(pc.localDescription?.sdp ?? '')
    const response = await patchSession(this.#env, { resource: this.#resource, fragment, ifMatch: '*' })
    const text = await response.text()
    if (response.status !== 200 || this.#isClosed) return response.status
    this.#etag = response.headers.get('ETag') ?? ''
    await pc.setRemoteDescription({ type: 'answer', sdp: withCredentials(pc.remoteDescription?.sdp ?? '', text) })
    return response.status
  }

  #trickle(): void {
    let waiting: string[] = []
    const send = (): void => {
      if (!this.#isClosed) void this.#patch(waiting).catch(() => undefined)
      waiting = []
    }
    this.pc.addEventListener('icecandidate', ({ candidate }) => {
      if (waiting.length === 0) this.#env.later(send, TRICKLE_MS)
      waiting.push(candidate?.candidate || 'end-of-candidates')
    })
  }

  /** Resolves when media can flow. From then on `ended` reports the end. */
  #connected(timeoutMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (error: SluiceError): void => {
        cancel()
        reject(error)
        this.#end(error)
      }
      const cancel = this.#env.later(() => fail(NOT_CONNECTED()), timeoutMs)
      const stopped = (): void => fail(new SluiceError('stopped', 'Stopped'))
      signal.addEventListener('abort', stopped)
      // The signal outlives the session. Browsers allow some hundreds of connections that something still refers to.
      void this.ended.then(() => signal.removeEventListener('abort', stopped))
      // Stopped while the descriptions were set, when nothing listened.
      if (signal.aborted) stopped()
      this.#watch(fail, () => {
        cancel()
        this.#isUp = true
        resolve()
      })
    })
  }

  /**
   * If the server closes the session, the DTLS transport closes at once, which `connectionState` shows only after seven
   * seconds. ICE detects a server that vanished. `disconnected` is no end: an ICE restart may bring the media back.
   */
  #watch(over: (error: SluiceError) => void, connected: () => void): void {
    const { pc } = this
    // A media section that the server rejected has no transport.
    const transport = pc.getTransceivers().find(({ sender }) => sender.transport)?.sender.transport
    const look = (): void => {
      if (this.#isClosed) return
      if (transport?.state === 'closed') over(new SluiceError('ended_by_server', 'The server ended the session'))
      else if (pc.connectionState === 'failed' || transport?.state === 'failed')
        over(this.#isUp ? new SluiceError('connection_lost', 'The connection was lost') : NOT_CONNECTED())
      else if (pc.connectionState === 'connected') connected()
    }
    pc.addEventListener('connectionstatechange', look)
    transport?.addEventListener('statechange', look)
    look()
  }
}
