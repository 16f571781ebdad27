import type { Cause, EngineState } from '../core/channels/runs/engine.ts'
import type { Occurrence, Timing } from '../core/channels/schedules/plan.ts'
import type { SchedulerState } from '../core/channels/schedules/advance.ts'
import type { Health } from '../core/webhooks/types.ts'
import type { Newest } from './channels.ts'
import type { Delivery } from './webhooks.ts'

// The part of the store's interface that runs, schedulers and the live interface's webhooks need. Import it from `store.ts`.

/** The part of an engine's life that is not in its record: who runs it, and the run that is open. */
export interface StoredEngineState extends Pick<EngineState, 'idleSinceMs' | 'failures' | 'retryAtMs'> {
  engineId: string
  accountId: string
  channelId: string
  /** Somebody wants it to run: a server that comes back brings it up again. */
  wanted: boolean
  /** The process that runs it. */
  node: string | null
  /** The lease of that process has run out, by the time of the database. */
  isExpired: boolean
  runId: string | null
}

/** What is written of it. The lease is written by `take` and `renew` alone. */
export type EngineStateRecord = Omit<StoredEngineState, 'isExpired'>

/** One start-to-stop period of one engine. */
export interface Run {
  id: string
  accountId: string
  channelId: string
  engineId: string
  config: RunConfig
  start: Cause
  stop: Cause | null
  /** Who asked for it while a scheduler ran it, so that it goes on when the occurrence ends; the `id` of a cause. */
  keptBy: string | null
  startedAtMs: number
  endedAtMs: number | null
  /** The last moment at which it is known to have run. */
  heartbeatAtMs: number
}

/** What the engine was made of when it was started. */
export interface RunConfig {
  ingest: { type: string }
  abrLadderId: string
  drm: boolean
}

export interface RunQuery extends Newest {
  /** One of the two. */
  channelId?: string
  engineId?: string
  engineIds?: readonly string[]
  /** Begun after, and ended before, epoch milliseconds. */
  startedAfterMs?: number
  endedBeforeMs?: number
}

/** Runs of a channel that were open at some moment of a time. */
export interface RunsWithin {
  channelId: string
  fromMs: number
  untilMs: number
  limit: number
}

/** What a scheduler starts; without `engineIds` all engines of the channel. */
export interface ScheduledChannel {
  channelId: string
  engineIds?: readonly string[]
}

export interface Scheduler extends Timing, SchedulerState {
  id: string
  accountId: string
  name: string
  enabled: boolean
  channels: readonly ScheduledChannel[]
  /** When something has to happen next, epoch milliseconds. */
  nextAtMs: number | null
  createdAtMs: number
  updatedAtMs: number
}

export type SchedulerSort = 'createdAt' | 'name' | 'status' | 'startDate' | 'startTime'

export interface SchedulerQuery {
  accountId: string
  statuses?: readonly string[]
  sortBy: SchedulerSort
  descending: boolean
  limit: number
  after?: { key: string | number; id: string }
}

export interface SkippedOccurrence extends Occurrence {
  schedulerId: string
  atMs: number
  reason: string
}

/** A webhook of the live interface. `lane` is the number under which deliveries know it. */
export interface ChannelWebhook extends Health {
  id: string
  lane: number
  accountId: string
  name: string
  description: string | null
  url: string
  events: readonly string[]
  active: boolean
  /** Sealed under `webhook:secret`. */
  secretSealed: Uint8Array
  /** When it was probed last in a pause, or paused. */
  probedAtMs?: number
  createdAtMs: number
  updatedAtMs: number
}

/** An attempt that has ended, or was skipped. */
export interface LoggedAttempt extends Delivery {
  /** When it began, or was skipped. */
  loggedAtMs: number
  attempt: number
  /** What was sent; null: nothing was. */
  body: Uint8Array | null
  /** The event's JSON, while there is no body. */
  data: string
}

/** Something that happened to a channel or one of its parts, as the outbox had it: `data` is JSON. */
export interface ChannelEvent {
  id: string
  accountId: string
  atMs: number
  /** `engine.playing`, … */
  type: string
  data: string
}

export interface ChannelEventQuery {
  accountId: string
  types?: readonly string[]
  fromMs?: number
  untilMs?: number
  descending: boolean
  /** Strictly behind it, in the direction of the list. */
  after?: { atMs: number; id: string }
  limit: number
}

