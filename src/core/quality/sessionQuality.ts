import { HOUR_MS } from '../../base/time.ts'
import type { Cmcd } from './cmcd.ts'
import {
  addQuality,
  bucketOf,
  noQuality,
  type PackedQuality,
  packQuality,
  type Quality,
  raise,
  unpackQuality,
} from './figures.ts'
import { clampReport, heightOf, type PlayerReport } from './playerReport.ts'

/** Hours of one session that the store has by themselves. Those before are in the rows of the audience, and here one sum. */
const HOURS_KEPT = 3
/** In place of the hour of that sum: no hour that is measured. */
const EARLIER = 0
/** A session may report this often: one report in 15 seconds, and some more for pages that are hidden and shown. */
const REPORT_EVERY_MS = 15_000
const REPORTS_BEYOND = 5
/** A player that follows the live edge asks for six parts and playlists a second, and for more when it begins. */
const CMCD_EVERY_MS = 50
const CMCD_BEYOND = 100

/** When something was reported. */
export interface ReportMoment {
  readonly nowMs: number
  /** Of the session. */
  readonly ageMs: number
}

const NOTHING: PlayerReport = { n: 0, played: 0, stalls: 0, stalled: 0, frames: 0, dropped: 0, switches: 0 }

/**
 * What the player of one session reported, by hour. Reports are sums, each with a number: one that is older than the last counts
 * nothing, and of a newer one counts what it has more.
 */
export class SessionQuality {
  readonly #hours = new Map<number, Quality>()
  #earlier: Quality | null = null
  #last: PlayerReport = NOTHING
  #offered = 0
  #observed = 0
  /** `waiting`: the player had no picture with its last request. */
  #start: 'unknown' | 'waiting' | 'over' = 'unknown'

  /** Counts a report that was sent, before it is read. False: the session reports too often. */
  mayReport({ ageMs }: ReportMoment): boolean {
    if (this.#offered >= REPORTS_BEYOND + ageMs / REPORT_EVERY_MS) return false
    this.#offered += 1
    return true
  }

  /** Takes a report. False: it is not newer than the last one. */
  report(given: PlayerReport, moment: ReportMoment): boolean {
    const last = this.#last
    if (given.n <= last.n) return false
    const now = risen(last, clampReport(given, moment.ageMs))
    this.#last = now
    const quality = this.#at(moment.nowMs)
    const { sums } = quality
    if (last.n === 0) sums.players += 1
    addStart(quality, last, now)
    sums.playedMs += now.played - last.played
    sums.stalls += now.stalls - last.stalls
    sums.stalledMs += now.stalled - last.stalled
    sums.frames += now.frames - last.frames
    sums.dropped += now.dropped - last.dropped
    sums.switches += now.switches - last.switches
    if (given.height !== undefined && now.played > last.played)
      raise(quality.heights, heightOf(given.height), now.played - last.played)
    if (now.behind !== undefined) {
      sums.behindMs += now.behind
      sums.behindReports += 1
    }
    return true
  }

  /** Takes what a request says, unless there are more of them than a player has. */
  observe({ isStarved, isUrgent, bufferMs, kbps }: Cmcd, { nowMs, ageMs }: ReportMoment): void {
    if (this.#observed >= CMCD_BEYOND + ageMs / CMCD_EVERY_MS) return
    const { sums } = this.#at(nowMs)
    if (this.#observed === 0) sums.cmcdPlayers += 1
    this.#observed += 1
    if (isStarved) sums.starved += 1
    if (bufferMs !== null) {
      sums.bufferMs += bufferMs
      sums.bufferReports += 1
    }
    if (kbps !== null) {
      sums.kbps += kbps
      sums.kbpsReports += 1
    }
    if (isUrgent && this.#start === 'unknown') this.#start = 'waiting'
    else if (!isUrgent && this.#start === 'waiting') {
      this.#start = 'over'
      sums.cmcdStarts += 1
      sums.cmcdStartMs += ageMs
    }
  }

  /** The session ended at this time: what was counted in a later hour belongs to the hour of its end. */
  endedAt(ms: number): void {
    const lastMs = hourOf(ms)
    for (const [hourMs, quality] of this.#hours) {
      if (hourMs <= lastMs) continue
      this.#hours.delete(hourMs)
      addQuality(this.#at(ms), quality)
    }
  }

  /** As the store has it. */
  toText(): string {
    const earlier = this.#earlier === null ? [] : [[EARLIER, this.#earlier] as const]
    return JSON.stringify([...earlier, ...this.#hours].map(([hourMs, quality]) => [hourMs, packQuality(quality)]))
  }

  #at(ms: number): Quality {
    const hourMs = hourOf(ms)
    const found = this.#hours.get(hourMs)
    if (found !== undefined) return found
    const made = noQuality()
    this.#hours.set(hourMs, made)
    const [oldest] = [...this.#hours].toSorted(([a], [b]) => a - b)
    if (this.#hours.size > HOURS_KEPT && oldest !== undefined) {
      this.#hours.delete(oldest[0])
      addQuality((this.#earlier ??= noQuality()), oldest[1])
    }
    return made
  }
}

const hourOf = (ms: number): number => ms - (ms % HOUR_MS)

const NO_HOURS: ReadonlyMap<number, Quality> = new Map()

/** What the store has of a session, by hour; what is before them under a time of its own. */
export function qualityByHour(text: string | null): ReadonlyMap<number, Quality> {
  if (text === null) return NO_HOURS
  const hours = JSON.parse(text) as readonly (readonly [number, PackedQuality])[]
  return new Map(hours.map(([hourMs, packed]) => [hourMs, unpackQuality(packed)]))
}

function addStart({ sums, startTimes, failures }: Quality, last: PlayerReport, now: PlayerReport): void {
  if (last.start === undefined && now.start !== undefined) {
    sums.starts += 1
    sums.startMs += now.start
    raise(startTimes, bucketOf(now.start), 1)
  }
  if (last.failed === undefined && now.failed !== undefined) raise(failures, now.failed, 1)
}

/** No sum falls, and what was said of the start stays: a session starts once, or fails to. */
function risen(last: PlayerReport, now: PlayerReport): PlayerReport {
  const failed = last.failed ?? (last.start === undefined && now.start === undefined ? now.failed : undefined)
  const start = last.start ?? (failed === undefined ? now.start : undefined)
  return {
    n: now.n,
    ...(start === undefined ? {} : { start }),
    ...(failed === undefined ? {} : { failed }),
    ...(now.behind === undefined ? {} : { behind: now.behind }),
    played: Math.max(last.played, now.played),
    stalls: Math.max(last.stalls, now.stalls),
    stalled: Math.max(last.stalled, now.stalled),
    frames: Math.max(last.frames, now.frames),
    dropped: Math.max(last.dropped, now.dropped),
    switches: Math.max(last.switches, now.switches),
  }
}
