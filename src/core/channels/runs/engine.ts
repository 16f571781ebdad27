import { type CodedSentence, noticeText, type Said } from '../../notices.ts'
import type { ActiveStatus, EngineMessage } from '../types.ts'

/**
 * The state machine of an engine as a pure function: an event and its time in, the next state and its effects out.
 * The caller writes the state and the events in one transaction, then executes the effects.
 */

/** The user, credential or scheduler that started or stopped a run. `id` is empty for other causes. */
export interface Cause {
  readonly type: CauseType
  readonly id: string
  /** Its name at that time, if it has one. */
  readonly name?: string
}

export const CAUSES = ['api', 'dashboard', 'scheduler', 'timeout', 'error', 'shutdown'] as const
export type CauseType = (typeof CAUSES)[number]

export interface EngineState {
  readonly status: ActiveStatus
  /** Since when there has been no source, epoch milliseconds; null while there is one, or while it is stopped. */
  readonly idleSinceMs: number | null
  /** Failures since it last played. The pause before the next attempt grows with them. */
  readonly failures: number
  /** When the next attempt is due; null: none is. */
  readonly retryAtMs: number | null
  /** Why it is in `error` or still `waiting`, or a notice while it plays; for people. */
  readonly message: EngineMessage | null
}

export type EngineEvent =
  | { readonly kind: 'start'; readonly cause: Cause }
  | { readonly kind: 'stop'; readonly cause: Cause }
  /** A node took it and is starting its process. */
  | { readonly kind: 'launched' }
  /** The process is running, and there is no source. */
  | { readonly kind: 'ready' }
  /** Frames arrive. */
  | { readonly kind: 'source' }
  /** The manifest can be played. */
  | { readonly kind: 'manifest' }
  | { readonly kind: 'sourceLost' }
  /** The process ended unexpectedly. `isFinal`: the next attempt is made when a user starts it. */
  | (Said & { readonly kind: 'died'; readonly isFinal?: boolean })
  /** The process ended as requested. */
  | { readonly kind: 'ended' }
  /** The node that ran it is gone, and the process with it. */
  | { readonly kind: 'lost' }
  /** Its publisher is connected to another node, which takes it. Its process here has ended. */
  | { readonly kind: 'moved' }
  /** Why there is no source yet, or no longer one. */
  | (Said & { readonly kind: 'waits' })
  /** A notice about a running engine; empty: the notice ends. */
  | { readonly kind: 'notice'; readonly sentences: readonly CodedSentence[] }
  /** Time passes: an attempt may be due. */
  | { readonly kind: 'tick' }

export type EngineEffect =
  | { readonly do: 'launch' }
  | { readonly do: 'kill' }
  | { readonly do: 'openRun'; readonly cause: Cause }
  | { readonly do: 'closeRun'; readonly cause: Cause }
  /** Emit `engine.<status>` to webhooks. */
  | { readonly do: 'tell'; readonly status: ActiveStatus }

export interface Step {
  readonly state: EngineState
  readonly effects: readonly EngineEffect[]
}

export const INITIAL_STATE: EngineState = {
  status: 'stopped',
  idleSinceMs: null,
  failures: 0,
  retryAtMs: null,
  message: null,
}

/** 1 s, 2 s, 4 s … 60 s: fast after a short failure, rare for a lasting one. */
const retryAfterMs = (failures: number): number => Math.min(RETRY_MAX_MS, 1000 * 2 ** Math.min(failures - 1, 6))
const RETRY_MAX_MS = 60_000

/** Also if it is further away than any attempt: the clock was put back since. */
const isDue = ({ retryAtMs }: EngineState, nowMs: number): boolean =>
  retryAtMs !== null && (retryAtMs <= nowMs || retryAtMs > nowMs + RETRY_MAX_MS)