export interface LogQuery {
  lane: number
  fromMs?: number
  untilMs?: number
  /** Strictly older. */
  after?: { atMs: number; id: string }
  limit: number
}

export interface RunReads {
  engineStates: {
    /** Of all accounts: those that run, are wanted, or are held by a node. */
    busy(): Promise<StoredEngineState[]>
    get(engineId: string): Promise<StoredEngineState | undefined>
  }
  runs: {
    /** Newest first. */
    page(query: RunQuery): Promise<Run[]>
    /** Oldest first. */
    within(query: RunsWithin): Promise<Run[]>
    /** Whether there are any of this channel or engine of the account, which may be deleted. */
    exist(accountId: string, of: { channelId: string } | { engineId: string }): Promise<boolean>
  }
  schedulers: {
    get(accountId: string, id: string): Promise<Scheduler | undefined>
    page(query: SchedulerQuery): Promise<Scheduler[]>
    /** Ids with something to do, oldest first. */
    due(nowMs: number, limit: number): Promise<{ accountId: string; id: string }[]>
    /** Newest first. */
    skips(schedulerId: string, limit: number): Promise<SkippedOccurrence[]>
  }
  channelWebhooks: {
    get(accountId: string, id: string): Promise<ChannelWebhook | undefined>
    /** Newest first. */
    page(query: Newest & { accountId: string }): Promise<ChannelWebhook[]>
    /** Attempts that have ended, and what was skipped, newest first by `loggedAtMs`. */
    log(query: LogQuery): Promise<LoggedAttempt[]>
    /** Lanes of those that are paused and active, and have not been probed since. */
    probesDue(query: { nowMs: number; probedBeforeMs: number; limit: number }): Promise<number[]>
  }
  channelEvents: {
    /** By `atMs`, then id. */
    page(query: ChannelEventQuery): Promise<ChannelEvent[]>
  }
}

export interface RunTx {
  engineStates: {
    get(engineId: string): Promise<StoredEngineState | undefined>
    /** Writes all but the lease, which may be renewed meanwhile. Without a node there is no lease. */
    put(state: EngineStateRecord): Promise<void>
    /** From now on this node runs the engine, with a lease of this length. */
    take(engineId: string, node: string, leaseMs: number): Promise<void>
    /** Renews the leases of all engines of a node, and notes that their runs go on. */
    renew(node: string, leaseMs: number): Promise<void>
    delete(engineId: string): Promise<void>
  }
  runs: {
    insert(run: Run): Promise<void>
    get(id: string): Promise<Run | undefined>
    end(id: string, stop: Cause, endedAtMs: number): Promise<void>
    /** Puts on record who asked for it to go on. */
    keep(id: string, by: string): Promise<void>
    /** Those that ended before; answers how many. */
    prune(beforeMs: number, limit: number): Promise<number>
  }
  schedulers: {
    insert(scheduler: Scheduler): Promise<void>
    /** Reads and locks the row until the transaction ends. */
    lock(accountId: string, id: string): Promise<Scheduler | undefined>
    replace(scheduler: Scheduler): Promise<void>
    /** Those of the account that are not terminated and name this channel; reads and locks them, in the order of their ids. */
    lockNaming(accountId: string, channelId: string): Promise<Scheduler[]>
    /** With what it skipped. */
    delete(id: string): Promise<void>
    /** Active ones of the account, but for this one. */
    otherActive(accountId: string, id: string): Promise<Scheduler[]>
    /** How many the account has. */
    count(accountId: string): Promise<number>
    skip(rows: readonly SkippedOccurrence[]): Promise<void>
    /** Forgets what was skipped before; answers how many. */
    pruneSkips(beforeMs: number, limit: number): Promise<number>
  }
  channelWebhooks: {
    insert(webhook: Omit<ChannelWebhook, 'lane'>): Promise<void>
    /** Reads and locks the row until the transaction ends. */
    lock(accountId: string, id: string): Promise<ChannelWebhook | undefined>
    replace(webhook: ChannelWebhook): Promise<void>
    /** Active ones of an account. */
    active(accountId: string): Promise<ChannelWebhook[]>
    count(accountId: string): Promise<number>
  }
  channelEvents: {
    insert(events: readonly ChannelEvent[]): Promise<void>
    /** Those that happened before; answers how many. */
    prune(beforeMs: number, limit: number): Promise<number>
  }
}
