import { coded, type Said, say } from '../notices.ts'

/**
 * The state machine of one target of a restream, as a pure function: an event, its time and a random number in, the next
 * state and its effects out.
 *
 * | Status | Means | Goes to |
 * |---|---|---|
 * | `off` | there is no feed, or the target is switched off | `connecting` with `start` |
 * | `connecting` | the target is dialled | `live` when it accepts; `waiting`, `refused`, `failed` |
 * | `live` | the target takes media | `off` with `stop`; `connecting` with `moved`; `waiting`, `refused`, `failed` |
 * | `waiting` | the next attempt is at `retryAtMs` | `connecting` then |
 * | `refused` | the target has refused the key `REFUSALS_MAX` times | `off` with `stop`, `connecting` with `start` |
 * | `failed` | the target cannot take this media at all | as `refused`, and `waiting` with `otherCodecs` |
 *
 * `stop` leads to `off` from each. A refusal may come when the target is live: some services accept each key at first.
 */

export const TARGET_STATUSES = ['off', 'connecting', 'live', 'waiting', 'refused', 'failed'] as const
export type TargetStatus = (typeof TARGET_STATUSES)[number]

export interface TargetState {
  readonly status: TargetStatus
  /** Since when, epoch milliseconds. */
  readonly sinceMs: number
  /** Failed attempts since it was last live for `STEADY_MS`. The pause grows with them. */
  readonly failures: number
  /** Those of them in which the target refused the key. */
  readonly refusals: number
  /** It has been live for `STEADY_MS` since it was started: its key is right. */
  readonly isProved: boolean
  /** Epoch milliseconds; null: no attempt is due. */
  readonly retryAtMs: number | null
  /** Why it is `waiting`, `refused` or `failed`. */
  readonly problem: Said | null
}

export type TargetEvent =
  /** There is a feed for it. */
  | { readonly kind: 'start' }
  /** The feed or its token has ended, or the target is switched off. */
  | { readonly kind: 'stop' }
  | { readonly kind: 'accepted' }
  /** The target does not take the key. `isInUse`: perhaps because it has it already. */
  | (Said & { readonly kind: 'refused'; readonly isInUse?: boolean })
  /** There was no connection, or it ended. */
  | (Said & { readonly kind: 'lost' })
  /** The target is about to stop: it goes on at `url`, or at the same address. */
  | { readonly kind: 'moved'; readonly url: string | null }
  /** No attempt with this media can succeed: its codec is none of the protocol's. */
  | (Said & { readonly kind: 'unsuitable' })
  /** The media has other codecs: a target that cannot take it perhaps can now. */
  | { readonly kind: 'otherCodecs' }
  /** Time passes: an attempt may be due. */
  | { readonly kind: 'tick' }

type Refused = Extract<TargetEvent, { kind: 'refused' }>

/** What receivers of webhooks hear. Each `started` has one `ended` or one `error` after it. */
export type TargetNews = 'started' | 'ended' | 'error'

export type TargetEffect =
  /** `at`: where the target asked to go on; null: at its own address. */
  | { readonly do: 'dial'; readonly at: string | null }
  | { readonly do: 'hangUp' }
  /** Write the new status; `news`: and tell receivers of webhooks. */
  | { readonly do: 'record'; readonly news: TargetNews | null }

export interface TargetStep {
  readonly state: TargetState
  readonly effects: readonly TargetEffect[]
}

export interface TargetMoment {
  /** Epoch milliseconds. */
  readonly nowMs: number
  /** Of 0 to 1, random. Targets that failed together do not come back together. */
  readonly fraction: number
  /** The longest pause before an attempt. */
  readonly pauseMaxMs: number
}

export const REFUSALS_MAX = 3
export const TARGET_PAUSE_MAX_MS = 30_000
/** Viewers wait for a source that is back, such as a camera with new power. */
export const SOURCE_PAUSE_MAX_MS = 15_000
/** A target that ends sooner counts as one that failed again: it may accept and close each time. */
const STEADY_MS = 10_000
/** The share of a pause that the random number decides. It makes a pause shorter, so that the longest stays the longest. */
const JITTER = 0.25

const problemOf = ({ message, sentences = [] }: Said): Said => ({ message, sentences })

export const offTarget = (nowMs: number): TargetState => ({
  status: 'off',
  sinceMs: nowMs,
  failures: 0,
  refusals: 0,
  isProved: false,
  retryAtMs: null,
  problem: null,
})

