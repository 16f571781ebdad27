import type { Logger } from '../../../base/log.ts'
import type { FrameSource } from '../../frame.ts'
import { Hub } from '../../hub.ts'
import type { Media } from './messages.ts'
import type { Worker } from './worker.ts'

/** The subscribers to the frames of one publisher. */
interface Tapped {
  readonly hub: Hub
  listeners: number
}

/** The frames of publishers, from the process of each to its subscribers. */
export class Taps {
  readonly #taps = new Map<string, Tapped>()
  readonly #workerOf: (sessionId: string) => Pick<Worker, 'post'> | null
  readonly #log: Logger

  /** `workerOf`: the process of a session; null: there is none. */
  constructor(workerOf: (sessionId: string) => Pick<Worker, 'post'> | null, log: Logger) {
    this.#workerOf = workerOf
    this.#log = log
  }

  /** See `MediaEngine.tap`. */
  source(sessionId: string): FrameSource {
    return {
      subscribe: (sink) => {
        const tapped = this.#tapOf(sessionId)
        tapped.listeners += 1
        const stop = tapped.hub.subscribe(sink)
        let isStopped = false
        return () => {
          if (isStopped) return
          isStopped = true
          stop()
          tapped.listeners -= 1
          if (tapped.listeners === 0) this.#untap(sessionId, tapped)
        }
      },
    }
  }

  /** Media of a publisher arrived. */
  received(message: Media): void {
    const hub = this.#taps.get(message.sessionId)?.hub
    if (message.kind === 'tracks') hub?.tracks(message.tracks)
    else if (message.kind === 'frame') hub?.frame(message.frame)
    else hub?.end()
  }

  /** The session has ended. */
  end(sessionId: string): void {
    this.#taps.get(sessionId)?.hub.end()
    this.#taps.delete(sessionId)
  }

  #tapOf(sessionId: string): Tapped {
    const present = this.#taps.get(sessionId)
    if (present !== undefined) return present
    const tapped: Tapped = { hub: new Hub({ log: this.#log }), listeners: 0 }
    const worker = this.#workerOf(sessionId)
    if (worker === null) {
      tapped.hub.end()
      return tapped
    }
    this.#taps.set(sessionId, tapped)
    worker.post({ kind: 'tap', sessionId })
    return tapped
  }

  #untap(sessionId: string, tapped: Tapped): void {
    if (this.#taps.get(sessionId) !== tapped) return
    this.#taps.delete(sessionId)
    this.#workerOf(sessionId)?.post({ kind: 'untap', sessionId })
  }
}
