import type { RestingSource } from '../../frame.ts'
import { framePipe } from './framePipe.ts'
import type { ToRelay } from './messages.ts'

export interface FeedPipeOptions {
  readonly sessionId: string
  readonly source: RestingSource
  /** `sent` is called when the message has left. */
  readonly post: (message: ToRelay, sent?: () => void) => void
}

/**
 * Sends a feed to a relay process: always its tracks, so that the process can answer viewers, and its frames while they are
 * wanted.
 */
export class FeedPipe {
  readonly #options: FeedPipeOptions
  #stopTracks = (): void => undefined
  #stopFrames: (() => void) | null = null
  #isOver = false

  constructor(options: FeedPipeOptions) {
    this.#options = options
  }

  /** The process knows the feed now: sends the tracks. */
  open(): void {
    const { source, sessionId, post } = this.#options
    this.#stopTracks = source.announce((tracks) => {
      // While frames flow, their own tracks come with them.
      if (this.#stopFrames === null) post({ kind: 'tracks', sessionId, tracks })
    })
  }

  want(isWanted: boolean): void {
    const { source, sessionId, post } = this.#options
    if (this.#isOver || isWanted === (this.#stopFrames !== null)) return
    if (isWanted) {
      this.#stopFrames = source.subscribe(framePipe(sessionId, post))
    } else {
      this.#stopFrames?.()
      this.#stopFrames = null
      post({ kind: 'rest', sessionId })
    }
  }

  stop(): void {
    this.#isOver = true
    this.#stopTracks()
    this.#stopFrames?.()
  }
}
