import { withoutSource } from '../../base/withoutSource.ts'
import type { Clock } from '../../base/clock.ts'
import type { MeterReading } from '../../core/channels/runs/measured.ts'
import type { Reached, ReachSource, TranscodeJob } from '../../core/channels/runs/transcoder.ts'
import { lastLine } from '../ffmpeg/exits.ts'
import { type Encoding, NOTHING_TO_PLAY, STOP_GRACE_MS } from './encoding.ts'

/** Sluice dials a source again after 1 s, 2 s, 4 s …, and after this long at most. */
const DIAL_PAUSE_MAX_MS = 15_000

export interface PullTools {
  readonly clock: Clock
  readonly reach: ReachSource
  readonly meter: MeterReading
}

/** How a pulled source ended. */
interface Pulled {
  /** Media arrived. */
  readonly seen: boolean
  /** Sluice ended the process, to make other renditions. */
  readonly restarts: boolean
  /** The last output of ffmpeg. */
  readonly tail: string
}

/** Dials the source of an engine, and encodes what it sends. */
export class PullTranscode {
  readonly #source: Extract<TranscodeJob['source'], { kind: 'pull' }>
  readonly #encoding: Encoding
  readonly #tools: PullTools
  readonly #signal: AbortSignal
  #failures = 0
  /** What the next process maps; ffmpeg fails for a track that the source lacks. */
  #hasVideo = true
  #hasAudio = true
  #logged = ''

  constructor(
    source: Extract<TranscodeJob['source'], { kind: 'pull' }>,
    encoding: Encoding,
    tools: PullTools,
    signal: AbortSignal,
  ) {
    this.#source = source
    this.#encoding = encoding
    this.#tools = tools
    this.#signal = signal
  }

  /** Dials the source until it answers, and again when it is lost. Resolves when the engine stops, or cannot go on. */
  async run(): Promise<void> {
    const { url } = this.#source
    while (!this.#signal.aborted) {
      const reached = await this.#tools.reach(url, this.#failures, this.#signal)
      if (this.#signal.aborted) return void (reached.ok && reached.value.close())
      if (!reached.ok && reached.error.isForbidden) {
        return this.#encoding.broken(withoutSource(reached.error.message, url))
      }
      const pulled = reached.ok
        ? await this.#pull(reached.value)
        : { seen: false, restarts: false, tail: reached.error.message }
      if (pulled === null) return
      if (pulled.restarts) continue
      this.#noteEnd(pulled)
      const pauseMs = Math.min(DIAL_PAUSE_MAX_MS, 1000 * 2 ** Math.min(this.#failures - 1, 4))
      await this.#encoding.pauseUntilMs(this.#tools.clock.monotonic() + pauseMs)
    }
  }

  #noteEnd({ seen, tail }: Pulled): void {
    if (seen) this.#encoding.sourceIsLost()
    const lacks = seen ? null : this.#leaveOut(tail)
    this.#failures = seen ? 1 : this.#failures + 1
    this.#warnOnce(seen || lacks === 'a track' ? '' : (lacks ?? this.#noAnswer(tail)))
    if (seen || lacks === NOTHING_TO_PLAY) [this.#hasVideo, this.#hasAudio] = [true, true]
  }

  /** The next process does not map the track that the source lacks. Null: it lacks none. Otherwise why nothing is left. */
  #leaveOut(tail: string): 'a track' | typeof NOTHING_TO_PLAY | null {
    if (!/matches no streams/.test(tail)) return null
    if (lacksVideo(tail)) this.#hasVideo = false
    else this.#hasAudio = false
    const isLeft = this.#hasVideo || (this.#hasAudio && this.#encoding.makesAudio)
    return isLeft ? 'a track' : NOTHING_TO_PLAY
  }

  #noAnswer(tail: string): string {
    return noAnswer(withoutSource(lastLine(tail), this.#source.url))
  }

  /** Logs a repeated reason only once. */
  #warnOnce(reason: string): void {
    if (reason !== '' && reason !== this.#logged) this.#encoding.log('warn', reason)
    this.#logged = reason
  }

  /** Encodes a pulled source until it ends. Null: ffmpeg could not be started, and that was reported. */
  async #pull(reached: Reached): Promise<Pulled | null> {
    let seen = false
    let gone = (): void => undefined
    try {
      const onFrames = (): void => {
        if (!seen && process) {
          this.#encoding.log('info', 'The source answers')
          gone = this.#tools.meter.connected(this.#source.ingestId, null).ended
          this.#encoding.sourceIsThere()
        }
        seen = true
      }
      const encoder = this.#encoding.run({
        hasVideo: this.#hasVideo,
        hasAudio: this.#hasAudio,
        refusesCopy: 'Sluice does not see the frames of a source that it pulls',
        pull: { reached, onFrames },
      })
      if (encoder === null) return null
      const { process } = encoder
      let restarts = false
      this.#encoding.restart = () => {
        restarts = true
        void process.stop(STOP_GRACE_MS)
      }
      const { tail } = await process.exited
      return { seen, restarts, tail }
    } finally {
      gone()
      reached.close()
    }
  }
}

/** ffmpeg's message when the source has no video for the renditions. */
const lacksVideo = (tail: string): boolean => /:v:0' in filtergraph.*matches no streams/.test(tail)

const noAnswer = (why: string): string =>
  `The source does not answer; it is dialled again at least every ${DIAL_PAUSE_MAX_MS / 1000} s: ${why}`
