import type { ActiveStatus } from '../types.ts'

/**
 * The life of an engine as a pure function: what happened and when goes in, the next state and what has to be done come
 * out. Whoever drives it writes the state and the events in one transaction, then acts.
 */

/** Who started or stopped a run. `id` names the credential, user or scheduler; empty where there is none. */
export interface Cause {
  readonly type: CauseType
  readonly id: string
  /** What people called it then, where it has a name. */
  readonly name?: string
}

export const CAUSES = ['api', 'dashboard', 'scheduler', 'timeout', 'error', 'shutdown'] as const
export type CauseType = (typeof CAUSES)[number]

export interface EngineState {
  readonly status: ActiveStatus
  /** Since when there has been no source, epoch milliseconds; null while there is one, or while it is stopped. */
  readonly idleSinceMs: number | null
  /** Failures since it last played; the pause before the next try grows with them. */
  readonly failures: number
  /** When the next try is due; null: none is. */
  readonly retryAtMs: number | null
  /** Why it is in `error` or still `waiting`, or what is to be known of it while it plays; for people. */
  readonly message: string | null
}

export type EngineEvent =
  | { readonly kind: 'start'; readonly cause: Cause }
  | { readonly kind: 'stop'; readonly cause: Cause }
  /** A node took it and is bringing its process up. */
  | { readonly kind: 'launched' }
  /** The process is up, and there is no source. */
  | { readonly kind: 'ready' }
  /** Frames arrive. */
  | { readonly kind: 'source' }
  /** The manifest can be played. */
  | { readonly kind: 'manifest' }
  | { readonly kind: 'sourceLost' }
  /** The process ended without having been told to. */
  | { readonly kind: 'died'; readonly message: string }
  /** The process is gone, as it was told. */
  | { readonly kind: 'ended' }
  /** The node that ran it is gone, and with it the process. */
  | { readonly kind: 'lost' }
  /** Why there is no source yet, or no more. */
  | { readonly kind: 'waits'; readonly message: string }
  /** What is to be known of one that is up; null: nothing any more. */
  | { readonly kind: 'notice'; readonly message: string | null }
  /** Time passes: a try may be due. */
  | { readonly kind: 'tick' }

export type EngineEffect =
  | { readonly do: 'launch' }
  | { readonly do: 'kill' }
  | { readonly do: 'openRun'; readonly cause: Cause }
  | { readonly do: 'closeRun'; readonly cause: Cause }
  /** To be told to webhooks as `engine.<status>`. */
  | { readonly do: 'tell'; readonly status: ActiveStatus }

export interface Step {
  readonly state: EngineState
  readonly effects: readonly EngineEffect[]
}

export const NEW_LIFE: EngineState = {
  status: 'stopped',
  idleSinceMs: null,
  failures: 0,
  retryAtMs: null,
  message: null,
}

/** 1 s, 2 s, 4 s … 60 s: quick for a hiccup, quiet for what stays broken. */
const retryAfterMs = (failures: number): number => Math.min(60_000, 1000 * 2 ** Math.min(failures - 1, 6))

/** The next state. What does not fit the present one changes nothing: messages of processes come late. */
export function advanceEngine(state: EngineState, event: EngineEvent, nowMs: number): Step {
  switch (event.kind) {
    case 'start':
      return start(state, event.cause, nowMs)
    case 'stop':
      return stop(state, event.cause)
    case 'ended':
      return state.status === 'stopping' ? moved(NEW_LIFE, 'stopped') : unchanged(state)
    case 'lost':
      return lost(state)
    case 'tick':
      return state.retryAtMs !== null && state.retryAtMs <= nowMs ? retry(state) : unchanged(state)
    case 'died':
      return isUp(state) ? died(state, event.message, nowMs) : unchanged(state)
    case 'launched':
      return state.status === 'deploying' ? moved(state, 'starting') : unchanged(state)
    case 'ready':
      return state.status === 'starting' ? moved(state, 'waiting') : unchanged(state)
    case 'source':
      return sourceCame(state)
    case 'manifest':
      return state.status === 'ingesting' ? moved({ ...state, failures: 0 }, 'playing') : unchanged(state)
    case 'waits':
      return state.status === 'waiting'
        ? { state: { ...state, message: event.message }, effects: [] }
        : unchanged(state)
    case 'notice':
      return isUp(state) && state.message !== event.message
        ? { state: { ...state, message: event.message }, effects: [] }
        : unchanged(state)
    case 'sourceLost':
      return hasSource(state) ? moved({ ...state, idleSinceMs: nowMs, message: null }, 'waiting') : unchanged(state)
  }
}

