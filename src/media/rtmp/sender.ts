import { Allowance } from '../../base/allowance.ts'
import type { Random } from '../../base/random.ts'
import { coded, say } from '../../core/notices.ts'
import type { Frame, FrameSink, TrackInfo } from '../frame.ts'
import type { SenderEnd, SenderMove } from '../publishing.ts'
import { TcpSender, type TcpSenderOptions } from '../tcpSender.ts'
import { amfObject, type AmfValue } from './amf0.ts'
import { ChunkReader } from './chunkReader.ts'
import { COMMAND_BYTES, COMMAND_RATE, type RtmpCommand, readCommand } from './commands.ts'
import { describeTracks, frameMessage, isTaken, readFourccs, refuseTracks, SENT_FOURCCS } from './flvWriter.ts'
import { ClientHandshake } from './handshake.ts'
import { Inbox } from './inbox.ts'
import {
  chunksOf,
  commandMessage,
  controlMessage,
  EVENT,
  type Message,
  MESSAGE,
  type OutgoingMessage,
  userControl,
} from './messages.ts'
import { RECONNECT_REQUEST, RECONNECTS } from './reconnect.ts'
import { readStatus, reasonOf } from './status.ts'

/** With the 128 bytes that RTMP begins with, headers would be 1% of the media. */
const CHUNK_BYTES = 4096
const CHUNK_STREAMS = { control: 2, command: 3, [MESSAGE.audio]: 4, [MESSAGE.video]: 6 } as const
/** Acknowledgements are not sent more often. */
const SMALLEST_WINDOW = 65_536

/** The transactions of the commands whose answers count. */
const CONNECT = 1
const CREATE_STREAM = 4
const BAD_NAME = 'NetStream.Publish.BadName'
const REFUSALS = new Set([BAD_NAME, 'NetStream.Publish.Denied', 'NetConnection.Connect.Rejected'])

export interface SenderOptions extends TcpSenderOptions {
  readonly random: Random
  /** Without a slash before or after it. */
  readonly app: string
  /** The address with the application. */
  readonly url: string
  readonly key: string
  readonly ended: (how: SenderEnd | SenderMove) => void
}

type State = 'shaking' | 'opening' | 'publishing'

/**
 * Publishes one feed to another server: our half of an RTMP client.
 *
 * | State | Means | Goes to |
 * |---|---|---|
 * | `shaking` | the handshake | `opening` when the target has answered it |
 * | `opening` | connect, createStream and publish, each after the answer to the one before it | `publishing` |
 * | `publishing` | frames are sent as they come | |
 *
 * A status of the target, the end of its socket, media that RTMP cannot carry and a deadline of `tick` end it in each, and so
 * does its request to connect again in `publishing`. Frames before `publishing` are ignored.
 */
export class RtmpSender extends TcpSender<OutgoingMessage> implements FrameSink {
  readonly #options: SenderOptions
  readonly #handshake: ClientHandshake
  readonly #inbox: Inbox
  readonly #commands = new Allowance(COMMAND_RATE)
  #state: State = 'shaking'
  #streamId = 0
  #window = SMALLEST_WINDOW
  #acknowledged = 0
  #tracks: readonly TrackInfo[] = []
  /** The codecs of enhanced RTMP that the target says that it takes. */
  #fourccs: ReadonlySet<string> = new Set()
  /** What is sent next is described first: at the beginning, after a change, and after a gap. */
  #isDescribed = false
  /** The decode time that is 0 for the target. */
  #beginUs: number | null = null