/** The next state. An event that does not fit the present one changes nothing: those of connections come late. */
export function advanceTarget(state: TargetState, event: TargetEvent, moment: TargetMoment): TargetStep {
  const { nowMs } = moment
  switch (event.kind) {
    case 'start':
      return isAtRest(state) ? dialled(offTarget(nowMs)) : unchanged(state)
    case 'stop':
      return stopped(state, nowMs)
    case 'tick':
      return isDue(state, moment) ? dialled({ ...state, sinceMs: nowMs }) : unchanged(state)
    case 'accepted':
      return state.status === 'connecting' ? accepted(state, nowMs) : unchanged(state)
    case 'refused':
      return isConnected(state) ? refused(settled(state, nowMs), event, moment) : unchanged(state)
    case 'lost':
      return isConnected(state) ? lost(settled(state, nowMs), event, moment) : unchanged(state)
    case 'moved':
      return state.status === 'live' ? moved(state, event.url, moment) : unchanged(state)
    case 'otherCodecs':
      return state.status === 'failed'
        ? { state: waiting(state, state.problem, moment), effects: [record(null)] }
        : unchanged(state)
    case 'unsuitable':
      return isAtRest(state) ? unchanged(state) : rested(state, 'failed', event, nowMs)
  }
}

const isAtRest = ({ status }: TargetState): boolean => status === 'off' || status === 'refused' || status === 'failed'
const isConnected = ({ status }: TargetState): boolean => status === 'connecting' || status === 'live'

/** Also if it is further away than any attempt: the clock was put back since. */
const isDue = ({ retryAtMs }: TargetState, { nowMs, pauseMaxMs }: TargetMoment): boolean =>
  retryAtMs !== null && (retryAtMs <= nowMs || retryAtMs > nowMs + pauseMaxMs)

const unchanged = (state: TargetState): TargetStep => ({ state, effects: [] })

const record = (news: TargetNews | null): TargetEffect => ({ do: 'record', news })

const connecting = (state: TargetState): TargetState => ({
  ...state,
  status: 'connecting',
  retryAtMs: null,
  problem: null,
})

const dialled = (state: TargetState): TargetStep => ({
  state: connecting(state),
  effects: [record(null), { do: 'dial', at: null }],
})

/** It is dialled at once, but not again and again: one that was live for a moment only has failed. */
function moved(state: TargetState, at: string | null, moment: TargetMoment): TargetStep {
  const { nowMs } = moment
  if (nowMs - state.sinceMs < STEADY_MS) return lost(state, say(coded('target_moves')), moment)
  const next = connecting({ ...settled(state, nowMs), sinceMs: nowMs })
  return { state: next, effects: [record('ended'), { do: 'hangUp' }, { do: 'dial', at }] }
}

function accepted(state: TargetState, nowMs: number): TargetStep {
  return { state: { ...state, status: 'live', sinceMs: nowMs, problem: null }, effects: [record('started')] }
}

function stopped(state: TargetState, nowMs: number): TargetStep {
  if (state.status === 'off') return unchanged(state)
  const news = record(state.status === 'live' ? 'ended' : null)
  return { state: offTarget(nowMs), effects: isConnected(state) ? [news, { do: 'hangUp' }] : [news] }
}

/** What failed before a target was live for long enough no longer counts. */
const settled = (state: TargetState, nowMs: number): TargetState =>
  state.status === 'live' && nowMs - state.sinceMs >= STEADY_MS
    ? { ...state, failures: 0, refusals: 0, isProved: true }
    : state

/** A service may hold the name of a connection that broke for a minute: that it is in use says nothing of a proved key. */
function refused(state: TargetState, why: Refused, moment: TargetMoment): TargetStep {
  if (why.isInUse && state.isProved) return lost(state, why, moment)
  const refusals = state.refusals + 1
  const counted = { ...state, refusals }
  return refusals < REFUSALS_MAX ? lost(counted, why, moment) : rested(counted, 'refused', why, moment.nowMs)
}

function lost(state: TargetState, why: Said, moment: TargetMoment): TargetStep {
  const next = waiting(state, problemOf(why), moment)
  // A target that stays away is news once, and not at each attempt.
  const news = state.status === 'live' || next.failures === 1 ? 'error' : null
  return { state: next, effects: [record(news), { do: 'hangUp' }] }
}

/** The longer the more often it has failed, also for a publisher that changes its codec all the time. */
function waiting(state: TargetState, problem: Said | null, moment: TargetMoment): TargetState {
  const { nowMs } = moment
  const failures = state.failures + 1
  const retryAtMs = nowMs + pauseMs(failures, moment)
  return { ...state, status: 'waiting', sinceMs: nowMs, failures, retryAtMs, problem }
}

function rested(state: TargetState, status: 'refused' | 'failed', why: Said, nowMs: number): TargetStep {
  const next: TargetState = { ...state, status, sinceMs: nowMs, retryAtMs: null, problem: problemOf(why) }
  return { state: next, effects: [record('error'), { do: 'hangUp' }] }
}

/** 1 s, 2 s, 4 s … the longest, or up to a quarter less. */
const pauseMs = (failures: number, { fraction, pauseMaxMs }: TargetMoment): number =>
  Math.round(Math.min(pauseMaxMs, 1000 * 2 ** Math.min(failures - 1, 5)) * (1 - JITTER * fraction))
