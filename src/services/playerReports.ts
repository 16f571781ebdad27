import { type Clock, dateSince, type Moment } from '../base/clock.ts'
import { type ReportMoment, SessionQuality } from '../core/quality/sessionQuality.ts'
import { type ViewerQuality, viewerQualityOf } from '../core/quality/viewerQuality.ts'
import type { ActiveSession } from '../media/sessionRegistry.ts'
import type { Store } from '../store/store.ts'

/** The last report of a player leaves when its session ends, and may arrive after the end. */
const LATE_MS = 30_000
/** Sessions that are over and may still report. */
const ENDED_MAX = 10_000
/** What an open session reported is written this often. */
const WRITE_EVERY_MS = 30_000
/** Sessions in one transaction. */
const AT_ONCE = 500

interface Reported {
  readonly quality: SessionQuality
  readonly began: Moment
  /** Null: it is open. */
  end: { readonly atMs: number; readonly forgetAtMs: number } | null
  isChanged: boolean
  writtenAtMs: number
}

/**
 * What the players of this node's viewers report: in memory by session, and written in batches. A session that never reports has
 * no entry while it is open.
 */
export class PlayerReports {
  readonly #clock: Clock
  readonly #isOn: () => boolean
  readonly #sessions = new Map<string, Reported>()
  /** Ids of those that are over, the oldest first. */
  readonly #ended = new Set<string>()

  /** @param isOn read at each report */
  constructor(clock: Clock, isOn: () => boolean) {
    this.#clock = clock
    this.#isOn = isOn
  }

  get isOn(): boolean {
    return this.#isOn()
  }

  /**
   * Passes on what a session reported so far.
   * @param open the session; undefined: it is not open here
   * @param take returns whether it changed something
   * @returns false: there is no such session, or it has been over for too long
   */
  with(
    sessionId: string,
    open: ActiveSession | undefined,
    take: (quality: SessionQuality, moment: ReportMoment) => boolean,
  ): boolean {
    const reported = this.#sessions.get(sessionId) ?? (open && this.#begin(open))
    if (reported === undefined) return false
    const nowMs = reported.end?.atMs ?? dateSince(reported.began, this.#clock)
    if (take(reported.quality, { nowMs, ageMs: Math.max(0, nowMs - reported.began.wallMs) })) reported.isChanged = true
    return true
  }

  /** What a session reported so far; null: nothing, or it has been over for too long. */
  of(sessionId: string): ViewerQuality | null {
    return viewerQualityOf(this.#sessions.get(sessionId)?.quality.toText() ?? null)
  }

  /** A viewer's session is over. Its player may report for half a minute more. */
  ended(entry: ActiveSession, atMs: number): void {
    const { id, action } = entry.session
    // One that reported before reports were switched off has to be forgotten, too.
    const reported = this.#sessions.get(id) ?? (action === 'view' && this.isOn ? this.#begin(entry) : undefined)
    if (reported === undefined) return
    reported.end = { atMs, forgetAtMs: this.#clock.monotonic() + LATE_MS }
    reported.quality.endedAt(atMs)
    this.#ended.add(id)
    const [oldest] = this.#ended
    if (this.#ended.size > ENDED_MAX && oldest !== undefined) this.#forget(oldest)
  }

  /** Writes what has its turn, of sessions that are over everything. Call it every few seconds. */
  async write(store: Store): Promise<void> {
    const nowMs = this.#clock.monotonic()
    const due = [...this.#sessions].filter(
      ([, { isChanged, end, writtenAtMs }]) => isChanged && (end !== null || nowMs - writtenAtMs >= WRITE_EVERY_MS),
    )
    for (let at = 0; at < due.length; at += AT_ONCE) await this.#writeSome(store, due.slice(at, at + AT_ONCE))
    for (const id of this.#ended) {
      const { end, isChanged } = this.#sessions.get(id) ?? { end: null, isChanged: false }
      if (!isChanged && (end?.forgetAtMs ?? 0) <= nowMs) this.#forget(id)
    }
  }

  async #writeSome(store: Store, due: readonly (readonly [string, Reported])[]): Promise<void> {
    const rows = due.map(([id, { quality }]) => ({ id, quality: quality.toText() }))
    for (const [, reported] of due) reported.isChanged = false
    try {
      await store.transaction((tx) => tx.sessions.report(rows))
      for (const [, reported] of due) reported.writtenAtMs = this.#clock.monotonic()
    } catch (error) {
      // They are sums, so writing them again changes nothing.
      for (const [, reported] of due) reported.isChanged = true
      throw error
    }
  }

  #begin({ session, admittedAtMs }: ActiveSession): Reported {
    const reported: Reported = {
      quality: new SessionQuality(),
      began: { wallMs: session.startedAtMs, monotonicMs: admittedAtMs },
      end: null,
      isChanged: false,
      writtenAtMs: Number.NEGATIVE_INFINITY,
    }
    this.#sessions.set(session.id, reported)
    return reported
  }

  #forget(id: string): void {
    this.#ended.delete(id)
    this.#sessions.delete(id)
  }
}
