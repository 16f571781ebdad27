import type { Socket } from 'node:net'
import { walled } from '../../base/walls.ts'
import { MessagePace } from '../messagePace.ts'
import { MessageTurns } from '../messageTurns.ts'
import type { Message } from './messages.ts'

/** Of this process, which has one event loop. */
const turns = new MessageTurns()

export interface InboxOptions {
  readonly socket: Socket
  /** Handles a message. */
  readonly take: (message: Message) => void
  /** Whether messages are handled now. While they are not, they wait. */
  readonly isOpen: () => boolean
  /** A fault of ours in handling them. */
  readonly failed: (error: unknown) => void
}

/**
 * The messages of one publisher, in order. It handles as many at once as its turn allows, and reads no more while some wait, or after
 * too many in a second.
 */
export class Inbox {
  readonly #options: InboxOptions
  readonly #pace: MessagePace
  readonly #work: () => void
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

  push(messages: Message[]): void {
    // A packet has 16,000 at most.
    this.#messages.push(...messages)
    this.#pace.note(messages.length)
    this.#handle()
  }

  /** So much more came: a message had so many parts, or its chunks are worth as much. */
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
    this.open()
  }

  /** Call it every second. */
  tick(): void {
    this.#pace.tick(() => !this.#isHeld && !this.#isWaiting)
  }

  #handle(): void {
    const { take, isOpen, socket } = this.#options
    if (this.#isWaiting) return
    const may = isOpen() ? turns.take(this.#messages.length) : 0
    let taken = 0
    while (taken < may && isOpen()) {
      const message = this.#messages[taken++]
      if (message !== undefined) take(message)
    }
    this.#messages.splice(0, taken)
    if (this.#isHeld) return
    if (this.#messages.length === 0) return this.#pace.resume()
    if (!isOpen()) return
    socket.pause()
    this.#isWaiting = true
    turns.wait(() => {
      this.#isWaiting = false
      this.#work()
    })
  }
}
