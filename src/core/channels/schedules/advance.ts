import { CLOCK_SKEW_MS } from '../../../base/time.ts'
import { nextOccurrence, type Occurrence, occurrencesFrom, type SchedulePlan } from './plan.ts'

/**
 * The state of a scheduler. Occurrences that begin up to `seenUntilMs` have been started or skipped, and are not
 * considered again.
 */
export interface SchedulerState {
  readonly status: 'idle' | 'active' | 'terminated'
  /** The active occurrence; null when there is none. One that was started by hand may begin in the future. */
  readonly occurrence: Occurrence | null
  readonly seenUntilMs: number
}

export interface Advance {
  readonly state: SchedulerState
  /** In order: start or stop the channels of an occurrence. */
  readonly steps: readonly { readonly do: 'begin' | 'end'; readonly occurrence: Occurrence }[]
  /** Occurrences that did not run because the server was down or the scheduler disabled; only the latest of them. */
  readonly skipped: readonly Occurrence[]
  /** When to call again; null: never. */
  readonly nextMs: number | null
}

/**
 * The most skipped occurrences that are reported after a long absence. No rule repeats within a day, so they cover
 * at least a hundred days.
 */
const SKIPPED_MAX = 100

/** What to do at `nowMs`, on time or late. An occurrence that has not ended yet is started late. */
export function advance(plan: SchedulePlan, enabled: boolean, state: SchedulerState, nowMs: number): Advance {
  if (state.status === 'terminated') return { state, steps: [], skipped: [], nextMs: null }
  const { latest, before } = begunBy(plan, state.seenUntilMs, nowMs)
  const steps: Advance['steps'][number][] = []
  let occurrence = state.occurrence
  const running = latest !== null && enabled && !isOver(latest, nowMs)
  if (occurrence !== null && (isOver(occurrence, nowMs) || running)) {
    // An occurrence that follows without a gap takes over: its channels are not stopped and started again.
    if (!running) steps.push({ do: 'end', occurrence })
    occurrence = null
  }
  if (running) {
    occurrence = latest
    steps.push({ do: 'begin', occurrence: latest })
  }
  const skipped = latest === null || running ? before : [...before, latest]
  return { ...reconcile(plan, { occurrence, seenUntilMs: Math.max(nowMs, state.seenUntilMs) }), steps, skipped }
}

/** Starts the next occurrence by hand, before its time. Without an end of its own it runs until it is stopped. */
export function beginByHand(
  plan: SchedulePlan,
  state: SchedulerState,
  nowMs: number,
): { state: SchedulerState; nextMs: number | null } {
  const next = nextOccurrence(plan, Math.max(nowMs, state.seenUntilMs)) ?? { startMs: nowMs, endMs: null }
  return reconcile(plan, { occurrence: next, seenUntilMs: Math.max(next.startMs, state.seenUntilMs) })
}

/** Ends the active occurrence by hand. It does not start again. */
export function endByHand(
  plan: SchedulePlan,
  state: SchedulerState,
  nowMs: number,
): { state: SchedulerState; nextMs: number | null } {
  return reconcile(plan, { occurrence: null, seenUntilMs: Math.max(nowMs, state.seenUntilMs) })
}

/**
 * Forgets what was seen of a time that has not come: the clock was ahead, and has been put back. Otherwise nothing would begin until
 * that time. Null: there is nothing to forget, as for an occurrence that was begun by hand before its time.
 */
export function forgetAhead(
  plan: SchedulePlan,
  { status, occurrence, seenUntilMs }: SchedulerState,
  nowMs: number,
): { state: SchedulerState; nextMs: number | null } | null {
  if (status === 'terminated' || seenUntilMs <= nowMs + CLOCK_SKEW_MS) return null
  // A person began the occurrence that starts then. One may have begun several before their time.
  if (seenUntilMs === nextOccurrence(plan, seenUntilMs - 1)?.startMs) return null
  return reconcile(plan, { occurrence, seenUntilMs: nowMs })
}

/**
 * Until when occurrences are seen after an edit of the plan. One that was begun by hand before its time stays seen unless the next one
 * begins at another time now: then that one was never seen.
 * @param before null: it was no longer valid
 */
export function seenAfterEdit(
  { before, after }: { readonly before: SchedulePlan | null; readonly after: SchedulePlan },
  seenUntilMs: number,
  nowMs: number,
): number {
  const isSame = before && nextOccurrence(before, nowMs)?.startMs === nextOccurrence(after, nowMs)?.startMs
  return isSame ? Math.max(nowMs, seenUntilMs) : nowMs
}

const isOver = ({ endMs }: Occurrence, nowMs: number): boolean => endMs !== null && endMs <= nowMs

/** The last occurrence that began after `seenUntilMs` and by `nowMs`, and those before it. */
function begunBy(
  plan: SchedulePlan,
  seenUntilMs: number,
  nowMs: number,
): { latest: Occurrence | null; before: Occurrence[] } {
  const begun: Occurrence[] = []
  for (const one of occurrencesFrom(plan, seenUntilMs)) {
    if (one.startMs > nowMs) break
    if (one.startMs <= seenUntilMs) continue
    begun.push(one)
    if (begun.length > SKIPPED_MAX) begun.shift()
  }
  return { latest: begun.at(-1) ?? null, before: begun.slice(0, -1) }
}

/** A scheduler without an active or future occurrence is terminated. */
export function reconcile(
  plan: SchedulePlan,
  { occurrence, seenUntilMs }: Omit<SchedulerState, 'status'>,
): { state: SchedulerState; nextMs: number | null } {
  const next = nextOccurrence(plan, seenUntilMs)?.startMs ?? null
  if (occurrence === null) {
    const status = next === null ? 'terminated' : 'idle'
    return { state: { status, occurrence, seenUntilMs }, nextMs: next }
  }
  const ends = [occurrence.endMs, next].filter((ms) => ms !== null)
  return { state: { status: 'active', occurrence, seenUntilMs }, nextMs: ends.length > 0 ? Math.min(...ends) : null }
}
