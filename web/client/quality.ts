import type { Environment } from './environment.ts'
import type { SluiceErrorCode } from './errors.ts'

const EVERY_MS = 60_000
/** A page that is hidden may never come back, and one that is hidden and shown again and again reports this often. */
const HIDDEN_EVERY_MS = 15_000

/** What a player counts by itself, since its session or its connection began. */
export interface Counted {
  readonly frames: number
  readonly dropped: number
  /** Of the picture; 0: there is none. */
  readonly height: number
  /** Null: not known. */
  readonly behindMs: number | null
  /** Stalls that the browser counts, beside those that are told. */
  readonly stalls: number
  readonly stalledMs: number
}

export const NOTHING_COUNTED: Counted = { frames: 0, dropped: 0, height: 0, behindMs: null, stalls: 0, stalledMs: 0 }

export interface QualityOptions {
  readonly environment: Environment
  readonly isOn: boolean
  /** When the user wanted to play, by `environment.now()`. */
  readonly wantedAtMs?: number | undefined
  /** Changes of the protocol that led here. */
  readonly switches?: number | undefined
  /** Called before each report. */
  readonly count: () => Counted
}

/** What time passes as. `starting`: until the first picture. */
type Mode = 'waiting' | 'starting' | 'playing' | 'stalled'

/** What the server takes as a reason; any other is `other`. */
const REASONS: Partial<Record<SluiceErrorCode, string>> = {
  not_connected: 'not_connected',
  connection_lost: 'connection_lost',
  ended_by_server: 'ended_by_server',
  no_answer: 'no_answer',
  unexpected_answer: 'not_playable',
  stopped: 'left',
}

/**
 * Measures how well a stream plays, and reports it to the server of the session: once a minute, and at the end. Sums begin with
 * each session. `waiting` becomes `starting` with an attempt, `playing` with a picture, and `stalled` when it stands still or its
 * session is over. A stall that began in one session ends in the next, which reports it.
 */
export class QualityReporter {
  readonly #options: QualityOptions
  #mode: Mode = 'waiting'
  #sinceMs = 0
  /** Where reports of the session go; null: there is none, or the server wants none. */
  #url: string | null = null
  #n = 0
  #sentAtMs = 0
  #start: number | null = null
  #played = 0
  #stalls = 0
  #stalled = 0
  #switches: number
  #cancel: () => void = () => undefined

  constructor(options: QualityOptions) {
    this.#options = options
    this.#switches = options.switches ?? 0
    if (options.wantedAtMs !== undefined) this.#become('starting', options.wantedAtMs)
  }

  /** Since when it tries to show a picture, by `environment.now()`; now, if it shows one or waits for the stream. */
  get wantedAtMs(): number {
    const isTrying = this.#mode === 'starting' || this.#mode === 'stalled'
    return isTrying ? this.#sinceMs : this.#options.environment.now()
  }

  /** Tries to play. Time counts from the first attempt, unless the stream was not there. */
  attempt(): void {
    if (this.#mode === 'waiting') this.#become('starting')
  }

  /** The stream has no publisher: the next attempt is a new start. */
  wait(): void {
    this.#become('waiting')
  }

  /** A session has begun, and takes reports at this address. One before is over. */
  session(url: string): void {
    this.#finish()
    if (!this.#options.isOn) return
    ;[this.#n, this.#start, this.#played, this.#stalled] = [0, null, 0, 0]
    this.#stalls = this.#mode === 'stalled' ? 1 : 0
    this.#url = url
    const unhide = this.#options.environment.onHide(() => this.#hidden())
    const again = (): (() => void) =>
      this.#options.environment.later(() => {
        this.#send()
        cancelTimer = again()
      }, EVERY_MS)
    let cancelTimer = again()
    this.#cancel = () => {
      cancelTimer()
      unhide()
    }
  }

  /** A picture is there, or moves again. */
  frame(): void {
    if (this.#mode === 'playing') return
    const passedMs = this.#become('playing')
    if (passedMs.mode === 'starting') this.#start = passedMs.ms
  }

  /** Pictures stand still. */
  stall(): void {
    if (this.#mode !== 'playing') return
    this.#become('stalled')
    this.#stalls += 1
  }

  /**
   * The session is over, with its last report.
   * @param isFinal it does not try again
   */
  closed(code: SluiceErrorCode, isFinal: boolean): void {
    this.#finish(this.#mode === 'starting' ? (REASONS[code] ?? 'other') : undefined)
    this.#switches = 0
    // The next session reports it, if there is one.
    if (this.#mode === 'playing') this.#become('stalled')
    if (isFinal || code === 'stream_not_published') this.wait()
  }

  /** The session is over, and another protocol is tried: this is no failure. */
  abandon(): void {
    this.#url = null
    this.#cancel()
  }

  #finish(failed?: string): void {
    this.#send(failed)
    this.#url = null
    this.#cancel()
  }

  #hidden(): void {
    if (this.#options.environment.now() - this.#sentAtMs >= HIDDEN_EVERY_MS) this.#send()
  }

  /** Adds the time since the last change to what it was. */
  #become(mode: Mode, nowMs = this.#options.environment.now()): { mode: Mode; ms: number } {
    const before = { mode: this.#mode, ms: Math.max(0, nowMs - this.#sinceMs) }
    if (before.mode === 'playing') this.#played += before.ms
    if (before.mode === 'stalled') this.#stalled += before.ms
    this.#mode = mode
    this.#sinceMs = nowMs
    return before
  }

  #send(failed?: string): void {
    const url = this.#url
    if (url === null) return
    const { environment, count } = this.#options
    this.#sentAtMs = environment.now()
    const sinceMs = this.#sentAtMs - this.#sinceMs
    const { frames, dropped, height, behindMs, stalls, stalledMs } = count()
    const played = this.#played + (this.#mode === 'playing' ? sinceMs : 0)
    const stalled = this.#stalled + (this.#mode === 'stalled' ? sinceMs : 0)
    this.#n += 1
    const report = {
      n: this.#n,
      ...(this.#start === null ? {} : { start: Math.round(this.#start) }),
      ...(failed === undefined ? {} : { failed }),
      played: Math.max(0, Math.round(played - stalledMs)),
      stalls: this.#stalls + stalls,
      stalled: Math.round(stalled + stalledMs),
      frames,
      dropped,
      switches: this.#switches,
      ...(height > 0 ? { height } : {}),
      ...(behindMs === null ? {} : { behind: Math.max(0, Math.round(behindMs)) }),
    }
    void this.#post(url, JSON.stringify(report))
  }

  /** Plain text needs no permission of the server before, and `keepalive` outlives the page. */
  async #post(url: string, body: string): Promise<void> {
    const headers = { 'Content-Type': 'text/plain' }
    const { fetch } = this.#options.environment
    const answer = await fetch(url, { method: 'POST', headers, body, keepalive: true }).catch(() => null)
    const isUnwanted = answer !== null && answer.status >= 400 && answer.status < 500 && answer.status !== 429
    if (isUnwanted && this.#url === url) this.#url = null
  }
}
