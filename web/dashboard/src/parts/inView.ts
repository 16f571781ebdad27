import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** Scrolls to what a click opens below a long list, where it would not be seen. @param shown what is there now; undefined: nothing yet */
export function useInView(shown: string | undefined): RefObject<HTMLDivElement | null> {
  const root = useRef<HTMLDivElement>(null)
  useEffect(() => root.current?.scrollIntoView({ block: 'nearest' }), [shown])
  return root
}
