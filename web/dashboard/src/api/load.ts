import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { resets } from '../live.ts'
import { toast } from '../parts/toast.tsx'
import { type ApiError, asApiError, type CursorPage, firstPages } from './call.ts'

/** What a page knows of something that it loads. `data` stays while it is loaded again, so that nothing jumps. */
export interface Loaded<T> {
  readonly data: T | undefined
  readonly error: ApiError | null
  readonly isLoading: boolean
  /** Loads it again, once an answer that is under way is there: what is asked for often would else never have one. */
  readonly reload: () => void
  /** As `reload`. Resolves once what came is shown, also if that is an error. */
  readonly reloaded: () => Promise<void>
  /** Shows a value at once, for a change that the server has taken. */
  readonly set: (data: T) => void
}

/**
 * Loads something when the page opens, when one of `keys` changes, and when a server that was away is back. Only the answer of the
 * latest call counts. It is loaded again as `reload` does when `news` changes.
 */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  keys: readonly unknown[],
  news?: unknown,
): Loaded<T> {
  const [state, setState] = useState<{ data: T | undefined; error: ApiError | null; isLoading: boolean }>({
    data: undefined,
    error: null,
    isLoading: true,
  })
  const [round, setRound] = useState(0)
  const latest = useRef(load)
  latest.current = load
  const turn = useRef({ isUnderWay: false, isOwed: false, round })
  const waiting = useRef<(() => void)[]>([])
  useEffect(() => {
    const stopping = new AbortController()
    const isSame = turn.current.round !== round
    turn.current = { isUnderWay: true, isOwed: false, round }
    setState(({ data, error }) => ({ data: isSame || !isEmpty(data) ? data : undefined, error, isLoading: true }))
    const over = (outcome: { readonly data: T } | { readonly error: ApiError }): void => {
      if (stopping.signal.aborted) return
      setState((before) => ({ data: before.data, error: null, ...outcome, isLoading: false }))
      turn.current.isUnderWay = false
      if (turn.current.isOwed) reload()
      else for (const tell of waiting.current.splice(0)) tell()
    }
    latest.current(stopping.signal).then(
      (data) => over({ data }),
      (error: unknown) => over({ error: asApiError(error) }),
    )
    return () => stopping.abort()
  }, [...keys, round])
  const reload = useCallback(() => {
    if (turn.current.isUnderWay) turn.current.isOwed = true
    else setRound((before) => before + 1)
  }, [])
  const told = useRef(news)
  useEffect(() => {
    if (told.current === news) return
    told.current = news
    reload()
  }, [news])
  const isAway = state.error !== null && (state.error.status === 0 || state.error.status >= 500)
  useEffect(() => {
    if (!isAway) return undefined
    const before = resets.peek()
    return resets.subscribe((now) => {
      if (now !== before) reload()
    })
  }, [isAway])
  const set = useCallback((data: T) => {
    setState({ data, error: null, isLoading: false })
    // An answer that is under way may be older than the change.
    if (turn.current.isUnderWay) setRound((before) => before + 1)
  }, [])
  const reloaded = useCallback(() => {
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.current.push(resolve)
    reload()
    return promise
  }, [])
  return { ...state, reload, reloaded, set }
}

/** For other keys a list may have rows: nothing can be said of them before they are there. */
function isEmpty(data: unknown): boolean {
  const { rows = data } = (data ?? {}) as { readonly rows?: unknown }
  return Array.isArray(rows) && rows.length === 0
}

/** The rows of a list that is walked by cursor, so far. */
export interface Walked<R> extends Omit<Loaded<readonly R[]>, 'set'> {
  readonly hasMore: boolean
  /** Loads the next page. */
  readonly more: () => void
}

/** More pages than these are not loaded again: after a reload the list ends here, and goes on when it is asked to. */
const RELOADED_MOST = 10

/** How many pages of a list with these keys were loaded. Its history entry keeps this for a user who comes back or reloads. */
interface Depth {
  readonly of: string
  readonly pages: number
}

/** Walks a list by cursor: the first page at once, each further one when it is asked for. A reload loads them all. */
export function useWalk<R>(
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<CursorPage<readonly R[]>>,
  keys: readonly unknown[],
): Walked<R> {
  const depth = useRef<Depth>((history.state as { walked?: Depth } | null)?.walked ?? { of: '', pages: 1 })
  const of = JSON.stringify(keys)
  const first = useLoad((signal) => {
    if (depth.current.of !== of) depth.current = { of, pages: 1 }
    return firstPages((cursor) => load(cursor, signal), Math.min(depth.current.pages, RELOADED_MOST))
  }, keys)
  const [rest, setRest] = useState<{ of: unknown; pages: readonly CursorPage<readonly R[]>[]; isLoading: boolean }>({
    of: undefined,
    pages: [],
    isLoading: false,
  })
  // Further pages belong to what was loaded first; a reload starts again.
  const pages = first.data && rest.of === first.data ? rest.pages : NO_PAGES
  const cursor = (pages.at(-1) ?? first.data)?.cursor ?? null
  const more = (): void => {
    if (cursor === null || rest.isLoading) return
    setRest({ of: first.data, pages, isLoading: true })
    load(cursor, new AbortController().signal).then(
      (page) => {
        depth.current = { of, pages: depth.current.pages + 1 }
        history.replaceState({ ...(history.state as object | null), walked: depth.current }, '')
        setRest({ of: first.data, pages: [...pages, page], isLoading: false })
      },
      (error: unknown) => {
        toast(asApiError(error).message)
        setRest({ of: first.data, pages, isLoading: false })
      },
    )
  }
  // The same rows at each drawing: pages take them as a key of what they load besides.
  const rows = useMemo(
    () => first.data && [first.data, ...pages].flatMap((page) => [...page.rows]),
    [first.data, pages],
  )
  return { ...first, data: rows, isLoading: first.isLoading || rest.isLoading, hasMore: cursor !== null, more }
}

const NO_PAGES: readonly never[] = []

/** One page of a list that is walked by cursor. */
export interface Paged<R> extends Omit<Loaded<readonly R[]>, 'set'> {
  /** 0 is the newest. */
  readonly page: number
  readonly hasMore: boolean
  readonly onPage: (page: number) => void
}

/** Shows one page of a list at a time, so that a change of the page costs the same however long the list is. */
export function usePages<R>(
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<CursorPage<readonly R[]>>,
  keys: readonly unknown[],
): Paged<R> {
  const of = JSON.stringify(keys)
  // The cursor of each page up to the shown one.
  const [walked, setWalked] = useState<{ of: string; cursors: readonly (string | undefined)[] }>(START)
  const cursors = walked.of === of ? walked.cursors : START.cursors
  // With its number: after a failure the page before is still shown, and the same one is asked for again.
  const loaded = useLoad(
    async (signal) => ({ ...(await load(cursors.at(-1), signal)), page: cursors.length - 1 }),
    [...keys, cursors],
  )
  const { rows, cursor: next = null, page = 0 } = loaded.data ?? {}
  const onPage = (to: number): void => {
    if (loaded.isLoading) return
    if (to < cursors.length) setWalked({ of, cursors: cursors.slice(0, to + 1) })
    else if (next !== null) setWalked({ of, cursors: [...cursors, next] })
  }
  return { ...loaded, data: rows, page, hasMore: next !== null, onPage }
}

const START = { of: '', cursors: [undefined] } as const