  constructor(options: SenderOptions) {
    super(options)
    this.#options = options
    this.#handshake = new ClientHandshake(options.random)
    this.#inbox = new Inbox({
      socket: options.socket,
      reader: new ChunkReader(COMMAND_BYTES),
      take: (message) => this.#obey(message),
      refuse: (text) => this.lose(coded('target_not_rtmp', { text })),
      isOpen: () => !this.isOver,
      failed: this.failed,
    })
    this.write(this.#handshake.opening)
  }

  override tick(nowMs: number): void {
    this.#inbox.tick()
    super.tick(nowMs)
  }

  /** Whether the target takes a track as it is. Known once it is `ready`. */
  takes(track: TrackInfo): boolean {
    return isTaken(track, this.#fourccs)
  }

  tracks(tracks: readonly TrackInfo[]): void {
    if (!this.takesMedia) return
    const refusal = refuseTracks(tracks, this.#fourccs)
    if (refusal !== null) return this.over({ kind: 'unsuitable', ...say(refusal) })
    const isFirst = this.#tracks.length === 0
    this.#tracks = tracks
    this.#isDescribed = false
    if (isFirst && tracks.length > 0) this.#options.accepted()
  }

  frame(frame: Frame): void {
    if (!this.takesMedia || this.skips(frame, this.#tracks)) return
    const timestamp = this.#timestampOf(frame)
    const description = this.#isDescribed ? [] : describeTracks(this.#tracks, this.#streamId, timestamp)
    const message = frameMessage(frame, this.#tracks, { streamId: this.#streamId, timestamp })
    this.#isDescribed = [...description, message].every((one) => this.push(one))
  }

  protected get takesMedia(): boolean {
    return this.#state === 'publishing' && !this.isOver
  }

  protected sayGoodbye(): void {
    this.send(commandMessage(this.#streamId, 'FCUnpublish', 0, null, this.#options.key))
    this.send(commandMessage(0, 'deleteStream', 0, null, this.#streamId))
  }

  /** Audio that is a little older than the keyframe is sent as if it came with it. */
  #timestampOf({ decodeTimeUs }: Frame): number {
    this.#beginUs ??= decodeTimeUs
    return Math.max(0, Math.floor(decodeTimeUs / 1000) - Math.floor(this.#beginUs / 1000)) % 2 ** 32
  }

  protected piecesOf(message: OutgoingMessage): Uint8Array[] {
    return chunksOf(message, { chunkStreamId: chunkStreamOf(message.type), chunkBytes: CHUNK_BYTES })
  }

  protected received(data: Buffer): void {
    const rest = this.#state === 'shaking' ? this.#shakeHands(data) : data
    if (rest === null) return
    this.#inbox.receive(rest)
    this.#acknowledge()
  }

  #shakeHands(data: Buffer): Buffer | null {
    const step = this.#handshake.push(data)
    if (!step.ok) {
      this.lose(step.error)
      return null
    }
    if (step.value === null) return null
    this.#state = 'opening'
    this.write(step.value.reply)
    this.#connect()
    return step.value.rest
  }

  #connect(): void {
    const { app, url } = this.#options
    this.send(controlMessage(MESSAGE.setChunkSize, CHUNK_BYTES))
    const flashVer = 'FMLE/3.0 (compatible; Sluice)'
    const facts = amfObject({
      app,
      type: 'nonprivate',
      flashVer,
      tcUrl: url,
      fourCcList: SENT_FOURCCS,
      capsEx: RECONNECTS,
    })
    this.send(commandMessage(0, 'connect', CONNECT, facts))
  }

  #obey(message: Message): void {
    const { type, payload } = message
    if (this.isOver) return
    if (type === MESSAGE.windowSize && payload.length >= 4) {
      this.#window = Math.max(SMALLEST_WINDOW, payload.readUInt32BE(0))
    }
    const isPing = type === MESSAGE.userControl && payload.length >= 6 && payload.readUInt16BE(0) === EVENT.pingRequest
    // What a target does not read waits in memory.
    if (isPing && !this.isBlocked) {
      this.send(userControl(EVENT.pingResponse, payload.readUInt32BE(2)))
    }
    if (type !== MESSAGE.command && type !== MESSAGE.commandAmf3) return
    if (!this.#commands.take(this.clock.monotonic())) return this.lose(coded('target_sends_commands'))
    const command = readCommand(message)
    if (command.ok) this.#answered(command.value)
  }

  #acknowledge(): void {
    const { bytesRead } = this.socket
    if (this.isOver || this.isBlocked || bytesRead - this.#acknowledged < this.#window) return
    this.#acknowledged = bytesRead
    this.send(controlMessage(MESSAGE.acknowledgement, bytesRead % 2 ** 32))
  }

  #answered({ name, transaction, object, parameters }: RtmpCommand): void {
    if (name === 'onStatus') return this.#status(parameters[0])
    const isAwaited = transaction === CONNECT || transaction === CREATE_STREAM
    // Some servers do not know releaseStream and FCPublish, and still take the stream.
    if (name === '_error' && isAwaited) return this.#status(parameters[0])
    if (name !== '_result' || this.#state !== 'opening') return
    if (transaction === CONNECT) {
      this.#fourccs = readFourccs([object, ...parameters])
      this.#createStream()
    } else if (transaction === CREATE_STREAM) this.#publish(parameters[0])
  }

  #createStream(): void {
    const { key } = this.#options
    this.send(commandMessage(0, 'releaseStream', 2, null, key))
    this.send(commandMessage(0, 'FCPublish', 3, null, key))
    this.send(commandMessage(0, 'createStream', CREATE_STREAM, null))
  }

  #publish(streamId: AmfValue): void {
    this.#streamId = typeof streamId === 'number' && Number.isInteger(streamId) ? streamId >>> 0 : 1
    this.send(commandMessage(this.#streamId, 'publish', 5, null, this.#options.key, 'live'))
  }

  #status(info: AmfValue): void {
    const status = readStatus(info)
    const { level, code, tcUrl } = status
    if (code === 'NetStream.Publish.Start') return this.#begin()
    if (code === RECONNECT_REQUEST) return this.#move(tcUrl || null)
    if (level !== 'error' && !REFUSALS.has(code)) return
    // Targets repeat the key in their answers.
    const why = coded('target_says', { text: reasonOf(status, this.#options.key) })
    if (REFUSALS.has(code)) this.over({ kind: 'refused', ...say(why), isInUse: code === BAD_NAME })
    else this.lose(why)
  }

  #begin(): void {
    if (this.#state !== 'opening') return
    this.#state = 'publishing'
    this.awaitAnswer(false)
    this.#options.ready()
  }

  #move(url: string | null): void {
    if (!this.takesMedia) return
    this.end()
    this.#options.ended({ kind: 'moved', url })
  }
}

/** Audio and video on chunk streams of their own, so that neither repeats the header of the other (RTMP 1.0 section 5.3). */
const chunkStreamOf = (type: number): number => {
  if (type === MESSAGE.audio || type === MESSAGE.video) return CHUNK_STREAMS[type]
  return type < MESSAGE.audio ? CHUNK_STREAMS.control : CHUNK_STREAMS.command
}
