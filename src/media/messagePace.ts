import type { Socket } from 'node:net'
import { OwnTurns } from '../base/turns.ts'

/** From one tick to the next. Publishers of many tracks send hundreds in a second, those that send a file at once thousands. */
const MAX_MESSAGES = 10_000

/** Of this process: all connections tick together, and each that reads on may have thousands of messages at once. */
const turns = new OwnTurns()

/**
 * Reads no more of a connection until the next tick when too many messages have come. A packet has room for thousands of them, and
 * Node reads the next packets of a busy connection before it turns to others.
 */
export class MessagePace {
  readonly #socket: Socket
  #count = 0
  /** To read on. */
  #isWaiting = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** So many have come. */
  note(messages: number): void {
    this.#count += messages
    if (this.#isOver) this.#socket.pause()
  }

  /** Reads on after a pause for another reason, unless too many have come. */
  resume(): void {
    if (!this.#isOver) this.#socket.resume()
  }

  /**
   * Call it every second. A connection that had too many reads on in a turn of its own.
   * @param mayRead whether there is no other reason to pause then
   */
  tick(mayRead: () => boolean = () => true): void {
    if (!this.#isOver) this.#count = 0
    else if (!this.#isWaiting) {
      this.#isWaiting = true
      turns.take(() => {
        this.#isWaiting = false
        this.#count = 0
        if (mayRead()) this.#socket.resume()
      })
    }
  }

  get #isOver(): boolean {
    return this.#count > MAX_MESSAGES
  }
}
