import type { DatedSpan } from '../base/clock.ts'
import type { IngestClaim } from '../core/channels/runs/claims.ts'
import type { Cause, EngineState } from '../core/channels/runs/engine.ts'
import type { Occurrence } from '../core/channels/schedules/plan.ts'
import type { SchedulerState } from '../core/channels/schedules/advance.ts'
import type { SchedulerRules } from '../core/channels/schedules/requests.ts'
import type { Engine } from '../core/channels/types.ts'
import type { Health } from '../core/webhooks/types.ts'
import type { Newest } from './channels.ts'
import type { Delivery } from './webhooks.ts'

// The store's interface for runs, schedulers and webhooks of the channels interface. Import it from `store.ts`.

/** The state of an engine that is not in its own row: the node that runs it, and its open run. */
export interface StoredEngineState extends Pick<EngineState, 'idleSinceMs' | 'failures' | 'retryAtMs'> {
  engineId: string
  accountId: string
  channelId: string
  /** The engine should run: a restarted server starts it again. */
  wanted: boolean
  /** The node that runs it. */
  node: string | null
  /** The node's lease has expired, by the time of the database. */
  isExpired: boolean
  runId: string | null
}

/** The state as written by `put`. Only `take` and renewals write the lease. */
export type EngineStateRecord = Omit<StoredEngineState, 'isExpired'>

/** A publisher that is connected to a node. */
export interface NewClaim {
  ingestId: string
  node: string
  connectedAtMs: number
}

export interface ClaimTimes {
  /** How long a claim lasts without a renewal. */
  claimMs: number
  /** How long a claim that came from another node stays at least. */
  pauseMs: number
}

/** One start-to-stop period of one engine. */
export interface Run {
  id: string
  accountId: string
  channelId: string
  engineId: string
  config: RunConfig
  start: Cause
  stop: Cause | null
  /** The cause's `id` of a start request during a scheduled run: the run then continues after the occurrence. */
  keptBy: string | null
  startedAtMs: number
  endedAtMs: number | null
  /** The last renewal during the run. */
  heartbeatAtMs: number
}

/** The configuration of the engine when it started. */
export interface RunConfig {
  ingest: { type: string }
  abrLadderId: string
  drm: boolean
}

export interface RunQuery extends Newest {
  /** Either `channelId` or `engineId`. */
  channelId?: string
  engineId?: string
  engineIds?: readonly string[]
  /** Started after, and ended before, epoch milliseconds. */
  startedAfterMs?: number
  endedBeforeMs?: number
}

/** A query for the runs of a channel that overlap a time range. */
export interface RunsWithin {
  channelId: string
  fromMs: number
  untilMs: number
  limit: number
}

export interface Scheduler extends SchedulerRules, SchedulerState {
  id: string
  accountId: string
  /** Time of the next action, epoch milliseconds. */
  nextAtMs: number | null
  createdAtMs: number
  updatedAtMs: number
}

export type SchedulerSort = 'createdAt' | 'name' | 'status' | 'startDate' | 'startTime'

export interface SchedulerQuery {
  accountId: string
  statuses?: readonly string[]
  /** Only those that start this channel. */
  channelId?: string
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

/** A webhook of the channels interface. `slot` is its `webhookId` in deliveries. */
export interface ChannelWebhook extends Health {
  id: string
  slot: number
  accountId: string
  name: string
  description: string | null
  url: string
  events: readonly string[]
  active: boolean
  /** Sealed under `webhook:secret`. */
  secretSealed: Uint8Array
  /** Last probe during a pause, or the begin of the pause, epoch milliseconds. */
  probedAtMs?: number
  createdAtMs: number
  updatedAtMs: number
}

/** An attempt that ended or was skipped. */
export interface LoggedAttempt extends Delivery {
  /** When it started or was skipped, epoch milliseconds. */
  loggedAtMs: number
  attempt: number
  /** The body that was sent; null before the first byte. */
  body: Uint8Array | null
  /** The event as JSON, while there is no body. */
  data: string
}

/** An event of a channel or one of its parts, copied from the outbox. `data` is JSON. */
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
  /** Only events strictly after this one, in the direction of the list. */
  after?: { atMs: number; id: string }
  limit: number
}

export interface LogQuery {
  slot: number
  fromMs?: number
  untilMs?: number
  /** Only attempts strictly older than this one. */
  after?: { atMs: number; id: string }
  limit: number
}

