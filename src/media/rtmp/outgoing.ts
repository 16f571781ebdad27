import type { Socket } from 'node:net'
import { controlMessage, type Message, MESSAGE, writeMessage } from './messages.ts'
import { WINDOW_BYTES } from './replies.ts'

/** The most bytes that may wait to be sent; only a peer that never reads reaches it. */
const MAX_WAITING_BYTES = 65_536
const SMALLEST_WINDOW = 65_536

/** What a publisher or a source is sent: answers or commands, and acknowledgements of what has come. */
export class Outgoing {
  readonly #socket: Socket
  readonly #blocked: () => void
  #window = WINDOW_BYTES
  #acknowledged = 0

  /** @param blocked called when the peer does not read what it is sent */
  constructor(socket: Socket, blocked: () => void) {
    this.#socket = socket
    this.#blocked = blocked
  }

  send(messages: readonly Message[]): void {
    if (!this.#socket.writable) return
    // Commands go on chunk stream 3, control on 2 (RTMP 1.0 section 5.4).
    for (const message of messages) {
      this.#socket.write(writeMessage(message, { chunkStreamId: message.type < 8 ? 2 : 3 }))
    }
    if (this.#socket.writableLength > MAX_WAITING_BYTES) this.#blocked()
  }

  /** The peer asks for an acknowledgement after each `payload` bytes (RTMP 1.0 section 5.4.4). */
  setWindow(payload: Buffer): void {
    this.#window = Math.max(SMALLEST_WINDOW, payload.length >= 4 ? payload.readUInt32BE(0) : 0)
  }

  /** Acknowledges what was received, once in each window. */
  acknowledge(bytesIn: number): void {
    if (bytesIn - this.#acknowledged < this.#window) return
    this.#acknowledged = bytesIn
    this.send([controlMessage(MESSAGE.acknowledgement, bytesIn % 2 ** 32)])
  }
}
