import { type Clock, pause } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Rung } from '../../core/channels/runs/rungs.ts'
import type { UploadedSlate } from '../../core/channels/runs/transcoder.ts'
import type { Ffmpeg } from '../ffmpeg/ffmpeg.ts'
import type { ChannelStream } from '../hls/channelStream.ts'
import { encodeSlate } from './encode.ts'
import { LoopPlayer, type SlateLoop } from './loop.ts'

export interface SlateShowOptions {
  readonly ffmpeg: Ffmpeg
  readonly clock: Clock
  readonly log: Logger
  /** What viewers of the engine get. */
  readonly stream: ChannelStream
  readonly engineId: string
  /** All renditions of the ladder. */
  readonly rungs: readonly Rung[]
  readonly audioKbps: number | null
  /** The index of the rendition with the audio alone; null: there is none. */
  readonly audioOnly: number | null
  /** The working folder of the engine. */
  readonly folder: string
  /** Reads a slate by its id. Null: it is gone. */
  readonly load: (slateId: string) => Promise<UploadedSlate | null>
}

/** A viewer who has requested no playlist for this long is gone. A paused player continues without a wait. */
const IDLE_MS = 30_000
/**
 * A publisher that comes back within this time continues the broadcast. Requests for the next part, which wait for 6 s, get
 * the slate.
 */
const RECONNECT_MS = 4000
/** Frames come in groups of this length. The parts of a stream are longer. */
const STEP_MS = 100
/** A slate begins in the past, so that players without parts find three segments at once. */
const BEGIN_BEFORE_MS = 6300
/** After a broadcast, one segment: viewers who wait for what follows stay near the end of the stream. */
const FOLLOW_BEFORE_MS = 2300
/** So long after a broadcast its viewers have left. */
const WATCHED_MS = 30_000
/** How long the rules of playback may still name a slate that is deleted. */
const FORGOTTEN_MS = 1000
/** After a failure Sluice tries again after 1 s, 2 s, 4 s …, and after this long at most. */
const RETRY_MAX_MS = 30_000

/**
 * Shows the slate of a channel in the stream of one of its engines: while there are viewers and no broadcast. It is
 * encoded once, when it is needed; then its frames play again and again without a process.
 */
export class SlateShow {
  readonly #options: SlateShowOptions
  readonly #stopping = new AbortController()
  #slateId: string | null = null
  #viewedAtMs = Number.NEGATIVE_INFINITY
  #work: Promise<void> | null = null
  #failures = 0
  #retryAtMs = Number.NEGATIVE_INFINITY

  constructor(options: SlateShowOptions) {
    this.#options = options
  }

  /** A viewer requests a playlist, of a channel that has this slate. Null: it has none. */
  viewed(slateId: string | null): void {
    this.#slateId = slateId
    this.#viewedAtMs = this.#options.clock.monotonic()
    this.#begin()
  }

  #begin(): void {
    const slateId = this.#slateId
    if (this.#work !== null || this.#options.clock.monotonic() < this.#retryAtMs || !this.#isWanted(slateId)) return
    this.#work = this.#run(slateId)
      .catch((error: unknown) => this.#failed(String(error)))
      .then(() => {
        this.#work = null
        // The channel may have got another slate.
        this.#begin()
      })
  }

  /** Resolves when nothing of it runs. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#work
  }

  /** Whether this slate should show: a viewer wants to see it, and there is no broadcast. */
  #isWanted(slateId: string | null): slateId is string {
    const { clock, stream } = this.#options
    if (slateId === null || slateId !== this.#slateId || this.#stopping.signal.aborted) return false
    return stream.silentMs !== null && clock.monotonic() - this.#viewedAtMs < IDLE_MS
  }

  async #run(slateId: string): Promise<void> {
    const { stream } = this.#options
    const loop = await this.#encoded(slateId)
    if (loop === null) return
    while (this.#isWanted(slateId) && (stream.silentMs ?? 0) < RECONNECT_MS) await this.#pause()
    if (this.#isWanted(slateId)) await this.#play(slateId, loop)
  }

  async #encoded(slateId: string): Promise<SlateLoop | null> {
    const { load, engineId, ...options } = this.#options
    const slate = await load(slateId)
    if (slate === null) {
      // The channel has another slate, or none. Viewers say which in a moment.
      this.#retryAtMs = options.clock.monotonic() + FORGOTTEN_MS
      return null
    }
    const { signal } = this.#stopping
    const made = await encodeSlate({ ...options, ...slate, name: `slate of engine ${engineId}`, signal })
    if (made.ok) this.#failures = 0
    else this.#failed(made.error)
    return made.ok ? made.value : null
  }

  async #play(slateId: string, loop: SlateLoop): Promise<void> {
    const { clock, stream, rungs, audioKbps, audioOnly } = this.#options
    const run = { rungs, audio: (audioKbps ?? 0) * 1000, audioOnly }
    const beforeMs = (stream.silentMs ?? 0) < WATCHED_MS ? FOLLOW_BEFORE_MS : BEGIN_BEFORE_MS
    const { sinks, startMs, isOver } = stream.beginSlate(run, beforeMs)
    const offsetMs = clock.now() - clock.monotonic()
    const player = new LoopPlayer(loop, sinks, startMs * 1000)
    while (!isOver() && this.#isWanted(slateId)) {
      player.until((offsetMs + clock.monotonic()) * 1000)
      await this.#pause()
    }
    if (!isOver()) stream.endSlate()
  }

  #pause(): Promise<void> {
    return pause(this.#options.clock, STEP_MS, this.#stopping.signal)
  }

  #failed(reason: string): void {
    const { clock, log, engineId } = this.#options
    if (this.#stopping.signal.aborted) return
    this.#retryAtMs = clock.monotonic() + Math.min(RETRY_MAX_MS, 1000 * 2 ** this.#failures)
    this.#failures += 1
    log.warn({ engine: engineId, problem: reason }, 'the slate of a channel could not be shown')
  }
}
