import type { Frame, FrameSink, TrackInfo } from './frame.ts'

/** No source has cached more. Times further back are of another clock. */
const CACHED_MAX_US = 10_000_000

/**
 * Joins the media of sources that follow one another. A conversion that others have begun starts with what it has cached, whose
 * times were sent already: it goes on with the first keyframe after those.
 */
export class Continuation implements FrameSink {
  readonly #sink: FrameSink
  #hasVideo = false
  /** Of the video, or of audio without video. */
  #latestUs = Number.NEGATIVE_INFINITY
  #isWaiting = false

  constructor(sink: FrameSink) {
    this.#sink = sink
  }

  /** What comes next is of another source. */
  change(): void {
    this.#isWaiting = true
  }

  tracks(tracks: readonly TrackInfo[]): void {
    this.#hasVideo = tracks.some(({ kind }) => kind === 'video')
    this.#sink.tracks(tracks)
  }

  frame(frame: Frame): void {
    if (this.#isWaiting && !this.#goesOn(frame)) return
    this.#isWaiting = false
    if (this.#leads(frame)) this.#latestUs = frame.decodeTimeUs
    this.#sink.frame(frame)
  }

  end(): void {
    this.#sink.end()
  }

  #goesOn(frame: Frame): boolean {
    const laterUs = frame.decodeTimeUs - this.#latestUs
    return this.#leads(frame) && frame.key && (laterUs > 0 || laterUs < -CACHED_MAX_US)
  }

  #leads({ kind }: Frame): boolean {
    return kind === 'video' || !this.#hasVideo
  }
}
