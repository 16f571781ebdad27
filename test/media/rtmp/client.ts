import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { type AmfObject, amfObject, type AmfValue, decodeAmf } from '../../../src/media/rtmp/amf0.ts'
import { ChunkReader } from '../../../src/media/rtmp/chunkReader.ts'
import { commandMessage, type Message, MESSAGE, writeMessage } from '../../../src/media/rtmp/messages.ts'

const HANDSHAKE_BYTES = 1 + 2 * 1536

/** C0, C1 and C2 at once, which works because the simple handshake does not depend on the answer. */
export const handshake = (): Buffer => Buffer.concat([Buffer.from([3]), Buffer.alloc(1536, 1), Buffer.alloc(1536, 2)])

/** Until it is paused for longer than for the turns of others. */
export async function pausedForGood(socket: Socket): Promise<void> {
  for (let turns = 0; turns < 100; turns = socket.isPaused() ? turns + 1 : 0) await setImmediate()
}

type Properties = Readonly<Record<string, AmfValue>>

/** @param more properties of the command object */
export const connectMessage = (app: string, more: Properties = {}): Message => {
  const usual = { app, type: 'nonprivate', flashVer: 'FMLE/3.0', tcUrl: 'rtmp://test' }
  return commandMessage(0, 'connect', 1, amfObject({ ...usual, ...more }))
}

export const publishMessage = (name: string): Message => commandMessage(1, 'publish', 5, null, name, 'live')

/** All commands of a publisher before its first frame. */
export const opening = (app: string, name: string, connect: Properties = {}): Buffer =>
  Buffer.concat([
    handshake(),
    ...[
      connectMessage(app, connect),
      commandMessage(0, 'releaseStream', 2, null, name),
      commandMessage(0, 'FCPublish', 3, null, name),
      commandMessage(0, 'createStream', 4, null),
      publishMessage(name),
    ].map((message) => writeMessage(message)),
  ])

/** A minimal publisher: sends what the test says, and stores what it receives. */
export class RtmpClient {
  readonly received: Message[] = []
  readonly closed: Promise<void>
  readonly socket: Socket
  readonly #reader = new ChunkReader(1e6)
  #raw = Buffer.alloc(0)
  #arrived = Promise.withResolvers<void>()

  constructor(port: number, localAddress = '127.0.0.1') {
    this.socket = connect({ port, host: '127.0.0.1', localAddress })
    this.socket.on('error', () => undefined)
    this.socket.on('data', (data) => this.#take(data))
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => {
        resolve()
        this.#arrived.resolve()
      })
    })
  }

  /** @param localAddress its loopback address */
  static async open(port: number, localAddress?: string): Promise<RtmpClient> {
    const client = new RtmpClient(port, localAddress)
    await once(client.socket, 'connect')
    return client
  }

  send(...messages: readonly Message[]): void {
    for (const message of messages) this.socket.write(writeMessage(message))
  }

  /** Resolves with the first matching status (onStatus, _error); fails when the connection ends without one. */
  async status(code?: string): Promise<{ level: string; code: string; description: string }> {
    for (;;) {
      const found = this.statuses().find((status) => code === undefined || status.get('code') === code)
      if (found)
        return { level: text(found, 'level'), code: text(found, 'code'), description: text(found, 'description') }
      if (this.socket.closed) throw new Error('the connection ended without a status')
      await this.#arrived.promise
    }
  }

  /** Publishes: resolves when the server has accepted. */
  async publish(app: string, name: string, connect: Properties = {}): Promise<void> {
    this.socket.write(opening(app, name, connect))
    const { code, description } = await this.status()
    if (code !== 'NetStream.Publish.Start') throw new Error(`refused: ${code} ${description}`)
  }

  statuses(): AmfObject[] {
    return this.commands()
      .filter(([name]) => name === 'onStatus' || name === '_error')
      .map((values) => values[3])
      .filter((value): value is AmfObject => value instanceof Map)
  }

  commands(): AmfValue[][] {
    return this.received
      .filter(({ type }) => type === MESSAGE.command)
      .map(({ payload }) => {
        const values = decodeAmf(payload)
        return values.ok ? values.value : []
      })
  }

  #take(data: Buffer): void {
    const before = this.#raw.length
    this.#raw = Buffer.concat([this.#raw, data])
    const read = this.#reader.push(this.#raw.subarray(Math.max(before, HANDSHAKE_BYTES)))
    if (!read.ok) throw new Error(read.error)
    this.received.push(...read.value)
    this.#arrived.resolve()
    this.#arrived = Promise.withResolvers()
  }
}

function text(object: AmfObject, name: string): string {
  const value = object.get(name)
  return typeof value === 'string' ? value : ''
}
