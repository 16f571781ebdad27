import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { walled } from '../../base/walls.ts'
import { MessagePace } from '../messagePace.ts'
import { RtspReplies, type RtspReply } from './replies.ts'
import { SequenceGaps } from './sequenceGaps.ts'

export interface RtspRelayOptions {
  /** The connection to the source. */
  readonly source: Socket
  /** A fault of ours in what the source sends. */
  readonly failed: (error: unknown) => void
  /** Returns whether the client gets an answer of the source. */
  readonly judge: (reply: RtspReply) => boolean
  /** The connection to the source is over. A text: why it cannot go on. */
  readonly ended: (why: string | null) => void
}

/**
 * Passes one client of this machine at a time on to a source over a connection that exists, so that the client dials no address
 * but a port on loopback.
 */
export class RtspRelay {
  readonly #options: RtspRelayOptions
  readonly #replies: RtspReplies
  readonly #pace: MessagePace
  /** In the packets of the source. */
  readonly gaps = new SequenceGaps()
  #server: Server | null = null
  #client: Socket | null = null
  /** Bytes that the source has sent. */
  received = 0
  /** Grows with each whole message and packet of them. */
  progress = 0

  constructor(options: RtspRelayOptions) {
    this.#options = options
    this.#replies = new RtspReplies(options.judge, (packet) => this.gaps.take(packet))
    const { source, failed, ended } = options
    this.#pace = new MessagePace(source)
    const received = (chunk: Buffer): void => this.#fromSource(chunk)
    source.on('data', walled(received, failed))
    source.on('close', () => ended(null))
  }

  /** Waits for a client, on loopback. Returns the port. The client before it is gone then. */
  async await(): Promise<number> {
    this.#drop()
    const server = createServer((client) => {
      server.close()
      if (this.#client !== null || this.#server !== server) return void client.destroy()
      this.#attach(client)
    })
    this.#server = server
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  /** Call it every second. */
  tick(): void {
    this.#pace.tick(() => this.#client?.writableNeedDrain !== true)
  }

  /** The client gets what waits for it, and then the end of its connection. */
  finish(): void {
    this.#client?.end()
  }

  close(): void {
    this.#drop()
    this.#options.source.destroy()
  }

  #drop(): void {
    this.#server?.close()
    this.#server = null
    this.#client?.destroy()
    this.#client = null
  }

  #attach(client: Socket): void {
    const { source } = this.#options
    this.#client = client
    client.on('error', () => undefined)
    client.on('data', (chunk: Buffer) => {
      if (this.#client === client) source.write(chunk)
    })
    client.on('drain', () => this.#pace.resume())
    client.on('close', () => this.#pace.resume())
  }

  #fromSource(chunk: Buffer): void {
    this.received += chunk.length
    const out = this.#replies.push(chunk)
    if (typeof out === 'string') return this.#options.ended(out)
    this.#pace.note(this.#replies.cost)
    this.progress += this.#replies.cost
    for (const bytes of out) if (this.#client?.write(bytes) === false) this.#options.source.pause()
  }
}
