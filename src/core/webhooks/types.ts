import type { HookType } from './events.ts'

/** Which kinds of events a webhook receives. */
export type HookSwitches = Readonly<Record<HookType, boolean>>

/** The part of a webhook that its owner sets. */
export interface WebhookRules {
  url: string
  hooks: HookSwitches
  /** An RE2 pattern that must match the whole stream name, or transcoder name; null: everything. */
  filter: string | null
}

/** Why and until when nothing is sent. */
export interface Disabled {
  readonly untilMs: number
  readonly reason: string
}

/** How a webhook has fared lately. */
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

/** What an update asks for; a field that is absent stays as it is. */
export interface WebhookPatch {
  set: Partial<Omit<WebhookRules, 'hooks'>>
  /** Only the switches that were named. */
  hooks: Partial<HookSwitches>
  refreshSecret: boolean
  /** Lifts the pause that many failures have caused; a new `url` does so too. */
  reEnable: boolean
}

export const WEBHOOK_LIMITS = {
  filterMax: 128,
  /** Failures without a success between them, after which a webhook is paused. */
  failuresInRow: 100,
  pauseMs: 3_600_000,
} as const
