import { CLOCK_SKEW_MS, HOUR_MS } from '../../base/time.ts'
import type { CodedSentence } from '../notices.ts'
import type { HookKind } from './events.ts'

/** Which kinds of events a webhook receives. */
export type HookSwitches = Readonly<Record<HookKind, boolean>>

/** The part of a webhook that its owner sets. */
export interface WebhookRules {
  url: string
  hooks: HookSwitches
  /** An RE2 pattern that must match the whole stream or transcoder name; null: all events. */
  filter: string | null
}

/** Why and until when the webhook is paused. */
export interface Disabled {
  readonly untilMs: number
  readonly reason: readonly CodedSentence[]
}

/** Why a request is not one of a webhook, for its receiver. */
export type Mismatch = 'missing_signature' | 'wrong_signature' | 'too_old' | 'too_new'

/** The recent failures of a webhook. */
export interface Health {
  readonly failuresInRow: number
  readonly disabled: Disabled | null
}

/** A stored webhook without its secret. Times are epoch milliseconds. */
export interface Webhook extends WebhookRules, Health {
  id: number
  accountId: string
  addedAtMs: number
}

/** The content of an update. An absent field stays as it is. */
export interface WebhookPatch {
  set: Partial<Omit<WebhookRules, 'hooks'>>
  /** Only the switches in the body. */
  hooks: Partial<HookSwitches>
  refreshSecret: boolean
  /** Ends a pause that failures have caused. A new `url` does so too. */
  reEnable: boolean
}

export const WEBHOOK_LIMITS = {
  filterMax: 128,
  /** Failures in a row after which a webhook is paused. */
  failuresInRow: 100,
  pauseMs: HOUR_MS,
} as const

/**
 * No pause ends later than this from now, and no attempt waits longer. One that would was dated by a clock that was ahead and has been
 * put back.
 */
export const WAIT_MAX_MS = WEBHOOK_LIMITS.pauseMs + CLOCK_SKEW_MS