export interface RunReads {
  engineStates: {
    /** States of all accounts of engines that should run or that a node holds. */
    busy(): Promise<StoredEngineState[]>
    get(engineId: string): Promise<StoredEngineState | undefined>
  }
  ingestClaims: {
    /** The claims of these ingests, also expired ones. */
    of(ingestIds: readonly string[]): Promise<ReadonlyMap<string, IngestClaim>>
  }
  runs: {
    /** Newest first. */
    page(query: RunQuery): Promise<Run[]>
    /** Oldest first. */
    within(query: RunsWithin): Promise<Run[]>
    /** Whether the account has runs of this channel or engine, which may be deleted meanwhile. */
    exist(accountId: string, of: { channelId: string } | { engineId: string }): Promise<boolean>
  }
  schedulers: {
    get(accountId: string, id: string): Promise<Scheduler | undefined>
    page(query: SchedulerQuery): Promise<Scheduler[]>
    /** Schedulers whose `nextAtMs` has come, oldest first. */
    due(nowMs: number, limit: number): Promise<{ accountId: string; id: string }[]>
    /** Schedulers that are not terminated and have seen more than this time, at most `limit`. Reads all rows. */
    seenBeyond(atMs: number, limit: number): Promise<{ accountId: string; id: string }[]>
    /** Newest first. */
    skips(schedulerId: string, limit: number): Promise<SkippedOccurrence[]>
  }
  channelWebhooks: {
    get(accountId: string, id: string): Promise<ChannelWebhook | undefined>
    /** Newest first. */
    page(query: Newest & { accountId: string }): Promise<ChannelWebhook[]>
    /** Attempts that ended or were skipped, newest first by `loggedAtMs`. */
    log(query: LogQuery): Promise<LoggedAttempt[]>
    /** Slots of active, paused webhooks whose probe is due. */
    probesDue(query: { nowMs: number; limit: number }): Promise<number[]>
  }
  channelEvents: {
    /** By `atMs`, then id. */
    page(query: ChannelEventQuery): Promise<ChannelEvent[]>
  }
}

export interface RunTx {
  engineStates: {
    get(engineId: string): Promise<StoredEngineState | undefined>
    /** Of the engines of a channel that ever ran. */
    ofChannel(channelId: string): Promise<StoredEngineState[]>
    /** Writes all but the lease, which may be renewed meanwhile. Clears the lease when there is no node. */
    put(state: EngineStateRecord): Promise<void>
    /** Assigns the engine to this node, with a lease of this length. */
    take(engineId: string, node: string, leaseMs: number): Promise<void>
    delete(engineId: string): Promise<void>
  }
  ingestClaims: {
    /** The claims of these ingests, also expired ones. */
    of(ingestIds: readonly string[]): Promise<ReadonlyMap<string, IngestClaim>>
    /**
     * Claims an ingest for a node, or renews the claim. False: another node has a newer publisher, or got the
     * claim from another one less than `pauseMs` ago.
     */
    claim(of: NewClaim, times: ClaimTimes): Promise<boolean>
    /** Ends the claims of a node. */
    release(node: string): Promise<void>
    /** Deletes claims that ended earlier. */
    prune(beforeMs: number): Promise<number>
  }
  runs: {
    insert(run: Run): Promise<void>
    get(id: string): Promise<Run | undefined>
    /** Ends an open run. Its start is written again, because a wrong clock may have dated it. */
    end(id: string, stop: Cause, span: DatedSpan): Promise<void>
    /** Sets `keptBy`. */
    keep(id: string, by: string): Promise<void>
    /** Deletes at most `limit` runs that ended earlier; returns how many. */
    prune(beforeMs: number, limit: number): Promise<number>
  }
  schedulers: {
    insert(scheduler: Scheduler): Promise<void>
    /** Reads and locks the row until the transaction ends. */
    lock(accountId: string, id: string): Promise<Scheduler | undefined>
    replace(scheduler: Scheduler): Promise<void>
    /** Reads and locks the account's schedulers that are not terminated and name this channel, in the order of their ids. */
    lockNaming(accountId: string, channelId: string): Promise<Scheduler[]>
    /** The same of all of the account's schedulers. */
    lockAll(accountId: string): Promise<Scheduler[]>
    /** Deletes the scheduler with its skipped occurrences. */
    delete(id: string): Promise<void>
    /** Whether another active scheduler of the account names this engine, or all engines of its channel. */
    isWantedByOther(scheduler: Scheduler, engine: Pick<Engine, 'id' | 'channelId'>): Promise<boolean>
    /** The number of schedulers of the account. */
    count(accountId: string): Promise<number>
    skip(rows: readonly SkippedOccurrence[]): Promise<void>
    /** Forgets skipped occurrences of a scheduler that begin later. */
    unskip(schedulerId: string, afterMs: number): Promise<void>
    /** Deletes at most `limit` older skipped occurrences; returns how many. */
    pruneSkips(beforeMs: number, limit: number): Promise<number>
  }
  channelWebhooks: {
    insert(webhook: Omit<ChannelWebhook, 'slot'>): Promise<void>
    /** Reads and locks the row until the transaction ends. */
    lock(accountId: string, id: string): Promise<ChannelWebhook | undefined>
    replace(webhook: ChannelWebhook): Promise<void>
    /** The account's active webhooks. */
    active(accountId: string): Promise<ChannelWebhook[]>
    count(accountId: string): Promise<number>
  }
  channelEvents: {
    insert(events: readonly ChannelEvent[]): Promise<void>
    /** Deletes at most `limit` older events; returns how many. */
    prune(beforeMs: number, limit: number): Promise<number>
  }
}
