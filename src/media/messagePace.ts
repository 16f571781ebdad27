import type { Socket } from 'node:net'

/** From one tick to the next. Publishers of many tracks send hundreds in a second, those that send a file at once thousands. */
const MAX_MESSAGES = 10_000

/**
 * Reads no more of a connection until the next tick when too many messages have come. A packet has room for thousands of them, and
 * Node reads the next packets of a busy connection before it turns to others.
 */
export class MessagePace {
  readonly #socket: Socket
  #count = 0

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

  /** Call it every second, but not while there is another reason to pause. */
  tick(): void {
    const wasOver = this.#isOver
    this.#count = 0
    if (wasOver) this.#socket.resume()
  }

  get #isOver(): boolean {
    return this.#count > MAX_MESSAGES
  }
}
