/** What decides which of several publishers of one source is shown. */
export interface Standing {
  /** Of its address, or else of its token; null: the lowest. */
  readonly priority: number | null
  /** Its media is late: everything else is better. */
  readonly isStalled?: boolean
}

const LOWEST = Number.NEGATIVE_INFINITY

/** Positive: `a` is shown before `b`; negative: after it; 0: the newer one replaces the older one. */
export function compareStandings(a: Standing, b: Standing): number {
  const stalled = Number(b.isStalled === true) - Number(a.isStalled === true)
  if (stalled !== 0) return stalled
  const [one, other] = [a.priority ?? LOWEST, b.priority ?? LOWEST]
  return one === other ? 0 : one - other
}

/** Media that is later than this is late. */
const STALL_MS = 500
/** Media that has been in time for this long is no longer late, so that a bad link does not switch back and forth. */
const RECOVERY_MS = 3000

/** Whether the media of a publisher is late, and since when it is in time again. */
export interface Stall {
  readonly isStalled: boolean
  /** Monotonic milliseconds; null: it is late, or never was. */
  readonly inTimeSinceMs: number | null
}

/** @param lateMs how late the media is now */
export function nextStall({ isStalled, inTimeSinceMs }: Stall, lateMs: number, nowMs: number): Stall {
  if (lateMs > STALL_MS) return { isStalled: true, inTimeSinceMs: null }
  if (!isStalled) return { isStalled: false, inTimeSinceMs: null }
  const sinceMs = inTimeSinceMs ?? nowMs
  return nowMs - sinceMs < RECOVERY_MS
    ? { isStalled: true, inTimeSinceMs: sinceMs }
    : { isStalled: false, inTimeSinceMs: null }
}
