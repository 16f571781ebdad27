import type { Said } from '../notices.ts'
import { TARGET_STATUSES, type TargetState } from '../restream/state.ts'

/** Bounds. A value outside gets a 400 that names the bound. */
export const PULL_LIMITS = { perAccount: 200, labelMax: 2048 } as const

/** When a source is dialled: as long as the server runs, or as long as the stream has viewers. */
export const PULL_TIMES = ['always', 'onDemand'] as const
export type PullTime = (typeof PULL_TIMES)[number]

/** What a user sets of a source that Sluice dials, and publishes as a stream in the name of a publish token. */
export interface PullSettings {
  readonly tokenId: number
  readonly streamName: string
  readonly label: string
  readonly enabled: boolean
  readonly when: PullTime
}

/** `idle`: it is on demand, and no viewer wants it. The others are those of a target of a restream. */
export const PULL_STATUSES = [...TARGET_STATUSES, 'idle'] as const

/** How a pull is, as its node wrote it. */
export type PullState = Pick<TargetState, 'status' | 'sinceMs' | 'retryAtMs' | 'problem'>

export interface Pull extends PullSettings {
  readonly id: number
  readonly accountId: string
  /** Its URL without secrets. */
  readonly shownUrl: string
  /** Grows with every change: what runs is dialled again then. */
  readonly version: number
  readonly addedAtMs: number
  /** When a viewer last wanted it, epoch milliseconds; 0: never. */
  readonly demandAtMs: number
  /** The node that runs it; null: none does. */
  readonly node: string | null
  readonly state: PullState
  /** The latest problem, also if it is over; null: there was none. */
  readonly lastProblem: (Said & { readonly atMs: number }) | null
}
