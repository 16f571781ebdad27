import type { ReadonlySignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { paced } from './pace.ts'

/** However much happens, a list is loaded again no more often than this. */
const LEAST_MS = 3000

interface FollowOptions {
  /** Once more after this time without news, for figures that the server writes late. */
  readonly settlesMs?: number
  /** Also without news, for what has no event. */
  readonly slowMs?: number
}

/** For the access log: the server writes the counts of repeated refusals late, and decisions of other nodes have no event. */
export const LATE_DECISIONS: FollowOptions = { settlesMs: 12_000, slowMs: 30_000 }

/** Calls `action` when `news` changes, soon but not too often, while the page is in view. */
export function useFollow(
  news: ReadonlySignal<unknown>,
  action: () => void,
  { settlesMs = 0, slowMs = 0 }: FollowOptions = {},
): void {
  const latest = useRef(action)
  latest.current = action
  useEffect(() => {
    const pace = paced(() => latest.current(), LEAST_MS)
    let late: ReturnType<typeof setTimeout> | undefined
    const heard = (): void => {
      pace.ask()
      clearTimeout(late)
      if (settlesMs > 0) late = setTimeout(pace.ask, settlesMs)
    }
    let isFirst = true
    const unsubscribe = news.subscribe(() => {
      // A subscription begins with the present value.
      if (!isFirst) heard()
      isFirst = false
    })
    const slow = slowMs > 0 ? setInterval(pace.ask, slowMs) : undefined
    const show = (): void => pace.show(document.visibilityState === 'visible')
    document.addEventListener('visibilitychange', show)
    show()
    return () => {
      unsubscribe()
      clearInterval(slow)
      clearTimeout(late)
      document.removeEventListener('visibilitychange', show)
      pace.stop()
    }
  }, [news])
}

/** Calls `action` each time that `ms` have passed, while the page is in view. @param ms null: never */
export function useEvery(ms: number | null, action: () => void): void {
  const latest = useRef(action)
  latest.current = action
  useEffect(() => {
    if (ms === null) return undefined
    const timer = setInterval(() => document.visibilityState === 'visible' && latest.current(), ms)
    return () => clearInterval(timer)
  }, [ms])
}
