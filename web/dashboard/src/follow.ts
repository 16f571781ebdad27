import type { ReadonlySignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { paced } from './pace.ts'

/** However much happens, a list is loaded again no more often than this. */
const LEAST_MS = 3000
/** Some changes have no event: those that other people make, and decisions of other nodes. */
const SLOW_MS = 30_000

/**
 * Calls `action` when `news` changes, soon but not too often, and rarely without news; while the page is in view.
 * @param settlesMs once more after this time without news, for figures that the server writes late
 */
export function useFollow(news: ReadonlySignal<unknown>, action: () => void, settlesMs = 0): void {
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
    const slow = setInterval(pace.ask, SLOW_MS)
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
