import { PublisherProblems } from '../publisherProblems.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { coded, type Said, say } from '../../core/notices.ts'
import { TsIngest } from '../mpegts/ingest.ts'
import { type Admitted, Publication } from '../publication.ts'
import type { PublishEnd } from '../publishing.ts'
import { answerAdmitted, answerRefused, type CallerRequest, REJECT, type RejectCode } from './handshake.ts'
import { StreamKeys } from './keys.ts'
import { CONTROL, type ControlFields, type ControlPacket, type DataPacket, writeControl } from './packets.ts'
import { SrtReceiving } from './receiving.ts'
import type { SrtAnswer, SrtLimits, SrtRefusal, SrtRequest } from './types.ts'

/** A caller that says nothing for this long is gone; it sends at least one packet a second. */
const SILENCE_MS = 5000
const KEEP_ALIVE_MS = 1000
/** How long a refused caller gets the same answer again. */
const LINGER_MS = 3000

const CODES: Readonly<Record<SrtRefusal, RejectCode>> = {
  address: REJECT.badRequest,
  unauthorized: REJECT.unauthorized,
  forbidden: REJECT.forbidden,
  limit: REJECT.overload,
  unavailable: REJECT.resource,
  mode: REJECT.badMode,
  passphrase: REJECT.badSecret,
  unencrypted: REJECT.unsecure,
}

export interface SrtConnectionOptions {
  readonly peer: string
  /** Of the caller. */
  readonly peerSocketId: number
  readonly socketId: number
  /** The first packet of the caller. */
  readonly sequence: number
  readonly request: CallerRequest
  readonly clock: Clock
  readonly log: Logger
  readonly limits: SrtLimits
  readonly send: (datagram: Buffer) => void
}

type State = 'deciding' | 'publishing' | 'refused' | 'over'

/**
 * The connection of one publisher, from the decision to its end.
 *
 * | State | Means | Goes to |
 * |---|---|---|
 * | `deciding` | `publish` is under way; the caller repeats its handshake, and gets no answer yet | `publishing`, `refused` |
 * | `publishing` | data comes | `over` |
 * | `refused` | the caller gets the same refusal for each handshake, for `LINGER_MS` | `over` |
 * | `over` | the end is reported, and the listener forgets the connection | |
 *
 * The listener makes one for each caller whose address is proved. It passes on what comes, and calls `tick` every 10 ms.
 */
export class SrtConnection {
  readonly #options: SrtConnectionOptions
  readonly #beganAtMs: number
  readonly #problems: PublisherProblems
  #state: State = 'deciding'
  /** The answer to the handshake, once it is known. */
  #answer: Buffer | null = null
  #keys: StreamKeys | null = null
  #refusedAtMs = 0
  #publication: Publication | null = null
  #ingest: TsIngest | null = null
  #receiving: SrtReceiving | null = null
  #bytesIn = 0
  #heardAtMs: number
  #mediaAtMs: number
  #sentAtMs: number
  #cutWhy: string | null = null

  constructor(options: SrtConnectionOptions) {
    const nowMs = options.clock.monotonic()
    this.#options = options
    this.#problems = new PublisherProblems(options.log, options.peer)
    this.#beganAtMs = nowMs
    this.#heardAtMs = nowMs
    this.#mediaAtMs = nowMs
    this.#sentAtMs = nowMs
  }

  get isOver(): boolean {
    return this.#state === 'over'
  }

  /** It is there to repeat its refusal. */
  get isRefused(): boolean {
    return this.#state === 'refused'
  }

