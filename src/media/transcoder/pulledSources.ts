import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { repeat, type Repetition } from '../../base/repeat.ts'
import type { MeterReading } from '../../core/channels/runs/measured.ts'
import type { TranscodeJob } from '../../core/channels/runs/transcoder.ts'
import { coded, type Said, say, sentencesOf } from '../../core/notices.ts'
import { type AttemptEvent, TargetDriver } from '../../core/restream/driver.ts'
import { REFUSALS_MAX, SOURCE_PAUSE_MAX_MS, type TargetState } from '../../core/restream/state.ts'
import type { FrameSource } from '../frame.ts'
import { Hub } from '../hub.ts'
import type { DialSource } from '../pulling.ts'
import { SourceAttempt, type SourceReceiver } from '../sourceAttempt.ts'

const TICK_MS = 1000

export interface PullTools {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly dial: DialSource
  readonly meter: MeterReading
}

type Pulled = Extract<TranscodeJob['source'], { kind: 'pull' }> & Pick<TranscodeJob, 'accountId' | 'audio'>

/** What an engine hears of a source that Sluice dials. Each sentence is without secrets. */
export interface SourceListener {
  /** Media comes, as of a publisher. */
  readonly media: (media: FrameSource) => void
  /** There is no media, for a reason that was not told since there was some. The source is dialled again. */
  readonly missing: (why: Said) => void
  /** The source is not dialled any more, and the engine has left it. */
  readonly givenUp: (why: Said) => void
  /** Something is left out or mended, each told once. */
  readonly leftOut: (what: string) => void
}

/**
 * The sources that Sluice dials for engines. Engines of one ingest share its connection, because cameras serve few clients: it
 * begins with the first of them and ends with the last.
 */
export class PulledSources {
  readonly #tools: PullTools
  readonly #sources = new Map<string, SharedSource>()

  constructor(tools: PullTools) {
    this.#tools = tools
  }

  /** Dials a source, or joins those who have it. Returns the function that leaves it. */
  watch(pulled: Pulled, listener: SourceListener): () => void {
    const key = `${pulled.ingestId} ${pulled.url}`
    const source = this.#sources.get(key) ?? new SharedSource(this.#tools, pulled, () => void this.#sources.delete(key))
    this.#sources.set(key, source)
    source.join(listener)
    return () => source.leave(listener)
  }
}

/** One source, and the engines that take it. */
class SharedSource {
  readonly #tools: PullTools
  readonly #pulled: Pulled
  readonly #over: () => void
  readonly #listeners = new Set<SourceListener>()
  readonly #driver: TargetDriver<SourceAttempt>
  readonly #ticking: Repetition
  readonly #leftOut = new Set<string>()
  #media: FrameSource | null = null
  /** The reason that was told since there was media; null: none. */
  #missing: Said | null = null

  /** @param over it is not dialled any more */
  constructor(tools: PullTools, pulled: Pulled, over: () => void) {
    this.#tools = tools
    this.#pulled = pulled
    this.#over = over
    this.#driver = new TargetDriver({
      ...tools,
      pauseMaxMs: SOURCE_PAUSE_MAX_MS,
      open: (report) => this.#open(report),
      recorded: (state) => this.#recorded(state),
    })
    this.#ticking = repeat(
      { ...tools, name: 'look after the source of an ingest', everyMs: TICK_MS, pausesFirst: true },
      async () => this.#driver.tick(),
    )
  }

  join(listener: SourceListener): void {
    this.#listeners.add(listener)
    for (const what of this.#leftOut) listener.leftOut(what)
    if (this.#media !== null) listener.media(this.#media)
    else if (this.#missing !== null) listener.missing(this.#missing)
    this.#driver.handle({ kind: 'start' })
  }

  /** Idempotent. */
  leave(listener: SourceListener): void {
    if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return
    this.#driver.handle({ kind: 'stop' })
    this.#end()
  }

  #giveUp(why: Said): void {
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    this.#end()
    for (const { givenUp } of listeners) givenUp(why)
  }

  #end(): void {
    void this.#ticking.stop()
    this.#over()
  }

  #tell(what: (listener: SourceListener) => void): void {
    for (const listener of this.#listeners) what(listener)
  }

  #recorded({ status, problem }: TargetState): void {
    const said = problem === null ? [] : sentencesOf(problem)
    if (status === 'live') this.#missing = null
    if (status === 'refused') this.#giveUp(say(coded('source_given_up', { times: REFUSALS_MAX }), ...said))
    if (status !== 'waiting') return
    const why = say(coded('source_silent', { seconds: SOURCE_PAUSE_MAX_MS / 1000 }), ...said)
    if (why.message === this.#missing?.message) return
    this.#missing = why
    this.#tell(({ missing }) => missing(why))
  }

  #open(report: (event: AttemptEvent) => void): SourceAttempt {
    const { log, dial } = this.#tools
    const { accountId, ingestId, url, audio } = this.#pulled
    return new SourceAttempt({
      log,
      name: `ingest ${ingestId}`,
      accountId,
      dial: (signal) => dial(new URL(url), signal),
      audioNumbers: audio.map(({ pid }) => pid),
      admit: async (peer) => ({ ok: true, value: this.#receive(peer) }),
      leftOut: (what) => this.#note(what),
      // A source may be mended without a word to us.
      report: (event) => report(event.kind === 'unsuitable' ? { ...event, kind: 'lost' } : event),
    })
  }

  #receive(peer: string): SourceReceiver {
    const hub = new Hub(this.#tools)
    let metered: ReturnType<MeterReading['connected']> | null = null
    return {
      sink: {
        tracks: (tracks) => {
          hub.tracks(tracks)
          if (metered !== null) return
          metered = this.#tools.meter.connected(this.#pulled.ingestId, peer)
          this.#media = hub
          this.#tell(({ media }) => media(hub))
        },
        frame: (frame) => hub.frame(frame),
      },
      received: (bytes, link) => metered?.received(bytes, link),
      ended: () => {
        this.#media = null
        hub.end()
        metered?.ended()
      },
    }
  }

  #note(what: string): void {
    if (this.#leftOut.has(what)) return
    this.#leftOut.add(what)
    this.#tell(({ leftOut }) => leftOut(what))
  }
}
