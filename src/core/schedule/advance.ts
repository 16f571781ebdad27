import { nextOccurrence, type Occurrence, occurrencesFrom, type Plan } from './plan.ts'

/** Where a scheduler stands. `seenUntilMs`: what begins up to then has been begun or skipped, and is not looked at again. */
export interface Standing {
  readonly status: 'idle' | 'active' | 'terminated'
  /** What is under way; null unless active. Begun by hand, it lies ahead. */
  readonly occurrence: Occurrence | null
  readonly seenUntilMs: number
}

export interface Advance {
  readonly standing: Standing
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
export function advance(plan: Plan, enabled: boolean, standing: Standing, nowMs: number): Advance {
  if (standing.status === 'terminated') return { standing, steps: [], skipped: [], nextMs: null }
  const { latest, before } = begunBy(plan, standing.seenUntilMs, nowMs)
  const steps: Advance['steps'][number][] = []
  let occurrence = standing.occurrence
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
  return { ...settled(plan, { occurrence, seenUntilMs: Math.max(nowMs, standing.seenUntilMs) }), steps, skipped }
}

/** Begins by hand what would come next, before its time; without an end of its own it runs until it is stopped. */
export function beginByHand(
  plan: Plan,
  standing: Standing,
  nowMs: number,
): { standing: Standing; nextMs: number | null } {
  const next = nextOccurrence(plan, Math.max(nowMs, standing.seenUntilMs)) ?? { startMs: nowMs, endMs: null }
  return settled(plan, { occurrence: next, seenUntilMs: Math.max(next.startMs, standing.seenUntilMs) })
}

/** Ends by hand what is under way; it is not begun again. */
export function endByHand(
  plan: Plan,
  standing: Standing,
  nowMs: number,
): { standing: Standing; nextMs: number | null } {
  return settled(plan, { occurrence: null, seenUntilMs: Math.max(nowMs, standing.seenUntilMs) })
}

const isOver = ({ endMs }: Occurrence, nowMs: number): boolean => endMs !== null && endMs <= nowMs

/** The last occurrence that began behind `seenUntilMs` and by `nowMs`, and those before it. */
function begunBy(plan: Plan, seenUntilMs: number, nowMs: number): { latest: Occurrence | null; before: Occurrence[] } {
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
export function settled(
  plan: Plan,
  { occurrence, seenUntilMs }: Omit<Standing, 'status'>,
): { standing: Standing; nextMs: number | null } {
  const next = nextOccurrence(plan, seenUntilMs)?.startMs ?? null
  if (occurrence === null) {
    const status = next === null ? 'terminated' : 'idle'
    return { standing: { status, occurrence, seenUntilMs }, nextMs: next }
  }
  const ends = [occurrence.endMs, next].filter((ms) => ms !== null)
  return { standing: { status: 'active', occurrence, seenUntilMs }, nextMs: ends.length > 0 ? Math.min(...ends) : null }
}