/** The next state. An event that does not fit the current state changes nothing: messages of processes arrive late. */
export function advanceEngine(state: EngineState, event: EngineEvent, nowMs: number): Step {
  switch (event.kind) {
    case 'start':
      return start(state, event.cause, nowMs)
    case 'stop':
      return stop(state, event.cause)
    case 'ended':
      return state.status === 'stopping' ? moved(INITIAL_STATE, 'stopped') : unchanged(state)
    case 'lost':
      return lost(state)
    case 'moved':
      return handOver(state, nowMs)
    case 'tick':
      return isDue(state, nowMs) ? retry(state) : unchanged(state)
    case 'died':
      return isUp(state) ? died(state, event, nowMs) : unchanged(state)
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
        ? { state: { ...state, message: messageOf(event) }, effects: [] }
        : unchanged(state)
    case 'notice':
      return isUp(state) ? noticed(state, event.sentences) : unchanged(state)
    case 'sourceLost':
      return hasSource(state) ? moved({ ...state, idleSinceMs: nowMs, message: null }, 'waiting') : unchanged(state)
  }
}

/**
 * Whether a channel stops by itself: none of its engines has a source, and the last one was lost `timeoutSeconds`
 * ago or never arrived. 0: never.
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

const messageOf = ({ message, sentences = [] }: Said): EngineMessage => ({ text: message, sentences })

function noticed(state: EngineState, sentences: readonly CodedSentence[]): Step {
  const message = sentences.length === 0 ? null : { text: noticeText(sentences), sentences }
  return state.message?.text === message?.text ? unchanged(state) : { state: { ...state, message }, effects: [] }
}

/** In `error`, frames come from a source other than the one that failed, so its failures no longer count. */
function sourceCame(state: EngineState): Step {
  if (state.status === 'error') return moved(INITIAL_STATE, 'ingesting')
  return hasNoSource(state) ? moved({ ...state, idleSinceMs: null, message: null }, 'ingesting') : unchanged(state)
}

/**
 * An engine that is stopping starts again: its old process already has the request to end, and a new run begins. One that has
 * given up tries again, in the same run.
 */
function start(state: EngineState, cause: Cause, nowMs: number): Step {
  if (state.status === 'error' && state.retryAtMs === null) return handOver(state, nowMs)
  if (state.status !== 'stopped' && state.status !== 'stopping') return unchanged(state)
  return moved({ ...INITIAL_STATE, idleSinceMs: nowMs }, 'deploying', { do: 'openRun', cause }, { do: 'launch' })
}

type Died = Extract<EngineEvent, { kind: 'died' }>

/** In `error` there is no process left to wait for. */
function stop(state: EngineState, cause: Cause): Step {
  if (state.status === 'stopped' || state.status === 'stopping') return unchanged(state)
  if (state.status === 'error') return moved(INITIAL_STATE, 'stopped', { do: 'closeRun', cause }, { do: 'kill' })
  const stopping = { ...state, idleSinceMs: null, retryAtMs: null, message: null }
  return moved(stopping, 'stopping', { do: 'closeRun', cause }, { do: 'kill' })
}

function died(state: EngineState, event: Died, nowMs: number): Step {
  const failures = state.failures + 1
  const retryAtMs = event.isFinal === true ? null : nowMs + retryAfterMs(failures)
  const idleSinceMs = state.idleSinceMs ?? nowMs
  return moved({ failures, retryAtMs, message: messageOf(event), status: 'error', idleSinceMs }, 'error')
}

/** The run ended with the node, whenever that was. */
function lost(state: EngineState): Step {
  if (state.status === 'stopped') return unchanged(state)
  if (state.status === 'stopping') return moved(INITIAL_STATE, 'stopped')
  return moved(INITIAL_STATE, 'stopped', { do: 'closeRun', cause: { type: 'error', id: '' } })
}

/** The run goes on at the other node. What failed here may work there. */
function handOver(state: EngineState, nowMs: number): Step {
  if (state.status === 'stopped' || state.status === 'stopping') return unchanged(state)
  return moved({ ...INITIAL_STATE, idleSinceMs: state.idleSinceMs ?? nowMs }, 'deploying', { do: 'launch' })
}

function retry(state: EngineState): Step {
  return moved({ ...state, retryAtMs: null, message: null }, 'starting', { do: 'launch' })
}
