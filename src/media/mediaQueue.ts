/** What waits to be sent. */
export interface WaitingMedia {
  /** Milliseconds, over the wrap of 32 bits. */
  readonly timestamp: number
  readonly payload: Uint8Array
}

/** Media for a target that reads more slowly than it comes. Bounded by its length in time, and by its bytes. */
const SPAN_MAX_MS = 2000
/** 32 Mbit/s for as long. */
const BYTES_MAX = 8_000_000

/** Messages in the order of their arrival. */
export class MediaQueue<M extends WaitingMedia> {
  #messages: M[] = []
  #bytes = 0

  get length(): number {
    return this.#messages.length
  }

  get bytes(): number {
    return this.#bytes
  }

  /** False: there is no room for it. */
  push(message: M): boolean {
    const spanMs = (message.timestamp - (this.#messages[0] ?? message).timestamp) | 0
    const bytes = this.#bytes + message.payload.length
    if (spanMs > SPAN_MAX_MS || bytes > BYTES_MAX) return false
    this.#messages.push(message)
    this.#bytes = bytes
    return true
  }

  shift(): M | undefined {
    const message = this.#messages.shift()
    this.#bytes -= message?.payload.length ?? 0
    return message
  }

  clear(): void {
    this.#messages = []
    this.#bytes = 0
  }
}
