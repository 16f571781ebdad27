import type { Socket } from 'node:dgram'
import type { Clock } from '../../base/clock.ts'
import { LateLooks } from '../../base/lateLooks.ts'
import type { Logger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { repeat, type Repetition } from '../../base/repeat.ts'
import { coded, type CodedSentence, say } from '../../core/notices.ts'
import { walled } from '../../base/walls.ts'
import type { SenderEnd } from '../publishing.ts'
import { type CallAgreement, type CallFields, readAnswer, writeConclusion, writeInduction } from './callerHandshake.ts'
import { type RunAddon, runsFrom, type SendRun } from './datagramRuns.ts'
import { DATAGRAM_MAX_BYTES, REJECT } from './handshake.ts'
import { type KeyBytes, SendingKeys } from './keys.ts'
import {
  CONTROL,
  type ControlFields,
  type ControlPacket,
  type DataPacket,
  readPacket,
  writeControl,
} from './packets.ts'
import { endOfRefusal } from './refusals.ts'

/** From the first datagram to the agreement. */
const OPENING_MS = 5000
/** As often as libsrt repeats its handshake. */
const REPEAT_MS = 250
const KEEP_ALIVE_MS = 1000
/** A peer says something at least once a second. */
const SILENCE_MS = 5000
/** What waits in the socket is too much for its interface. */
const QUEUE_MAX_BYTES = 4 << 20

/** What a half has of its connection. */
export interface SrtLink extends CallAgreement {
  /** The number of our first packet. */
  readonly sequence: number
  /** Ours; null: nothing is encrypted. */
  readonly keys: SendingKeys | null
  /** Microseconds since the connection began. */
  readonly timeUs: () => number
  readonly control: (fields: Omit<ControlFields, 'socketId' | 'timeUs'>) => void
  readonly data: SendRun
  /** See `LateLooks`. */
  readonly lastedMs: (sinceMs: number, nowMs: number) => number
}

/** What a connection is for: it sends media, or receives it. */
export interface SrtHalf {
  take(packet: DataPacket | ControlPacket, nowMs: number): void
  tick(nowMs: number): void
  /** The other side has said goodbye, or says nothing any more. */
  leave?(): void
}

export interface SrtCallOptions {
  /** Connected. The call closes it. */
  readonly socket: Socket
  /** Sends what one frame makes at once. Absent or null: datagrams leave one by one. */
  readonly runs?: RunAddon | null
  readonly clock: Clock
  readonly random: Random
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Empty: none. */
  readonly streamId: string
  /** Null: without encryption. */
  readonly passphrase: string | null
  readonly keyBytes: KeyBytes
  readonly latencyMs: number
  /** How often the half ticks. */
  readonly tickMs: number
  /** The listener agrees. Called once at most. */
  readonly begin: (link: SrtLink) => SrtHalf
  /** Called once, and not after `end`. */
  readonly ended: (how: SenderEnd) => void
}

type State = 'inducting' | 'concluding' | 'connected' | 'over'

/**
 * Calls a listener of SRT: our half of a handshake of version 5, and what a connection needs whichever way media goes.
 *
 * | State | Means | Goes to |
 * |---|---|---|
 * | `inducting` | the listener is asked for a cookie | `concluding` |
 * | `concluding` | it has the stream id, the latency and the keys, and decides | `connected` |
 * | `connected` | the half sends or receives | |
 * | `over` | the socket is closed | |
 *
 * A refusal, a goodbye, an unreachable port and silence lead to `over` from each. Until the next state is reached, the
 * handshake is repeated.
 */
export class SrtCall {
  readonly #options: SrtCallOptions
  readonly #beganAtMs: number
  readonly #socketId: number
  readonly #sequence: number
  readonly #ticking: Repetition
  readonly #looks: LateLooks
  readonly #sendRun: SendRun
  #state: State = 'inducting'
  #cookie = 0
  #keys: SendingKeys | null = null
  /** Made once: listeners that were busy answer each of our questions. */
  #making: Promise<SendingKeys | null> | null = null
  #half: SrtHalf | null = null
  #peerId = 0
  #heardAtMs: number
  #sentAtMs = Number.NEGATIVE_INFINITY
  #bytesIn = 0
  #bytesOut = 0
  /** When it says goodbye, monotonic milliseconds; null: its owner has not ended it. */
  #endsAtMs: number | null = null

  constructor(options: SrtCallOptions) {
    const { socket, runs = null, clock, random, log, tickMs } = options
    this.#options = options
    this.#sendRun = runsFrom(socket, runs)
    this.#beganAtMs = clock.monotonic()
    this.#heardAtMs = this.#beganAtMs
    this.#socketId = random.bytes(4).readUInt32BE(0) & 0x3fff_ffff || 1
    this.#sequence = random.bytes(4).readUInt32BE(0) & 0x7fff_ffff
    const received = (datagram: Buffer): void => this.#received(datagram)
    socket.on('message', walled(received, this.#failed))
    socket.on('error', (error: NodeJS.ErrnoException) => this.#reported(error))
    this.#looks = new LateLooks(tickMs, this.#beganAtMs)
    const tick = walled(() => this.#tick(clock.monotonic()), this.#failed)
    this.#ticking = repeat({ clock, log, name: 'look after an SRT call', everyMs: tickMs }, async () => {
      // After the constructor: a first tick that fails ends a call, and its owner has one then.
      await Promise.resolve()
      tick()
    })
  }

  /** A fault of ours ends this call and no other. */
  readonly #failed = (error: unknown): void => {
    this.#options.log.error({ err: error }, 'an SRT call failed')
    this.#lose(coded('source_failed_here'))
  }

  /** Of datagrams, without the heads of UDP. */
  get bytes(): { readonly bytesIn: number; readonly bytesOut: number } {
    return { bytesIn: this.#bytesIn, bytesOut: this.#bytesOut }
  }

  /**
   * Says goodbye and closes the socket, while it is connected after this time, in which the half goes on. `ended` is not called any
   * more. Called again, it can only be sooner.
   */
  end(afterMs = 0): void {
    this.#endsAtMs = Math.min(this.#endsAtMs ?? Infinity, this.#options.clock.monotonic() + afterMs)
    if (afterMs === 0 || this.#state !== 'connected') this.#close()
  }

  #tick(nowMs: number): void {
    this.#looks.look(nowMs)
    if (this.#state === 'over') return
    if (this.#state !== 'connected') return this.#open(nowMs)
    this.#half?.tick(nowMs)
    if (nowMs - this.#sentAtMs >= KEEP_ALIVE_MS) this.#control({ type: CONTROL.keepAlive })
    if (this.#endsAtMs !== null && nowMs >= this.#endsAtMs) this.#close()
    else if (this.#looks.lastedMs(this.#heardAtMs, nowMs) > SILENCE_MS) this.#gone(coded('peer_silent'))
  }

  /** What was heard before the agreement does not count: an answer may come again and again. */
  #open(nowMs: number): void {
    if (this.#looks.lastedMs(this.#heardAtMs, nowMs) > OPENING_MS) return this.#lose(coded('peer_no_answer'))
    if (nowMs - this.#sentAtMs < REPEAT_MS) return
    const ids = { sequence: this.#sequence, socketId: this.#socketId }
    if (this.#state === 'inducting') this.#handshake(writeInduction(ids))
    else this.#handshake(writeConclusion({ ...ids, ...this.#fields() }))
  }

  #fields(): Omit<CallFields, 'sequence' | 'socketId'> {
    const { streamId, latencyMs } = this.#options
    return { cookie: this.#cookie, streamId, latencyMs, keys: this.#keys }
  }

  #received(datagram: Buffer): void {
    this.#bytesIn += datagram.length
    const packet = datagram.length > DATAGRAM_MAX_BYTES ? null : readPacket(datagram)
    if (packet === null || packet.socketId !== this.#socketId || this.#state === 'over') return
    if (packet.kind === 'control' && packet.type === CONTROL.handshake) return this.#answered(packet.body)
    if (this.#state !== 'connected') return
    this.#heardAtMs = this.#options.clock.monotonic()
    if (packet.kind === 'control' && packet.type === CONTROL.shutdown) this.#gone(coded('peer_closed'))
    else this.#half?.take(packet, this.#heardAtMs)
  }

  #gone(why: CodedSentence): void {
    this.#half?.leave?.()
    this.#lose(why)
  }

  #answered(body: Buffer): void {
    const answer = this.#state === 'connected' ? null : readAnswer(body)
    if (answer === null) return
    if (answer.kind === 'refused') return this.#over(endOfRefusal(answer.code))
    if (answer.kind === 'agreed') return this.#agreed(answer)
    if (this.#state === 'inducting') this.#conclude(answer.cookie).catch(this.#failed)
  }

  async #conclude(cookie: number): Promise<void> {
    this.#cookie = cookie
    this.#making ??= this.#makeKeys()
    this.#keys = await this.#making
    if (this.#state !== 'inducting') return
    this.#state = 'concluding'
    this.#sentAtMs = Number.NEGATIVE_INFINITY
    this.#open(this.#options.clock.monotonic())
  }

  async #makeKeys(): Promise<SendingKeys | null> {
    const { passphrase, keyBytes, random } = this.#options
    return passphrase === null ? null : SendingKeys.make(passphrase, keyBytes, random)
  }

  #agreed(agreement: CallAgreement): void {
    if (this.#state !== 'concluding') return
    // Media never leaves without the encryption that was asked for.
    if (this.#keys !== null && !agreement.hasKeys) return this.#over(endOfRefusal(REJECT.badSecret))
    this.#state = 'connected'
    this.#peerId = agreement.socketId
    this.#heardAtMs = this.#options.clock.monotonic()
    this.#half = this.#options.begin({
      ...agreement,
      sequence: this.#sequence,
      keys: this.#keys,
      timeUs: () => this.#timeUs(),
      control: (fields) => this.#control(fields),
      data: (run, datagramBytes) => this.#send(run, datagramBytes),
      lastedMs: (sinceMs, nowMs) => this.#looks.lastedMs(sinceMs, nowMs),
    })
  }

  #handshake(body: Buffer): void {
    this.#send(writeControl({ type: CONTROL.handshake, socketId: 0, timeUs: this.#timeUs(), body }))
  }

  #control(fields: Omit<ControlFields, 'socketId' | 'timeUs'>): void {
    this.#send(writeControl({ ...fields, socketId: this.#peerId, timeUs: this.#timeUs() }))
  }

  #timeUs(): number {
    return (this.#options.clock.monotonic() - this.#beganAtMs) * 1000
  }

  #send(run: Buffer, datagramBytes = run.length): void {
    const { socket, clock } = this.#options
    if (this.#state === 'over' || socket.getSendQueueSize() > QUEUE_MAX_BYTES) return
    this.#sentAtMs = clock.monotonic()
    this.#bytesOut += run.length
    this.#sendRun(run, datagramBytes)
  }

  /** By the socket. */
  #reported({ code, message }: NodeJS.ErrnoException): void {
    if (code === 'ECONNREFUSED') this.#lose(coded('peer_refuses_port'))
    else this.#options.log.info({ problem: message }, 'the socket of an SRT call reports an error')
  }

  #lose(why: CodedSentence): void {
    this.#over({ kind: 'lost', ...say(why) })
  }

  #over(how: SenderEnd): void {
    if (this.#state === 'over') return
    this.#close()
    if (this.#endsAtMs === null) this.#options.ended(how)
  }

  #close(): void {
    if (this.#state === 'over') return
    const { socket } = this.#options
    const goodbye = { type: CONTROL.shutdown, socketId: this.#peerId, timeUs: this.#timeUs(), body: Buffer.alloc(4) }
    const wasConnected = this.#state === 'connected'
    this.#state = 'over'
    void this.#ticking.stop()
    if (wasConnected) socket.send(writeControl(goodbye), () => socket.close())
    else socket.close()
  }
}
