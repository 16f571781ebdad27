import type { LiveStatus } from '../live/types.ts'

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

export interface EngineLife {
  readonly status: LiveStatus
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
  | { readonly do: 'tell'; readonly status: LiveStatus }

export interface Step {
  readonly life: EngineLife
  readonly effects: readonly EngineEffect[]
}

export const NEW_LIFE: EngineLife = {
  status: 'stopped',
  idleSinceMs: null,
  failures: 0,
  retryAtMs: null,
  message: null,
}

/** 1 s, 2 s, 4 s … 60 s: quick for a hiccup, quiet for what stays broken. */
const retryAfterMs = (failures: number): number => Math.min(60_000, 1000 * 2 ** Math.min(failures - 1, 6))

/** The next state. What does not fit the present one changes nothing: messages of processes come late. */
export function advanceEngine(life: EngineLife, event: EngineEvent, nowMs: number): Step {
  switch (event.kind) {
    case 'start':
      return start(life, event.cause, nowMs)
    case 'stop':
      return stop(life, event.cause)
    case 'ended':
      return life.status === 'stopping' ? moved(NEW_LIFE, 'stopped') : unchanged(life)
    case 'lost':
      return lost(life)
    case 'tick':
      return life.retryAtMs !== null && life.retryAtMs <= nowMs ? retry(life) : unchanged(life)
    case 'died':
      return isUp(life) ? died(life, event.message, nowMs) : unchanged(life)
    case 'launched':
      return life.status === 'deploying' ? moved(life, 'starting') : unchanged(life)
    case 'ready':
      return life.status === 'starting' ? moved(life, 'waiting') : unchanged(life)
    case 'source':
      return sourceCame(life)
    case 'manifest':
      return life.status === 'ingesting' ? moved({ ...life, failures: 0 }, 'playing') : unchanged(life)
    case 'waits':
      return life.status === 'waiting' ? { life: { ...life, message: event.message }, effects: [] } : unchanged(life)
    case 'notice':
      return isUp(life) && life.message !== event.message
        ? { life: { ...life, message: event.message }, effects: [] }
        : unchanged(life)
    case 'sourceLost':
      return hasSource(life) ? moved({ ...life, idleSinceMs: nowMs, message: null }, 'waiting') : unchanged(life)
  }
}

/**
 * Whether a channel stops by itself: none of its engines has a source, and the last one was lost `timeoutSeconds` ago or
 * never came. 0: never.
 */
export function isTimedOut(engines: readonly EngineLife[], timeoutSeconds: number, nowMs: number): boolean {
  const running = engines.filter(({ status }) => status !== 'stopped' && status !== 'stopping')
  if (timeoutSeconds === 0 || running.length === 0 || running.some(hasSource)) return false
  return running.every(({ idleSinceMs }) => idleSinceMs !== null && nowMs - idleSinceMs >= timeoutSeconds * 1000)
}

const hasSource = ({ status }: EngineLife): boolean => status === 'ingesting' || status === 'playing'
const hasNoSource = ({ status }: EngineLife): boolean => status === 'waiting' || status === 'starting'
const isUp = (life: EngineLife): boolean => hasSource(life) || hasNoSource(life) || life.status === 'deploying'

const unchanged = (life: EngineLife): Step => ({ life, effects: [] })

function moved(life: EngineLife, status: LiveStatus, ...effects: EngineEffect[]): Step {
  return { life: { ...life, status }, effects: [{ do: 'tell', status }, ...effects] }
}

/** Frames in `error` are of another source than the one that it failed with, so its failures count no more. */
function sourceCame(life: EngineLife): Step {
  if (life.status === 'error') return moved(NEW_LIFE, 'ingesting')
  return hasNoSource(life) ? moved({ ...life, idleSinceMs: null, message: null }, 'ingesting') : unchanged(life)
}

/** One that is being stopped is started anew: the old process is told to end already, and a new run begins. */
function start(life: EngineLife, cause: Cause, nowMs: number): Step {
  if (life.status !== 'stopped' && life.status !== 'stopping') return unchanged(life)
  return moved({ ...NEW_LIFE, idleSinceMs: nowMs }, 'deploying', { do: 'openRun', cause }, { do: 'launch' })
}

/** What was in `error` has no process left to wait for. */
function stop(life: EngineLife, cause: Cause): Step {
  if (life.status === 'stopped' || life.status === 'stopping') return unchanged(life)
  if (life.status === 'error') return moved(NEW_LIFE, 'stopped', { do: 'closeRun', cause }, { do: 'kill' })
  const stopping = { ...life, idleSinceMs: null, retryAtMs: null, message: null }
  return moved(stopping, 'stopping', { do: 'closeRun', cause }, { do: 'kill' })
}

function died(life: EngineLife, message: string, nowMs: number): Step {
  const failures = life.failures + 1
  const retryAtMs = nowMs + retryAfterMs(failures)
  return moved({ failures, retryAtMs, message, status: 'error', idleSinceMs: life.idleSinceMs ?? nowMs }, 'error')
}

/** The run ended with the node, whenever that was. */
function lost(life: EngineLife): Step {
  if (life.status === 'stopped') return unchanged(life)
  if (life.status === 'stopping') return moved(NEW_LIFE, 'stopped')
  return moved(NEW_LIFE, 'stopped', { do: 'closeRun', cause: { type: 'error', id: '' } })
}

function retry(life: EngineLife): Step {
  return moved({ ...life, retryAtMs: null, message: null }, 'starting', { do: 'launch' })
}