  /** Asks for the decision once. Answers the caller. */
  async decide(publish: (request: SrtRequest) => Promise<SrtAnswer>): Promise<void> {
    const { peer, log, request } = this.#options
    const { streamId, keyMessage } = request
    const unlock = keyMessage === null ? null : (passphrase: string) => this.#unlock(keyMessage, passphrase)
    const answer = await publish({ peer, streamId, unlock, cut: (why) => this.#cut(why) }).catch((error: unknown) => {
      log.error({ err: error }, 'an SRT publisher could not be decided on')
      return { ok: false, status: 'Service unavailable', reason: 'unavailable' } as const
    })
    if (!answer.ok) return this.#refuse(CODES[answer.reason], answer.status)
    this.#publication = new Publication(answer)
    if (this.#state !== 'deciding') return this.#publication.end('stopped', 0)
    if (this.#cutWhy !== null) return this.#refuse(REJECT.conflict, this.#cutWhy, 'cut')
    if (keyMessage !== null && this.#keys === null)
      return this.#refuse(REJECT.badSecret, 'Its keys were not opened', 'invalid')
    this.#admit(answer)
  }

  /** The caller repeats its handshake. */
  repeat(): void {
    if (this.#answer !== null) this.#send({ type: CONTROL.handshake, body: this.#answer })
  }

  /** @param bytes of the datagram */
  take(packet: DataPacket | ControlPacket, bytes: number): void {
    if (this.#state !== 'publishing') return
    this.#heardAtMs = this.#options.clock.monotonic()
    this.#bytesIn += bytes
    if (packet.kind === 'control' && packet.type === CONTROL.shutdown) this.#gone('left')
    else this.#receiving?.take(packet, this.#heardAtMs)
  }

  /** @param missedMs of `LateLooks` */
  tick(nowMs: number, missedMs: number): void {
    this.#heardAtMs += missedMs
    this.#mediaAtMs += missedMs
    if (this.#state === 'refused' && nowMs - this.#refusedAtMs > LINGER_MS) this.#state = 'over'
    if (this.#state !== 'publishing') return
    if (this.#receiving?.tick(nowMs)) this.#publication?.reportBytes(this.#bytesIn, this.#receiving.link)
    if (nowMs - this.#sentAtMs >= KEEP_ALIVE_MS) this.#send({ type: CONTROL.keepAlive })
    if (nowMs - this.#heardAtMs > SILENCE_MS) {
      this.#logEnd(say(coded('peer_silent')).message)
      this.#gone('lost')
    } else if (nowMs - this.#mediaAtMs > this.#options.limits.idleMs) this.#reject(this.#problems.silence, 'lost')
  }

  /** Tells the caller, and reports the end. */
  end(reason: PublishEnd, why?: Said): void {
    if (this.#state === 'publishing') this.#send({ type: CONTROL.shutdown, body: Buffer.alloc(4) })
    this.#state = 'over'
    this.#receiving?.end()
    this.#publication?.end(reason, this.#bytesIn, why)
  }

  /** A fault of ours ends this connection and no other. */
  readonly failed = (error: unknown): void => {
    const { peer, log } = this.#options
    log.error({ peer, err: error }, 'an SRT connection failed')
    this.end('lost')
  }

  /** Nothing more comes: what has come is passed on. */
  #gone(reason: PublishEnd): void {
    this.#receiving?.finish()
    this.#ingest?.end()
    this.end(reason)
  }

  async #unlock(keyMessage: Buffer, passphrase: string): Promise<boolean> {
    this.#keys = await StreamKeys.open(keyMessage, passphrase)
    return this.#keys !== null
  }

  #admit(admitted: Admitted): void {
    const { request, sequence, socketId, clock, limits } = this.#options
    const latencyMs = Math.min(limits.maxLatencyMs, Math.max(limits.latencyMs, request.latencyMs))
    const { maxFrameBytes } = limits
    const { sink, audioNumbers } = admitted
    const ingest = new TsIngest(sink, {
      clock,
      maxFrameBytes,
      audioNumbers,
      leftOut: (what) => this.#problems.note(what),
    })
    this.#ingest = ingest
    this.#receiving = new SrtReceiving({
      sequence,
      latencyMs,
      keys: this.#keys,
      clock,
      control: (fields) => this.#send(fields),
      deliver: (body) => this.#deliver(body),
      gap: () => ingest.gap(),
      leftOut: (what) => this.#problems.note(what),
    })
    this.#state = 'publishing'
    this.#heardAtMs = clock.monotonic()
    this.#mediaAtMs = this.#heardAtMs
    this.#answer = answerAdmitted({ sequence, socketId, latencyMs, request, keyBits: this.#keys?.keyBits ?? null })
    this.repeat()
  }

  #refuse(code: RejectCode, text: string, end: PublishEnd = 'invalid'): void {
    const { peer, log, sequence } = this.#options
    log.info({ peer, code, description: text }, 'SRT connection refused')
    this.#publication?.end(end, this.#bytesIn)
    if (this.#state === 'over') return
    this.#state = 'refused'
    this.#refusedAtMs = this.#options.clock.monotonic()
    this.#answer = answerRefused({ sequence }, code)
    this.repeat()
  }

  #cut(why: string): Promise<void> {
    if (this.#state === 'deciding') this.#cutWhy ??= why
    else if (this.#state === 'publishing') {
      this.#logEnd(why)
      this.end('cut')
    }
    return Promise.resolve()
  }

  #reject(why: Said, reason: PublishEnd): void {
    this.#logEnd(why.message)
    this.end(reason, why)
  }

  /** SRT has no words for the end of a connection: they go to the log. */
  #logEnd(description: string): void {
    const { peer, log } = this.#options
    log.info({ peer, description }, 'SRT connection ended')
  }

  #deliver(body: Buffer): void {
    const before = this.#ingest?.packets
    const refusal = this.#ingest?.take(body) ?? null
    if (this.#ingest?.packets !== before) this.#mediaAtMs = this.#heardAtMs
    if (refusal !== null) this.#reject(refusal, 'invalid')
  }

  #send(fields: Omit<ControlFields, 'socketId' | 'timeUs'>): void {
    const { clock, peerSocketId, send } = this.#options
    this.#sentAtMs = clock.monotonic()
    send(writeControl({ ...fields, socketId: peerSocketId, timeUs: (this.#sentAtMs - this.#beganAtMs) * 1000 }))
  }
}
