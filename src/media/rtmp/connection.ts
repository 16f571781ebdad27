import type { Socket } from 'node:net'
import { Allowance } from '../../base/allowance.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { walled } from '../../base/walls.ts'
import type { Move } from '../../core/nodes/drain.ts'
import type { Said } from '../../core/notices.ts'
import { ChunkReader } from './chunkReader.ts'
import { COMMAND_BYTES, COMMAND_RATE, type RtmpCommand, readCommand, readTarget, type RtmpTarget } from './commands.ts'
import { RtmpHandshake } from './handshake.ts'
import { EVENT, type Message, MESSAGE, splitAggregate, userControl } from './messages.ts'
import { Inbox } from './inbox.ts'
import { Outgoing } from './outgoing.ts'
import { RtmpPublication } from './publication.ts'
import { reconnectingUrl, remoteUrl } from './reconnect.ts'
import * as replies from './replies.ts'
import type { Admitted } from '../publication.ts'
import { PublisherProblems } from '../publisherProblems.ts'
import type { PublishAnswer, PublishEnd } from '../publishing.ts'
import type { PublishRequest, RtmpLimits } from './types.ts'

/** How long a refused client may take to read the reason. */
const LINGER_MS = 2000
/** Not `BadName`: clients read that as "the name is in use". */
const DENIED = 'NetStream.Publish.Denied'

export interface ConnectionOptions {
  readonly socket: Socket
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly limits: RtmpLimits
  readonly publish: (request: PublishRequest) => Promise<PublishAnswer>
  /** It pends until `publish`, and after a refusal while the client may still read the reason. Called with each change. */
  readonly pends: (isPending: boolean) => void
}

type State = 'talking' | 'deciding' | 'publishing' | 'lingering' | 'over'

const PENDING: ReadonlySet<State> = new Set<State>(['talking', 'lingering'])

/**
 * The connection of one publisher, from the handshake to the last byte.
 *
 * | State | Means | Goes to |
 * |---|---|---|
 * | `talking` | handshake and commands | `deciding` with `publish` |
 * | `deciding` | `publish` of the options is under way: the socket is paused, messages wait in the inbox | `publishing` when it admits |
 * | `publishing` | media comes, and `idleMs` counts from the latest | |
 * | `lingering` | the end is reported; what comes is thrown away, and the client reads the reason for `LINGER_MS` at most | |
 * | `over` | the socket is closed | |
 *
 * A refusal, an error of the client, its goodbye, a cut and the deadline of `tick` lead to `lingering`. While `publish` is
 * being decided no deadline counts. The end of the socket leads to `over` from each state. A publisher that is admitted after
 * it has left is reported as ended at once: every admission needs an end, and only one.
 *
 * The listener makes one for each socket, calls `tick` once a second, and `end` when it stops or needs room. What admits the
 * publisher may cut it later.
 */
export class RtmpConnection {
  /** Resolves when the socket is closed and the end was reported. */
  readonly closed: Promise<void>
  readonly #options: ConnectionOptions
  readonly #handshake: RtmpHandshake
  readonly #reader: ChunkReader
  readonly #outgoing: Outgoing
  readonly #commands = new Allowance(COMMAND_RATE)
  readonly #inbox: Inbox
  readonly #problems: PublisherProblems
  #handshaking = true
  #state: State = 'talking'
  #deadline: number
  #app: RtmpTarget | null = null
  /** See `reconnectingUrl`. */
  #tcUrl: string | null = null
  #publication: RtmpPublication | null = null
  #reason: PublishEnd | null = null
  #why: Said | undefined
  #bytesIn = 0

