import type { Socket } from 'node:net'
import { walled } from '../../base/walls.ts'
import { MessagePace } from '../messagePace.ts'
import { MessageTurns } from '../messageTurns.ts'
import type { ChunkReader } from './chunkReader.ts'
import type { Message } from './messages.ts'

/** Of this process, which has one event loop. */
const turns = new MessageTurns()

/** Read of a connection before others have their turn. */
const CHUNKS_AT_ONCE = 2000
/** So many cost as much as a message, at least. */
const CHUNKS_OF_MESSAGE = 32
const NONE: Buffer = Buffer.alloc(0)

export interface InboxOptions {
  readonly socket: Socket
  readonly reader: ChunkReader
  /** Handles a message. */
  readonly take: (message: Message) => void
  /** What comes is not RTMP, or too much. */
  readonly refuse: (why: string) => void
  /** Whether messages are handled now. While they are not, they wait. */
  readonly isOpen: () => boolean
  /** A fault of ours in handling them. */
  readonly failed: (error: unknown) => void
}

/**
 * The messages of one connection, in order. It reads and handles as many at once as its turn allows, and takes no more from the socket
 * while some wait, or after too many in a second.
 */
export class Inbox {
  readonly #options: InboxOptions
  readonly #pace: MessagePace
  readonly #work: () => void
  /** Bytes whose chunks were too many to read at once. */
  #unread = NONE
  #messages: Message[] = []
  /** For its turn. */
  #isWaiting = false
  #isHeld = false

  constructor(options: InboxOptions) {
    const { socket, failed } = options
    this.#options = options
    this.#pace = new MessagePace(socket)
    this.#work = walled(() => this.#handle(), failed)
  }

  receive(bytes: Buffer): void {
    this.#unread = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes])
    this.#handle()
  }

  /** A message had so many parts. */
  notePartsOf(count: number): void {
    this.#pace.note(count)
  }

  /** Reads no more before `open`. */
  hold(): void {
    this.#isHeld = true
    this.#options.socket.pause()
  }

  /** Handles what waits, and reads on. */
  open(): void {
    this.#isHeld = false
    this.#handle()
  }

  /** Forgets what waits. What comes is for the connection to discard. */
  clear(): void {
    this.#messages = []
    this.#unread = NONE
    this.open()
  }

  /** Call it every second. */
  tick(): void {
    this.#pace.tick(() => !this.#isHeld && !this.#isWaiting)
  }

  #handle(): void {
    const { isOpen, socket } = this.#options
    if (this.#isWaiting) return
    if (this.#messages.length === 0 && this.#unread.length > 0 && isOpen() && turns.isOpen) this.#read()
    this.#take()
    if (this.#isHeld) return
    if (this.#messages.length === 0 && this.#unread.length === 0) return this.#pace.resume()
    if (!isOpen()) return
    socket.pause()
    this.#isWaiting = true
    turns.wait(() => {
      this.#isWaiting = false
      this.#work()
    })
  }

  #read(): void {
    const { reader, refuse } = this.#options
    const read = reader.read(this.#unread, CHUNKS_AT_ONCE)
    if (!read.ok) {
      this.#unread = NONE
      return refuse(read.error)
    }
    const { messages, chunks, rest } = read.value
    this.#messages = messages
    this.#unread = rest
    this.#pace.note(messages.length + chunks / CHUNKS_OF_MESSAGE)
    turns.spend(chunks / CHUNKS_OF_MESSAGE)
  }

  #take(): void {
    const { take, isOpen } = this.#options
    const may = isOpen() ? turns.take(this.#messages.length) : 0
    let taken = 0
    while (taken < may && isOpen()) {
      const message = this.#messages[taken++]
      if (message !== undefined) take(message)
    }
    this.#messages.splice(0, taken)
  }
}
