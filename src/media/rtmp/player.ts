import { Allowance } from '../../base/allowance.ts'
import type { Random } from '../../base/random.ts'
import { coded, type Said, say } from '../../core/notices.ts'
import { walled } from '../../base/walls.ts'
import {
  CLOSED,
  NO_ANSWER,
  NO_MEDIA,
  type PulledSource,
  type PulledSourceOptions,
  type PullProblem,
  REDIRECTED,
  SilenceWatch,
  SLUICE_FAILED,
} from '../pulling.ts'
import { amfObject, type AmfValue } from './amf0.ts'
import { ChunkReader } from './chunkReader.ts'
import { COMMAND_BYTES, COMMAND_RATE, type RtmpCommand, readCommand } from './commands.ts'
import { ClientHandshake } from './handshake.ts'
import { Inbox } from './inbox.ts'
import { RtmpIngest } from './ingest.ts'
import { commandMessage, EVENT, type Message, MESSAGE, splitAggregate, userControl } from './messages.ts'
import { Outgoing } from './outgoing.ts'
import { ENHANCED } from './replies.ts'
import { readStatus, reasonOf } from './status.ts'

/** The transactions of the commands whose answers count. */
const CONNECT = 1
const CREATE_STREAM = 2
const PLAY = 3
const REFUSALS = new Set(['NetConnection.Connect.Rejected', 'NetStream.Play.Denied'])
/** The publisher has left. Some servers keep the connection for the next one, as nginx-rtmp does. */
const ENDS = new Set(['NetStream.Play.UnpublishNotify', 'NetStream.Play.Stop', 'NetStream.Play.Complete'])

/** What a player says of itself (RTMP 1.0 section 7.2.1.1): AAC and H.264, and those of enhanced RTMP. */
const PLAYER = {
  flashVer: 'LNX 9,0,124,2 (Sluice)',
  fpad: false,
  capabilities: 15,
  audioCodecs: 0x0400,
  videoCodecs: 0x0080,
  videoFunction: 1,
  objectEncoding: 0,
  ...ENHANCED,
} as const

type State = 'shaking' | 'connecting' | 'creating' | 'playing' | 'over'

/**
 * Plays one stream of another server: our half of an RTMP client that takes media.
 *
 * | State | Means | Goes to |
 * |---|---|---|
 * | `shaking` | the handshake | `connecting` when the server has answered it |
 * | `connecting` | `connect` | `creating` with its result |
 * | `creating` | `createStream` | `playing` with its result |
 * | `playing` | `play` was sent: media is taken as it comes | |
 * | `over` | the socket is closed | |
 *
 * A status of the server, the end of its socket, media that no stream carries, bytes that are no RTMP and silence lead to
 * `over` from each.
 */
export class RtmpPlayer implements PulledSource {
  readonly #options: PulledSourceOptions
  readonly #address: PlayAddress
  readonly #handshake: ClientHandshake
  readonly #reader = new ChunkReader(COMMAND_BYTES)
  readonly #inbox: Inbox
  readonly #outgoing: Outgoing
  readonly #ingest: RtmpIngest
  readonly #silence = new SilenceWatch()
  readonly #commands = new Allowance(COMMAND_RATE)
  #state: State = 'shaking'
  #bytesIn = 0
  /** Grows with each message of media, and with the permission to play. */
  #progress = 0
  #streamId = 1