  constructor(options: ConnectionOptions) {
    const { socket, clock, limits } = options
    this.#options = options
    this.#handshake = new RtmpHandshake(options.random)
    this.#reader = new ChunkReader(Math.min(COMMAND_BYTES, limits.maxMessageBytes))
    this.#outgoing = new Outgoing(socket, () => void this.end('invalid'))
    this.#inbox = new Inbox({
      socket,
      reader: this.#reader,
      take: (message) => this.#handle(message),
      refuse: (why) => this.#reject('NetConnection.Call.Failed', why),
      isOpen: () => this.#state === 'talking' || this.#state === 'publishing',
      failed: (error) => this.failed(error),
    })
    this.#deadline = clock.monotonic() + limits.handshakeMs
    this.#problems = new PublisherProblems(options.log, socket.remoteAddress)
    const received = (data: Buffer): void => this.#received(data)
    socket.on('data', walled(received, this.failed))
    socket.on('error', () => this.#endWith('lost'))
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        walled(() => this.#over(), this.failed)()
        resolve()
      })
    })
  }

  /** A fault of ours ends this connection and no other. */
  readonly failed = (error: unknown): void => {
    const { log, socket } = this.#options
    log.error({ peer: socket.remoteAddress, err: error }, 'an RTMP connection failed')
    void this.end('lost')
  }

  #enter(state: State): void {
    const [wasPending, isPending] = [PENDING.has(this.#state), PENDING.has(state)]
    this.#state = state
    if (isPending !== wasPending) this.#options.pends(isPending)
  }

  /**
   * Called every second: reports the byte count, and ends the connection after a timeout.
   * @param missedMs of `LateLooks`
   */
  tick(now: number, missedMs: number): void {
    this.#deadline += missedMs
    this.#publication?.reportBytes(this.#bytesIn)
    this.#inbox.tick()
    if (this.#state === 'deciding' || now < this.#deadline) return
    if (this.#state === 'lingering' || this.#state === 'over') this.#options.socket.destroy()
    else if (this.#handshaking) this.#refuseForeign('No RTMP handshake came in time')
    else this.#expire()
  }

  /** Says why to a publisher that has sent nothing of use for too long. */
  #expire(): void {
    const isPublishing = this.#state === 'publishing'
    this.#endWith(isPublishing ? 'lost' : 'invalid')
    this.#why ??= isPublishing ? this.#problems.silence : { message: 'Nothing was published in time' }
    this.#reject('NetConnection.Call.Failed', this.#why.message)
  }

  /** Destroys the socket at once. */
  end(reason: PublishEnd): Promise<void> {
    this.#endWith(reason)
    this.#options.socket.destroy()
    return this.closed
  }

  /** Ends the publication from outside. Ignores all further input; keeps the socket open until the publisher has read why. */
  #cut(why: string): Promise<void> {
    if (this.#state === 'lingering' || this.#state === 'over') return Promise.resolve()
    this.#endWith('cut')
    this.#send(replies.publishRefused(DENIED, why))
    this.#linger()
    return Promise.resolve()
  }

  #askToMove(move: Move): void {
    if (this.#state === 'publishing' && this.#tcUrl !== null)
      this.#send(replies.reconnect(remoteUrl(this.#tcUrl, move)))
  }

  /** The first reason counts. */
  #endWith(reason: PublishEnd): void {
    this.#reason ??= reason
  }

  #received(data: Buffer): void {
    this.#bytesIn += data.length
    if (this.#state === 'lingering' || this.#state === 'over') return
    if (this.#handshaking) this.#shakeHands(data)
    else this.#inbox.receive(data)
    if (!this.#handshaking) this.#outgoing.acknowledge(this.#bytesIn)
  }

  #shakeHands(data: Buffer): void {
    const step = this.#handshake.push(data)
    if (!step.ok) {
      this.#options.socket.write(step.error.reply)
      return this.#refuseForeign(step.error.problem)
    }
    const { reply, rest } = step.value
    if (reply.length > 0) this.#options.socket.write(reply)
    if (rest === null) return
    this.#handshaking = false
    this.#inbox.receive(rest)
  }

  /** A client that does not speak RTMP would not understand a status. */
  #refuseForeign(description: string): void {
    this.#logRefusal(description)
    this.#endWith('invalid')
    this.#linger()
  }

  #handle(message: Message): void {
    const problem = this.#take(message)
    if (problem !== null) this.#reject('NetStream.Failed', problem)
  }

  /** The problem with the message, or null. */
  #take(message: Message): string | null {
    switch (message.type) {
      case MESSAGE.audio:
      case MESSAGE.video:
        return this.#media(message)
      case MESSAGE.command:
      case MESSAGE.commandAmf3:
        return this.#commandReceived(message)
      case MESSAGE.aggregate:
        return this.#aggregate(message)
      case MESSAGE.windowSize:
        this.#outgoing.setWindow(message.payload)
        return null
      case MESSAGE.userControl:
        return this.#answerPing(message.payload)
      case MESSAGE.data:
      case MESSAGE.dataAmf3:
        this.#publication?.declare(message)
        return null
      default:
        return null // Acknowledgements have no effect.
    }
  }

  /** What is left out does not keep the connection: a publisher that sends nothing else is told the reason in the end. */
  #media(message: Message): string | null {
    if (this.#publication === null) return 'Media came before the permission to publish'
    const taken = this.#publication.take(message)
    if (!taken.ok) return (this.#why ??= taken.error).message
    if (taken.value === 'media') this.#deadline = this.#options.clock.monotonic() + this.#options.limits.idleMs
    return null
  }

  #aggregate(message: Message): string | null {
    const { parts, isWhole } = splitAggregate(message)
    if (!isWhole) this.#problems.note('An aggregate message is malformed: its parts do not add up')
    this.#inbox.notePartsOf(parts.length)
    for (const part of parts) {
      const problem = part.type === MESSAGE.audio || part.type === MESSAGE.video ? this.#media(part) : null
      if (problem !== null) return problem
    }
    return null
  }

  #answerPing(payload: Buffer): null {
    if (payload.length >= 6 && payload.readUInt16BE(0) === EVENT.pingRequest) {
      this.#send([userControl(EVENT.pingResponse, payload.readUInt32BE(2))])
    }
    return null
  }

  #commandReceived(message: Message): string | null {
    if (!this.#commands.take(this.#options.clock.monotonic())) return 'Too many commands'
    const command = readCommand(message)
    if (command.ok) return this.#obey(command.value)
    const problem = `A command cannot be read: ${command.error}`
    if (this.#state !== 'publishing') return problem
    this.#problems.note(problem)
    return null
  }

  #obey(command: RtmpCommand): string | null {
    const { name, transaction } = command
    switch (name) {
      case 'connect':
        this.#app = readTarget(command.object.get('app'))
        this.#tcUrl = reconnectingUrl(command.object)
        this.#send(replies.connected(transaction))
        return null
      case 'releaseStream':
      case 'FCPublish':
        this.#send(replies.result(transaction, undefined))
        return null
      case 'createStream':
        this.#send(replies.result(transaction, replies.STREAM_ID))
        return null
      case 'publish':
        return this.#publishRequested(readTarget(command.parameters[0]))
      case 'FCUnpublish':
        this.#endWith('left') // deleteStream or closeStream follows, or the end of the connection.
        return null
      case 'deleteStream':
      case 'closeStream':
        this.#leave()
        return null
      case 'play':
      case 'play2':
        this.#reject('NetStream.Play.Failed', 'Playing over RTMP is not supported; this server takes publishers')
        return null
      default:
        if (transaction > 0) this.#send(replies.unknownCommand(transaction, name.slice(0, 64)))
        return null
    }
  }

  #publishRequested(target: RtmpTarget): string | null {
    if (this.#app === null) return 'publish came before connect'
    if (this.#publication !== null) return 'This connection publishes already'
    this.#enter('deciding')
    this.#inbox.hold()
    this.#decide(this.#app, target).catch(this.failed)
    return null
  }

  async #decide(app: RtmpTarget, target: RtmpTarget): Promise<void> {
    const { socket, log, publish } = this.#options
    const query = new URLSearchParams([target.query, app.query].filter((part) => part !== '').join('&'))
    const peer = socket.remoteAddress ?? ''
    const [cut, askToMove] = [(why: string) => this.#cut(why), (move: Move) => this.#askToMove(move)]
    const request = { app: app.path, name: target.path, query, peer, cut, askToMove }
    const answer = await publish(request).catch((error: unknown): PublishAnswer => {
      log.error({ err: error }, 'an RTMP publisher could not be decided on')
      return { ok: false, status: 'Service unavailable', reason: 'unavailable' }
    })
    if (answer.ok) this.#admit(answer)
    else if (this.#state === 'deciding') this.#reject(DENIED, answer.status)
  }

  /** When the publisher left meanwhile, reports the end at once. */
  #admit(answer: Admitted): void {
    const { clock } = this.#options
    const { audioNumbers } = answer
    this.#publication = new RtmpPublication(answer, {
      clock,
      audioNumbers,
      leftOut: (what) => this.#problems.note(what),
    })
    if (this.#state !== 'deciding') return this.#reportEnd()
    this.#enter('publishing')
    this.#reader.maxMessageBytes = this.#options.limits.maxMessageBytes
    this.#deadline = this.#options.clock.monotonic() + this.#options.limits.idleMs
    this.#send(replies.publishing())
    this.#inbox.open()
  }

  /** The client closes: one of GStreamer takes a server that does so first for a failure. */
  #leave(): void {
    this.#endWith('left')
    if (this.#state === 'publishing') this.#send(replies.unpublished())
    this.#linger(false)
  }

  /** Sends the reason, then closes. */
  #reject(code: string, description: string): void {
    this.#logRefusal(description)
    this.#why ??= { message: description }
    this.#endWith('invalid')
    this.#send(replies.publishRefused(code, description))
    this.#linger()
  }

  #logRefusal(description: string): void {
    this.#options.log.info({ peer: this.#options.socket.remoteAddress, description }, 'RTMP connection refused')
  }

  /** Keeps reading and discards the input: closing a socket with unread bytes would reset it and lose the status. */
  #linger(closes = true): void {
    if (this.#state === 'over') return
    this.#enter('lingering')
    this.#inbox.clear()
    this.#deadline = this.#options.clock.monotonic() + LINGER_MS
    this.#reportEnd()
    if (closes) this.#options.socket.end()
  }

  #over(): void {
    this.#enter('over')
    this.#inbox.clear()
    this.#reportEnd()
  }

  /** The first of leaving, refusal and the end of the socket counts. Encoders that were killed leave without a goodbye. */
  #reportEnd(): void {
    this.#publication?.end(this.#reason ?? 'lost', this.#bytesIn, this.#why)
  }

  #send(messages: readonly Message[]): void {
    this.#outgoing.send(messages)
  }
}
