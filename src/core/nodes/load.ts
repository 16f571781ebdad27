/** Why a node takes no new viewers: its slots for them are taken, its media processes are busy, or it sends as much as it may. */
export const FULL_REASONS = ['sessions', 'media', 'egress'] as const

export type FullReason = (typeof FULL_REASONS)[number]

/** From where on something is full, and below what it is free again. Between the two it stays what it is. */
export interface Mark {
  readonly full: number
  readonly free: number
  /** How long a value has to be beyond either before it counts, milliseconds. */
  readonly forMs: number
}

/** What the looks at a value have found. */
export interface MarkState {
  readonly isFull: boolean
  /** Since when the looks say the opposite of `isFull`; null: they do not. */
  readonly sinceMs: number | null
  /** The latest look; null: there was none. */
  readonly atMs: number | null
}

export const UNMARKED: MarkState = { isFull: false, sinceMs: null, atMs: null }

/** Looks come every second. After a longer gap this process or the other did not run, and what lasted before says nothing. */
const GAP_MS = 2000

/** The state after one more look. A look after a gap begins the time of the mark again. @param nowMs monotonic */
export function lookAt({ isFull, sinceMs, atMs }: MarkState, mark: Mark, value: number, nowMs: number): MarkState {
  const isOpposite = isFull ? value < mark.free : value >= mark.full
  if (!isOpposite) return { isFull, sinceMs: null, atMs: nowMs }
  const isAfterGap = atMs === null || nowMs - atMs > GAP_MS
  const begunMs = isAfterGap ? nowMs : (sinceMs ?? nowMs)
  if (nowMs - begunMs < mark.forMs) return { isFull, sinceMs: begunMs, atMs: nowMs }
  return { isFull: !isFull, sinceMs: null, atMs: nowMs }
}

/** The share of time in which the thread of a media process has work. */
const VIEWERS_MARK: Mark = { full: 0.85, free: 0.75, forMs: 5000 }
/** What lies between the two is reserved for publishers. */
const PUBLISHERS_MARK: Mark = { full: 0.95, free: 0.85, forMs: 5000 }
/**
 * A process that keeps up reads a datagram within 20 ms, also at half of a core with 440 viewers. One that does not is seconds
 * behind: so the mark between them need not be exact.
 */
const BEHIND_MS = 150
/** Beats in a row after which it is behind, and after which it is in time again. A pause makes one beat. */
const BEHIND_BEATS = 3
const IN_TIME_BEATS = 5

/** The load of a process over a beat, and how many viewers it had at the begin of that time. */
interface MeasuredLoad {
  readonly load: number
  readonly watching: number
}

/** So many beats say what a viewer costs. Two at least, because a pause makes one of them useless. */
const COST_BEATS = { most: 3, least: 2 }
/** With fewer viewers, or less to do, the load is not that of viewers. */
const COST_FROM = { watching: 50, load: 0.4 }

/** A media process, by its beats. */
export interface ProcessLoad {
  readonly load: number
  /** Whether it takes viewers, and publishers of rooms that it does not have yet. */
  readonly viewers: MarkState
  readonly publishers: MarkState
  /** It is behind with its media. */
  readonly isBehind: boolean
  /** Beats in a row that say the opposite of `isBehind`. */
  readonly otherBeats: number
  /** Its viewers at the latest beat. */
  readonly watching: number
  /** The latest last. */
  readonly measured: readonly MeasuredLoad[]
}

/** What a process says each second: the share of it with work, and how long a datagram waited on the average. */
export interface Beat {
  readonly load: number
  readonly meanMs: number
  /** Its viewers at the moment. */
  readonly watching: number
}

/** The state of a process after a beat. @param before null: it has sent none yet */
export function hear(before: ProcessLoad | null, { load, meanMs, watching }: Beat, nowMs: number): ProcessLoad {
  const measured = [...(before?.measured ?? []), { load, watching: before?.watching ?? 0 }]
  return {
    load,
    watching,
    measured: measured.slice(-COST_BEATS.most),
    viewers: lookAt(before?.viewers ?? UNMARKED, VIEWERS_MARK, load, nowMs),
    publishers: lookAt(before?.publishers ?? UNMARKED, PUBLISHERS_MARK, load, nowMs),
    ...behindAfter(before, meanMs > BEHIND_MS),
  }
}

function behindAfter(before: ProcessLoad | null, isLate: boolean): Pick<ProcessLoad, 'isBehind' | 'otherBeats'> {
  const { isBehind = false, otherBeats = 0 } = before ?? {}
  if (isLate === isBehind) return { isBehind, otherBeats: 0 }
  const isOver = otherBeats + 1 >= (isBehind ? IN_TIME_BEATS : BEHIND_BEATS)
  return isOver ? { isBehind: isLate, otherBeats: 0 } : { isBehind, otherBeats: otherBeats + 1 }
}

/** @param watching its viewers by now: those of a crowd are there before its load shows them */
export const takesViewers = (of: ProcessLoad, watching: number): boolean =>
  !of.viewers.isFull && !of.isBehind && expectedLoad(of, watching) < VIEWERS_MARK.full

/** The load with the viewers that have come since the latest beat. 0: none have come, or nothing says what they cost. */
function expectedLoad({ measured, watching: before }: ProcessLoad, watching: number): number {
  const telling = measured.filter((one) => one.watching >= COST_FROM.watching && one.load >= COST_FROM.load)
  if (watching <= before || telling.length < COST_BEATS.least) return 0
  return watching * Math.min(...telling.map((one) => one.load / one.watching))
}

export const takesPublishers = ({ publishers }: ProcessLoad): boolean => !publishers.isFull

/** Shares of the most that a node may send. The rate is that of some seconds, so that it needs not last. */
export const EGRESS_MARK: Mark = { full: 1, free: 0.9, forMs: 0 }
/** The rate of less than this is none: segments of HLS come in bursts. */
const EGRESS_MS = 5000

/** What a node has sent until a moment. */
export interface SentBytes {
  readonly atMs: number
  readonly bytes: number
}

/** The moments that the present rate is made of, the oldest first, with one more. A gap makes the earlier ones useless. */
export function withSent(moments: readonly SentBytes[], now: SentBytes): readonly SentBytes[] {
  const latest = moments.at(-1)
  if (latest === undefined || now.atMs - latest.atMs > GAP_MS) return [now]
  const from = moments.findLastIndex(({ atMs }) => now.atMs - atMs >= EGRESS_MS)
  return [...moments.slice(Math.max(0, from)), now]
}

/** Bits per second over the last five seconds; null: it is not known for so long. */
export function egressOf(moments: readonly SentBytes[]): number | null {
  const [first, last] = [moments[0], moments.at(-1)]
  if (first === undefined || last === undefined || last.atMs - first.atMs < EGRESS_MS) return null
  return Math.round(((last.bytes - first.bytes) * 8000) / (last.atMs - first.atMs))
}

/** A media process that ended by itself, or hung. */
export interface MediaProcessEnd {
  readonly atMs: number
  readonly isHung: boolean
  /** Publishers and viewers who lost their sessions. */
  readonly sessions: number
}

/** What a node says of its load. */
export interface NodeLoadReading {
  /** In the order of `FULL_REASONS`; empty: it takes viewers. */
  readonly full: readonly FullReason[]
  /** How busy its media processes are on the average, 0 to 100. Null: none has said it. */
  readonly mediaPercent: number | null
  /** Bits per second of media to viewers and targets. Null: not measured yet. */
  readonly egressBitrate: number | null
}
