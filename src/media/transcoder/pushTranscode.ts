import type { FrameSource, TrackInfo } from '../frame.ts'
import { exitReason } from '../ffmpeg/exits.ts'
import type { FfmpegProcess } from '../ffmpeg/ffmpeg.ts'
import { type Encoding, NO_VIDEO, STOP_GRACE_MS } from './encoding.ts'
import type { Fed } from './encoderWatch.ts'
import { type Parting, PushedInput } from './pushed.ts'

/** How long a process may take to encode the rest of a source; the next one waits for it. */
const DRAIN_MS = 5000
/** Successive sources start at most one process in this time. */
const START_EVERY_MS = 1000

/** Encodes what encoders push to an engine: one source at a time, the newest. */
export class PushTranscode {
  readonly #encoding: Encoding
  readonly #signal: AbortSignal
  #newest: FrameSource | null = null
  #leave = (): void => undefined
  #work: Promise<void> = Promise.resolve()

  constructor(encoding: Encoding, signal: AbortSignal) {
    this.#encoding = encoding
    this.#signal = signal
  }

  /** A new source replaces the old one, whose process ends first, because its output is continued. */
  take(media: FrameSource): void {
    this.#newest = media
    this.#leave()
    this.#work = this.#work
      .then(() => this.#push(media))
      .catch((error: unknown) => this.#encoding.broken(String(error)))
  }

  /** Gives up the source. */
  leave(): void {
    this.#leave()
  }

  /** Resolves when the work for all sources so far is done. */
  get done(): Promise<void> {
    return this.#work
  }

  /**
   * Encodes a source; again with a new process when its tracks or the renditions change. The source replays its cached
   * keyframe for each process.
   */
  async #push(media: FrameSource): Promise<void> {
    let parting: Parting = 'changed'
    while (parting === 'changed' || parting === 'restart') {
      await this.#encoding.pauseUntilMs(this.#encoding.startedAtMs + START_EVERY_MS)
      if (media !== this.#newest || this.#signal.aborted) return
      parting = await this.#feed(media)
    }
  }

  async #feed(media: FrameSource): Promise<Parting> {
    const { promise, resolve } = Promise.withResolvers<Parting>()
    this.#leave = () => resolve('over')
    this.#encoding.restart = () => resolve('restart')
    const pushed: PushedInput = new PushedInput({
      begin: (tracks) => this.#begin(tracks, () => pushed.fed),
      observe: (timeUs) => this.#encoding.observe(timeUs),
      noVideo: () => this.#encoding.sourceIsLost(NO_VIDEO),
      part: resolve,
    })
    const unsubscribe = media.subscribe(pushed)
    const parting = await promise
    unsubscribe()
    // A process that is too slow could not encode its backlog in time, so it gets less time to drain.
    const exit = await this.#encoding.stop(parting === 'restart' ? STOP_GRACE_MS : DRAIN_MS)
    if (parting === 'over') this.#encoding.sourceIsLost()
    if (parting === 'failed' && exit) this.#encoding.broken(exitReason(exit))
    return parting
  }

  /** Starts a process for a source. Null: it could not be started, and the failure was reported. */
  #begin(tracks: readonly TrackInfo[], fed: () => Fed): FfmpegProcess | null {
    const hasAudio = tracks.some(({ kind }) => kind === 'audio')
    const process = this.#encoding.run({ hasAudio, fed })
    if (process === null) return null
    this.#encoding.log('info', `The source has ${tracks.map(({ kind, codec }) => `${codec} ${kind}`).join(' and ')}`)
    this.#encoding.sourceIsThere()
    return process
  }
}
