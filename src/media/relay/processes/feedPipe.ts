import type { RestingSource } from '../../frame.ts'
import { framePipe } from './framePipe.ts'
import type { ToRelay } from './messages.ts'

export interface FeedPipeOptions {
  readonly sessionId: string
  readonly source: RestingSource
  /** `sent` is called when the message has left. */
  readonly tell: (message: ToRelay, sent?: () => void) => void
}

/**
 * A feed on its way to a relay process: its tracks always, so that viewers can be answered; its frames while they are
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

  /** The process knows of the feed now. */
  open(): void {
    const { source, sessionId, tell } = this.#options
    this.#stopTracks = source.announce((tracks) => {
      // While frames flow, their own tracks come with them.
      if (this.#stopFrames === null) tell({ kind: 'tracks', sessionId, tracks })
    })
  }

  want(isWanted: boolean): void {
    const { source, sessionId, tell } = this.#options
    if (this.#isOver || isWanted === (this.#stopFrames !== null)) return
    if (isWanted) {
      this.#stopFrames = source.subscribe(framePipe(sessionId, tell))
    } else {
      this.#stopFrames?.()
      this.#stopFrames = null
      tell({ kind: 'rest', sessionId })
    }
  }

  stop(): void {
    this.#isOver = true
    this.#stopTracks()
    this.#stopFrames?.()
  }
}
