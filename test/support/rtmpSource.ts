import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { amfObject, type AmfValue, decodeAmf } from '../../src/media/rtmp/amf0.ts'
import { ChunkReader } from '../../src/media/rtmp/chunkReader.ts'
import { RtmpHandshake } from '../../src/media/rtmp/handshake.ts'
import {
  commandMessage,
  EVENT,
  type Message,
  MESSAGE,
  userControl,
  writeMessage,
} from '../../src/media/rtmp/messages.ts'
import { connected, result } from '../../src/media/rtmp/replies.ts'
import type { PemPair } from '../../src/tls/certificate.ts'
import { sendInLoop } from './rtmpPublisher.ts'

export interface SourceOptions {
  readonly port?: number
  /** Its certificate over TLS. */
  readonly tls?: PemPair
  /** What it answers to a command; undefined: what a good server does. */
  readonly answer?: (name: string, transaction: number) => readonly Message[] | undefined
  /** Sent in a loop to every client that plays. */
  readonly tags?: readonly Message[]
  /** Of the loop; the system's by default. */
  readonly clock?: Clock
}

const STREAM = 1

/** A status of a server, as an error or not. */
export const statusOf = (code: string, facts: Record<string, AmfValue> = {}, level = 'status'): Message =>
  commandMessage(STREAM, 'onStatus', 0, null, amfObject({ level, code, ...facts }))

export const errorTo = (transaction: number, code: string, facts: Record<string, AmfValue> = {}): Message =>
  commandMessage(0, '_error', transaction, null, amfObject({ level: 'error', code, ...facts }))

/** A server that clients play a stream from. It need not be a good one. */
export class RtmpSource {
  /** Commands of all clients: name, transaction, arguments. */
  readonly commands: AmfValue[][] = []
  /** Messages of all clients that are no commands. */
  readonly others: Message[] = []
  readonly sockets = new Set<Socket>()
  readonly #options: SourceOptions
  readonly #server: Server
  readonly #playing = new Set<Socket>()
  /** Connections so far. */
  connections = 0

  private constructor(options: SourceOptions) {
    this.#options = options
    const { tls } = options
    const serve = (socket: Socket): void => this.#serve(socket)
    this.#server = tls ? createTlsServer(tls, serve) : createServer(serve)
  }

  static async start(options: SourceOptions = {}): Promise<RtmpSource> {
    const source = new RtmpSource(options)
    source.#server.listen(options.port ?? 0, '127.0.0.1')
    await once(source.#server, 'listening')
    return source
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Clients that play. */
  get players(): number {
    return this.#playing.size
  }

  /** What clients asked to play. */
  get played(): AmfValue[] {
    return this.commands.filter(([name]) => name === 'play').map((values) => values[3])
  }

  /** To every client that plays, in one packet. */
  send(...messages: readonly Message[]): void {
    for (const socket of this.#playing) write(socket, messages)
  }

  stop(): Promise<unknown> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.sockets) socket.destroy()
    return closed
  }

  #serve(socket: Socket): void {
    this.connections += 1
    this.sockets.add(socket)
    const over = new AbortController()
    socket.on('error', () => undefined)
    socket.on('close', () => {
      over.abort()
      this.sockets.delete(socket)
      this.#playing.delete(socket)
    })
    const handshake = new RtmpHandshake(systemRandom)
    const reader = new ChunkReader(1e6)
    let isOpen = false
    socket.on('data', (data: Buffer) => {
      const rest = isOpen ? data : shakeHands(handshake, socket, data)
      if (rest === null) return
      isOpen = true
      const read = reader.push(rest)
      if (!read.ok) throw new Error(read.error)
      for (const message of read.value) this.#take(socket, message, over.signal)
    })
  }

  #take(socket: Socket, message: Message, signal: AbortSignal): void {
    const values = message.type === MESSAGE.command ? decodeAmf(message.payload) : null
    if (!values?.ok) return void this.others.push(message)
    this.commands.push(values.value)
    const [name, transaction] = values.value as [string, number]
    const answer = this.#options.answer?.(name, transaction)
    write(socket, answer ?? usual(name, transaction))
    if (name !== 'play' || answer !== undefined) return
    this.#playing.add(socket)
    const { tags, clock = systemClock } = this.#options
    const send = (tag: Message): void => write(socket, [{ ...tag, streamId: STREAM }])
    if (tags) void sendInLoop(tags, { clock, signal, send }).catch(() => undefined)
  }
}

function usual(name: string, transaction: number): readonly Message[] {
  if (name === 'connect') return connected(transaction)
  if (name === 'createStream') return result(transaction, STREAM)
  if (name !== 'play') return []
  return [userControl(EVENT.streamBegin, STREAM), statusOf('NetStream.Play.Reset'), statusOf('NetStream.Play.Start')]
}

function shakeHands(handshake: RtmpHandshake, socket: Socket, data: Buffer): Buffer | null {
  const step = handshake.push(data)
  if (!step.ok) throw new Error(step.error.problem)
  socket.write(step.value.reply)
  return step.value.rest
}

/** Audio and video on chunk streams of their own. */
function write(socket: Socket, messages: readonly Message[]): void {
  const chunks = messages.map((message) =>
    writeMessage(message, { chunkStreamId: message.type > 7 ? message.type : 2 }),
  )
  if (chunks.length > 0 && socket.writable) socket.write(Buffer.concat(chunks))
}
