import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import { repeat } from '../../base/repeat.ts'
import type { MeteredConnection, MeterReading } from '../../core/channels/runs/measured.ts'
import type { TranscodeJob } from '../../core/channels/runs/transcoder.ts'
import { Hub } from '../hub.ts'
import type { DialledSource, DialSource, PulledSource, PullProblem } from '../pulling.ts'
import type { Encoding } from './encoding.ts'
import type { PushTranscode } from './pushTranscode.ts'

/** Sluice dials a source again after 1 s, 2 s, 4 s …, and after this long at most. */
const DIAL_PAUSE_MAX_MS = 15_000
/** Cameras lock out users after several wrong passwords. */
const REFUSALS_MAX = 3
const TICK_MS = 1000

export interface PullTools {
  readonly clock: Clock
  readonly log: Logger
  readonly dial: DialSource
  readonly meter: MeterReading
}

export interface PullTranscodeParts {
  readonly source: Extract<TranscodeJob['source'], { kind: 'pull' }>
  readonly name: string
  readonly encoding: Encoding
  /** Takes the media of each connection, as of a publisher. */
  readonly pushed: PushTranscode
  readonly tools: PullTools
  /** Aborted when the engine stops. */
  readonly signal: AbortSignal
}

/** How an attempt ended. Null: the engine stops. */
type End = (PullProblem & { readonly hadMedia: boolean }) | null

/** Dials the source of an engine, and has what it sends encoded. */
export class PullTranscode {
  readonly #parts: PullTranscodeParts
  /** Since media last came. */
  #failures = 0
  #refusals = 0
  #logged = ''
  readonly #noted = new Set<string>()

  constructor(parts: PullTranscodeParts) {
    this.#parts = parts
  }

  /** Dials the source until it answers, and again when it is lost. Resolves when the engine stops, or cannot go on. */
  async run(): Promise<void> {
    const { signal, encoding, tools, pushed } = this.#parts
    while (!signal.aborted) {
      const end = await this.#attempt()
      if (end === null) return
      this.#count(end)
      if (this.#refusals >= REFUSALS_MAX) return encoding.broken(givenUp(end.message), true)
      const pauseMs = Math.min(DIAL_PAUSE_MAX_MS, 1000 * 2 ** Math.min(this.#failures - 1, 4))
      const nextMs = tools.clock.monotonic() + pauseMs
      // What was encoded is reported as lost first.
      await pushed.done
      this.#warnOnce(noAnswer(end.message))
      await encoding.pauseUntilMs(nextMs)
    }
  }

  #count({ kind, hadMedia }: NonNullable<End>): void {
    if (hadMedia) [this.#failures, this.#refusals, this.#logged] = [0, 0, '']
    this.#failures += 1
    if (kind === 'refused') this.#refusals += 1
  }

  async #attempt(): Promise<End> {
    const { source, tools, signal } = this.#parts
    const dialled = await tools.dial(new URL(source.url), signal)
    if (signal.aborted) {
      if (dialled.ok) dialled.value.close()
      return null
    }
    return dialled.ok ? this.#take(dialled.value) : { kind: 'lost', message: dialled.error, hadMedia: false }
  }

  /** Takes the media of a source until it ends. */
  async #take(dialled: DialledSource): Promise<End> {
    const { name, signal, pushed } = this.#parts
    const { promise: ended, resolve } = Promise.withResolvers<PullProblem | null>()
    const stop = (): void => resolve(null)
    signal.addEventListener('abort', stop)
    const hub = new Hub()
    let metered: MeteredConnection | null = null
    const begin = (): MeteredConnection => {
      pushed.take(hub)
      return this.#parts.tools.meter.connected(this.#parts.source.ingestId, dialled.peer)
    }
    const source = await dialled.open({
      name,
      signal,
      sink: {
        tracks: (tracks) => {
          hub.tracks(tracks)
          metered ??= begin()
        },
        frame: (frame) => hub.frame(frame),
        end: () => undefined,
      },
      leftOut: (what) => this.#noteOnce(what),
      ended: resolve,
    })
    const problem = await this.#watch(source, ended, () => metered)
    signal.removeEventListener('abort', stop)
    hub.end()
    return problem && { ...problem, hadMedia: metered !== null }
  }

  async #watch(
    source: PulledSource,
    ended: Promise<PullProblem | null>,
    metered: () => MeteredConnection | null,
  ): Promise<PullProblem | null> {
    const ticking = repeat(
      { ...this.#parts.tools, name: 'look after the source of an engine', everyMs: TICK_MS, pausesFirst: true },
      async () => {
        source.tick()
        metered()?.received(source.bytesIn, source.link)
      },
    )
    try {
      if (!this.#parts.signal.aborted) await source.start()
      return await ended
    } finally {
      source.end()
      await ticking.stop()
      metered()?.ended()
    }
  }

  /** Logs a repeated reason only once. */
  #warnOnce(reason: string): void {
    if (reason !== this.#logged) this.#parts.encoding.log('warn', reason)
    this.#logged = reason
  }

  /** One of a few sentences. */
  #noteOnce(what: string): void {
    if (!this.#noted.has(what)) this.#parts.encoding.log('info', `Of the source: ${what}`)
    this.#noted.add(what)
  }
}

const noAnswer = (why: string): string =>
  `The source gives no media; it is dialled again at least every ${DIAL_PAUSE_MAX_MS / 1000} s: ${why}`

const givenUp = (why: string): string =>
  `Sluice does not dial the source any more, which has refused it ${REFUSALS_MAX} times; mend it, then start the channel again: ${why}`
