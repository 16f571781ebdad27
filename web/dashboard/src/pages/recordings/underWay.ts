import { useEffect } from 'preact/hooks'

const LOOK_MS = 3000

interface Listed {
  readonly state: string
}

const isUnderWay = ({ state }: Listed): boolean => state === 'recording' || state === 'processing'

/** Loads a list again every few seconds while one of its recordings is under way, because its end has no event. */
export function useUnderWay(recordings: readonly Listed[] | undefined, reload: () => void): void {
  const isAny = recordings?.some(isUnderWay) === true
  useEffect(() => {
    if (!isAny) return undefined
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), LOOK_MS)
    return () => clearInterval(timer)
  }, [isAny, reload])
}
