import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from './call.ts'

/** What a page knows of something that it loads. `data` stays while it is loaded again, so that nothing jumps. */
export interface Loaded<T> {
  readonly data: T | undefined
  readonly error: ApiError | null
  readonly isLoading: boolean
  /** Loads it again. */
  readonly reload: () => void
  /** Shows a value at once, for a change that the server has taken. */
  readonly set: (data: T) => void
}

/** Loads something when the page opens and when one of `keys` changes. Only the answer of the latest call counts. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, keys: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ data: T | undefined; error: ApiError | null; isLoading: boolean }>({
    data: undefined,
    error: null,
    isLoading: true,
  })
  const [round, setRound] = useState(0)
  const latest = useRef(load)
  latest.current = load
  useEffect(() => {
    const stopping = new AbortController()
    setState((before) => ({ ...before, isLoading: true }))
    latest.current(stopping.signal).then(
      (data) => {
        if (!stopping.signal.aborted) setState({ data, error: null, isLoading: false })
      },
      (error: unknown) => {
        if (stopping.signal.aborted) return
        const known = error instanceof ApiError ? error : new ApiError(0, String(error))
        setState((before) => ({ ...before, error: known, isLoading: false }))
      },
    )
    return () => stopping.abort()
  }, [...keys, round])
  const reload = useCallback(() => setRound((before) => before + 1), [])
  const set = useCallback((data: T) => setState({ data, error: null, isLoading: false }), [])
  return { ...state, reload, set }
}