/**
 * Whether a channel stops by itself: none of its engines has a source, and the last one was lost `timeoutSeconds` ago or
 * never came. 0: never.
 */
export function isTimedOut(engines: readonly EngineState[], timeoutSeconds: number, nowMs: number): boolean {
  const running = engines.filter(({ status }) => status !== 'stopped' && status !== 'stopping')
  if (timeoutSeconds === 0 || running.length === 0 || running.some(hasSource)) return false
  return running.every(({ idleSinceMs }) => idleSinceMs !== null && nowMs - idleSinceMs >= timeoutSeconds * 1000)
}

const hasSource = ({ status }: EngineState): boolean => status === 'ingesting' || status === 'playing'
const hasNoSource = ({ status }: EngineState): boolean => status === 'waiting' || status === 'starting'
const isUp = (state: EngineState): boolean => hasSource(state) || hasNoSource(state) || state.status === 'deploying'

const unchanged = (state: EngineState): Step => ({ state, effects: [] })

function moved(state: EngineState, status: ActiveStatus, ...effects: EngineEffect[]): Step {
  return { state: { ...state, status }, effects: [{ do: 'tell', status }, ...effects] }
}

/** Frames in `error` are of another source than the one that it failed with, so its failures count no more. */
function sourceCame(state: EngineState): Step {
  if (state.status === 'error') return moved(NEW_LIFE, 'ingesting')
  return hasNoSource(state) ? moved({ ...state, idleSinceMs: null, message: null }, 'ingesting') : unchanged(state)
}

/** One that is being stopped is started anew: the old process is told to end already, and a new run begins. */
function start(state: EngineState, cause: Cause, nowMs: number): Step {
  if (state.status !== 'stopped' && state.status !== 'stopping') return unchanged(state)
  return moved({ ...NEW_LIFE, idleSinceMs: nowMs }, 'deploying', { do: 'openRun', cause }, { do: 'launch' })
}

/** What was in `error` has no process left to wait for. */
function stop(state: EngineState, cause: Cause): Step {
  if (state.status === 'stopped' || state.status === 'stopping') return unchanged(state)
  if (state.status === 'error') return moved(NEW_LIFE, 'stopped', { do: 'closeRun', cause }, { do: 'kill' })
  const stopping = { ...state, idleSinceMs: null, retryAtMs: null, message: null }
  return moved(stopping, 'stopping', { do: 'closeRun', cause }, { do: 'kill' })
}

function died(state: EngineState, message: string, nowMs: number): Step {
  const failures = state.failures + 1
  const retryAtMs = nowMs + retryAfterMs(failures)
  return moved({ failures, retryAtMs, message, status: 'error', idleSinceMs: state.idleSinceMs ?? nowMs }, 'error')
}

/** The run ended with the node, whenever that was. */
function lost(state: EngineState): Step {
  if (state.status === 'stopped') return unchanged(state)
  if (state.status === 'stopping') return moved(NEW_LIFE, 'stopped')
  return moved(NEW_LIFE, 'stopped', { do: 'closeRun', cause: { type: 'error', id: '' } })
}

function retry(state: EngineState): Step {
  return moved({ ...state, retryAtMs: null, message: null }, 'starting', { do: 'launch' })
}
