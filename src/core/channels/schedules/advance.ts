import { nextOccurrence, type Occurrence, occurrencesFrom, type SchedulePlan } from './plan.ts'

/** Where a scheduler stands. `seenUntilMs`: what begins up to then has been begun or skipped, and is not looked at again. */
export interface SchedulerState {
  readonly status: 'idle' | 'active' | 'terminated'
  /** What is under way; null unless active. Begun by hand, it lies ahead. */
  readonly occurrence: Occurrence | null
  readonly seenUntilMs: number
}

export interface Advance {
  readonly state: SchedulerState
  /** In their order: an occurrence's channels are to be started, or stopped. */
  readonly steps: readonly { readonly do: 'begin' | 'end'; readonly occurrence: Occurrence }[]
  /** Occurrences that nobody will see, because the server was down or the scheduler disabled; the latest of them. */
  readonly skipped: readonly Occurrence[]
  /** When to ask again; null: never. */
  readonly nextMs: number | null
}

/** What is kept of a long absence. A minute's rule does not exist, so this is at least a hundred days. */
const SKIPPED_KEPT = 100

/** What has to happen at `nowMs`, be it on time or late: an occurrence that is still under way is joined. */
export function advance(plan: SchedulePlan, enabled: boolean, state: SchedulerState, nowMs: number): Advance {
  if (state.status === 'terminated') return { state, steps: [], skipped: [], nextMs: null }
  const { latest, before } = begunBy(plan, state.seenUntilMs, nowMs)
  const steps: Advance['steps'][number][] = []
  let occurrence = state.occurrence
  const running = latest !== null && enabled && !isOver(latest, nowMs)
  if (occurrence !== null && (isOver(occurrence, nowMs) || running)) {
    // One that follows without a pause takes over: nothing is stopped only to be started again.
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

/** Begins by hand what would come next, before its time; without an end of its own it runs until it is stopped. */
export function beginByHand(
  plan: SchedulePlan,
  state: SchedulerState,
  nowMs: number,
): { state: SchedulerState; nextMs: number | null } {
  const next = nextOccurrence(plan, Math.max(nowMs, state.seenUntilMs)) ?? { startMs: nowMs, endMs: null }
  return reconcile(plan, { occurrence: next, seenUntilMs: Math.max(next.startMs, state.seenUntilMs) })
}

/** Ends by hand what is under way; it is not begun again. */
export function endByHand(
  plan: SchedulePlan,
  state: SchedulerState,
  nowMs: number,
): { state: SchedulerState; nextMs: number | null } {
  return reconcile(plan, { occurrence: null, seenUntilMs: Math.max(nowMs, state.seenUntilMs) })
}

const isOver = ({ endMs }: Occurrence, nowMs: number): boolean => endMs !== null && endMs <= nowMs

/** The last occurrence that began behind `seenUntilMs` and by `nowMs`, and those before it. */
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
    if (begun.length > SKIPPED_KEPT) begun.shift()
  }
  return { latest: begun.at(-1) ?? null, before: begun.slice(0, -1) }
}

/** With nothing under way and nothing to come, a scheduler is through. */
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
