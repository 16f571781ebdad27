import type { Logger } from '../base/log.ts'
import { coded, type Said, say } from '../core/notices.ts'

/** The most sentences about one publisher in the log. */
const SENTENCES_MAX = 16

/** What is left out of a broadcast, or mended in it, while the rest goes on. */
export class PublisherProblems {
  #latest: string | null = null
  readonly #log: Pick<Logger, 'warn'>
  readonly #peer: string | undefined
  readonly #logged = new Set<string>()

  constructor(log: Pick<Logger, 'warn'>, peer: string | undefined) {
    this.#log = log
    this.#peer = peer
  }

  /** Why a publisher of whom nothing can be taken is cut. */
  get silence(): Said {
    if (this.#latest === null) return say(coded('publisher_silent'))
    return say(coded('publisher_silent_because'), coded('text', { text: this.#latest }))
  }

  /** Writes each sentence into the log once. */
  note(description: string): void {
    this.#latest = description
    if (this.#logged.has(description) || this.#logged.size === SENTENCES_MAX) return
    this.#logged.add(description)
    const fields = { peer: this.#peer, description }
    this.#log.warn(fields, 'a publisher sends what cannot be taken; the rest goes on')
  }
}
