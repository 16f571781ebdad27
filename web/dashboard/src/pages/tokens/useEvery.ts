import { useEffect } from 'preact/hooks'

/** Calls `action` again and again while the page is open and in view. */
export function useEvery(periodMs: number, action: () => void): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') action()
    }, periodMs)
    return () => clearInterval(timer)
  }, [periodMs, action])
}
