import type { MediaEngineEvent } from '../../engine.ts'
import type { FromRelay } from './messages.ts'

type Send = (message: FromRelay, sent?: () => void) => void

/**
 * What a relay process tells the main process, in its order. It leaves at the end of a turn of the event loop: a frame takes longer to
 * write than its last packets take to leave for viewers, and wakes another process.
 */
export class Outbox {
  readonly #send: Send
  #waiting: Parameters<Send>[] = []
  /** Of the latest message, where that has events: the byte counts of all sessions are one each second, not hundreds. */
  #events: MediaEngineEvent[] | null = null

  constructor(send: Send) {
    this.#send = send
  }

  readonly post: Send = (message, sent) => {
    this.#events = null
    if (this.#waiting.push([message, sent]) === 1) setImmediate(() => this.#flush())
  }

  emit(event: MediaEngineEvent): void {
    if (this.#events !== null) return void this.#events.push(event)
    const events = [event]
    this.post({ kind: 'events', events })
    this.#events = events
  }

  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = []
    this.#events = null
    for (const [message, sent] of waiting) this.#send(message, sent)
  }
}
