import type { Message } from '../../../src/media/rtmp/messages.ts'

/** A clock at which messages arrive at their times. */
export class Arrivals {
  #nowMs = 0
  #latest = 0

  monotonic(): number {
    return this.#nowMs
  }

  /** Returns the message. */
  arrive(message: Message): Message {
    this.#nowMs += Math.max(0, (message.timestamp - this.#latest) | 0)
    this.#latest = message.timestamp
    return message
  }
}
