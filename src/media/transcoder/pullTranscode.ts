import { withoutSource } from '../../base/withoutSource.ts'
import type { Clock } from '../../base/clock.ts'
import type { MeterReading } from '../../core/channels/runs/measured.ts'
import type { Reached, ReachSource, TranscodeJob } from '../../core/channels/runs/transcoder.ts'
import { lastLine } from '../ffmpeg/exits.ts'
import { type Encoding, NO_VIDEO, STOP_GRACE_MS } from './encoding.ts'

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
    // The source has no audio, so the next try does not map it.
    if (!seen && this.#hasAudio && /matches no streams/.test(tail)) this.#hasAudio = false
    this.#failures = seen ? 1 : this.#failures + 1
    this.#warnOnce(seen ? '' : this.#reasonIn(tail))
  }

  #reasonIn(tail: string): string {
    return lacksVideo(tail) ? NO_VIDEO : noAnswer(withoutSource(lastLine(tail), this.#source.url))
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
      const process = this.#encoding.run({ hasAudio: this.#hasAudio, pull: { reached, onFrames } })
      if (process === null) return null
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