  constructor(options: PulledSourceOptions & { readonly random: Random }) {
    const { socket, random, url, sink, clock, audioNumbers, leftOut } = options
    this.#options = options
    this.#address = readPlayAddress(url)
    this.#handshake = new ClientHandshake(random)
    this.#inbox = new Inbox({
      socket,
      reader: this.#reader,
      take: (message) => this.#take(message),
      refuse: (text) => this.#lose(say(coded('source_not_rtmp', { text }))),
      isOpen: () => !this.#isOver(),
      failed: this.#failed,
    })
    this.#outgoing = new Outgoing(socket, () => this.#lose(say(coded('source_does_not_read'))))
    this.#ingest = new RtmpIngest(sink, { clock, audioNumbers, leftOut })
  }

  get bytesIn(): number {
    return this.#bytesIn
  }

  start(): Promise<void> {
    const { socket } = this.#options
    const received = (data: Buffer): void => this.#received(data)
    socket.on('data', walled(received, this.#failed))
    socket.on('error', () => undefined)
    socket.on('close', () => this.#lose(CLOSED))
    if (socket.destroyed) this.#lose(CLOSED)
    else socket.write(this.#handshake.opening)
    return Promise.resolve()
  }

  tick(): void {
    this.#inbox.tick()
    if (this.#state === 'over' || !this.#silence.look(this.#progress)) return
    const isPlaying = this.#state === 'playing'
    this.#lose(isPlaying ? NO_MEDIA : NO_ANSWER)
  }

  end(): void {
    this.#state = 'over'
    this.#options.socket.destroy()
  }

  /** A fault of ours ends this connection and no other. */
  readonly #failed = (error: unknown): void => {
    this.#options.log.error({ err: error }, 'a connection to a source of RTMP failed')
    this.#lose(SLUICE_FAILED)
  }

  #received(data: Buffer): void {
    this.#bytesIn += data.length
    if (this.#state === 'over') return
    const rest = this.#state === 'shaking' ? this.#shakeHands(data) : data
    if (rest !== null) this.#read(rest)
  }

  #shakeHands(data: Buffer): Buffer | null {
    const step = this.#handshake.push(data)
    if (!step.ok) this.#lose(say(step.error))
    if (!step.ok || step.value === null) return null
    this.#options.socket.write(step.value.reply)
    this.#state = 'connecting'
    const { app, url: tcUrl } = this.#address
    this.#send(commandMessage(0, 'connect', CONNECT, amfObject({ app, tcUrl, ...PLAYER })))
    return step.value.rest
  }

  #read(data: Buffer): void {
    this.#inbox.receive(data)
    if (!this.#isOver()) this.#outgoing.acknowledge(this.#bytesIn)
  }

  /** What a message leads to may end it. */
  #isOver(): boolean {
    return this.#state === 'over'
  }

  #take(message: Message): void {
    switch (message.type) {
      case MESSAGE.audio:
      case MESSAGE.video:
        return this.#media(message)
      case MESSAGE.aggregate:
        return this.#aggregate(message)
      case MESSAGE.command:
      case MESSAGE.commandAmf3:
        return this.#command(message)
      case MESSAGE.windowSize:
        return this.#outgoing.setWindow(message.payload)
      case MESSAGE.userControl:
        return this.#event(message.payload)
      case MESSAGE.data:
      case MESSAGE.dataAmf3:
        return this.#ingest.declare(message)
    }
  }

  /** Media before `play` is that of no stream. */
  #media(message: Message): void {
    if (this.#state !== 'playing') return
    const taken = this.#ingest.take(message)
    if (!taken.ok) this.#over({ kind: 'unsuitable', ...taken.error })
    else if (taken.value === 'media') this.#progress++
  }

  #aggregate(message: Message): void {
    const { parts, isWhole } = splitAggregate(message)
    if (!isWhole) this.#options.leftOut('An aggregate message is malformed: its parts do not add up')
    this.#inbox.notePartsOf(parts.length)
    for (const part of parts) if (part.type === MESSAGE.audio || part.type === MESSAGE.video) this.#media(part)
  }

  #event(payload: Buffer): void {
    if (payload.length < 6) return
    const [event, value] = [payload.readUInt16BE(0), payload.readUInt32BE(2)]
    if (event === EVENT.pingRequest) this.#send(userControl(EVENT.pingResponse, value))
    if (event === EVENT.streamEof && value === this.#streamId && this.#state === 'playing') this.#lose(STREAM_ENDED)
  }

  #command(message: Message): void {
    const nowMs = this.#options.clock.monotonic()
    if (!this.#commands.take(nowMs)) return this.#lose(say(coded('source_sends_commands')))
    const command = readCommand(message)
    if (command.ok) this.#answered(command.value)
  }

  #answered({ name, transaction, parameters }: RtmpCommand): void {
    if (name === 'onStatus') return this.#status(parameters[0])
    if (name === '_error' && transaction >= CONNECT && transaction <= PLAY) return this.#refused(parameters[0])
    if (name !== '_result') return
    if (transaction === CONNECT && this.#state === 'connecting') this.#createStream()
    else if (transaction === CREATE_STREAM && this.#state === 'creating') this.#play(parameters[0])
  }

  #createStream(): void {
    this.#state = 'creating'
    this.#send(commandMessage(0, 'createStream', CREATE_STREAM, null))
  }

  #play(streamId: AmfValue): void {
    this.#state = 'playing'
    this.#progress++
    // Media may be in one packet with the answer to `play`.
    this.#reader.maxMessageBytes = this.#options.maxFrameBytes
    if (typeof streamId === 'number' && Number.isInteger(streamId)) this.#streamId = streamId >>> 0
    this.#send(commandMessage(this.#streamId, 'play', PLAY, null, this.#address.stream))
  }

  #status(info: AmfValue): void {
    const { level, code } = readStatus(info)
    if (level === 'error' || REFUSALS.has(code)) this.#refused(info)
    else if (ENDS.has(code)) this.#lose(STREAM_ENDED)
  }

  #refused(info: AmfValue): void {
    const status = readStatus(info)
    if (status.isRedirect) return this.#over(REDIRECTED)
    const why = say(coded('source_says', { text: reasonOf(status, this.#address.stream) }))
    this.#over({ kind: REFUSALS.has(status.code) ? 'refused' : 'lost', ...why })
  }

  #send(message: Message): void {
    this.#outgoing.send([message])
  }

  #lose(why: Said): void {
    this.#over({ kind: 'lost', ...why })
  }

  #over(problem: PullProblem): void {
    if (this.#state === 'over') return
    this.end()
    this.#options.ended(problem)
  }
}

const STREAM_ENDED = say(coded('source_ended'))

interface PlayAddress {
  readonly app: string
  /** The address with the application. */
  readonly url: string
  /** With its query. */
  readonly stream: string
}

/** The last part of a path is the stream, and what comes before it the application. */
function readPlayAddress({ protocol, host, pathname, search }: URL): PlayAddress {
  const path = pathname.replace(/^\/+/, '')
  const at = path.lastIndexOf('/')
  const app = path.slice(0, at).replace(/(?<!\/)\/+$/, '')
  return { app, url: `${protocol}//${host}/${app}`, stream: path.slice(at + 1) + search }
}
