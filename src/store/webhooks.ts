import type { Said } from '../core/notices.ts'
import type { Health, Webhook } from '../core/webhooks/types.ts'

// The store's interface for webhooks. Import it from `store.ts`.

/** A webhook as stored; `secretSealed` is its secret (base64 text) sealed under `webhook:secret`. */
export interface StoredWebhook extends Webhook {
  secretSealed: Uint8Array
  /** Of the channels interface: whether it gets events. Absent in the token interface. */
  active?: boolean
  /** Of the channels interface: last probe during a pause, or the begin of the pause. */
  probedAtMs?: number
}

export interface WebhookPageQuery {
  accountId: string
  /** The first id of the page, inclusive, in the direction of the list. */
  startingId?: number
  itemCount: number
  descending: boolean
}

/**
 * `pending` waits for a node; `started` was committed before the first byte left. Then `delivered` (2xx), `failed`, or
 * `unknown`: its node died after the start, so the receiver may have it. `skipped` was never sent; `error` says why.
 * `waiting` is the next attempt to a webhook of the channels interface, and becomes `pending` at its time.
 */
export type DeliveryState = 'waiting' | 'pending' | 'started' | 'delivered' | 'failed' | 'skipped' | 'unknown'

/** One event to deliver to one webhook. `id` and `eventId` are 22 time-ordered characters. */
export interface Delivery {
  id: string
  /** The same in a redelivery; receivers see it as `webhook-id`. */
  eventId: string
  webhookId: number
  accountId: string
  type: string
  event: string
  subject: string | null
  state: DeliveryState
  createdAtMs: number
  startedAtMs: number | null
  endedAtMs: number | null
  statusCode: number | null
  durationMs: number | null
  /** The beginning of the receiver's response. */
  answer: string | null
  /** Why it has not arrived; null: it has, or it is under way. */
  error: Said | null
  redeliveryOf: string | null
}

/** A new delivery. `data` is the event as JSON, from which the payload is made when it starts. */
export interface NewDelivery
  extends Pick<
    Delivery,
    'id' | 'eventId' | 'webhookId' | 'accountId' | 'type' | 'event' | 'subject' | 'createdAtMs' | 'error'
  > {
  state: 'pending' | 'skipped'
  data: string
  /** 1: Sluice retries failed attempts; absent: it does not. */
  attempt?: 1
}

/** The bytes of the first attempt, stored because a redelivery sends the same. */
export interface Payload {
  body: Uint8Array
  contentType: string
  /** Further headers for the body, such as those of a thumbnail. */
  headers: Readonly<Record<string, string>>
}

/** A pending delivery that this transaction has locked; `payload` is set when its bytes are already stored. */
export interface ClaimedDelivery extends Delivery {
  data: string
  payload: Payload | null
  /** The number of the attempt; null: there is only one. */
  attempt: number | null
}

/** How a started delivery ended. */
export interface DeliveryEnd extends Pick<Delivery, 'id' | 'statusCode' | 'durationMs' | 'answer' | 'error'> {
  state: 'delivered' | 'failed' | 'unknown'
  endedAtMs: number
}

export interface WebhookReads {
  get(accountId: string, id: number): Promise<StoredWebhook | undefined>
  /** One page, ordered by id. */
  list(query: WebhookPageQuery): Promise<StoredWebhook[]>
  /** All webhooks of an account, ordered by id. */
  forAccount(accountId: string): Promise<StoredWebhook[]>
}

/** Which deliveries to one webhook. All given filters apply. */
export interface DeliveryFilter {
  state?: DeliveryState
  type?: string
  /** Inclusive, epoch milliseconds: of the event. */
  fromMs?: number
  /** No matching row has an id before this one; bounds the search. */
  firstId?: string
}

export interface DeliveryPageQuery extends DeliveryFilter {
  webhookId: number
  /** Strictly older than this one. */
  after?: string
  limit: number
}

/** Deliveries that ended without reaching the receiver, and that were not sent again since. */
export interface UndeliveredQuery extends Omit<DeliveryFilter, 'state'> {
  webhookId: number
  states: readonly ('failed' | 'skipped' | 'unknown')[]
  /** Strictly newer than this one; empty: from the oldest. */
  after: string
  /** Strictly older than this one. */
  before: string
  limit: number
}

/** Deliveries that have not begun, each counted up to a limit. */
export interface DeliveryQueue {
  /** The next that are sent. */
  readonly pending: number
  /** Until their next attempt. */
  readonly waiting: number
}

/** A webhook with pending deliveries. */
export interface DueWebhook {
  readonly webhookId: number
  readonly accountId: string
  /** This and the next are null when it was deleted. */
  readonly url: string | null
  readonly failuresInRow: number | null
  readonly rows: number
}

export interface DeliveryReads {
  /** Of all nodes. The cost is bounded by `upTo`. */
  queue(upTo: number): Promise<DeliveryQueue>
  get(id: string): Promise<Delivery | undefined>
  /** Newest first; strictly older than `after`. */
  page(query: DeliveryPageQuery): Promise<Delivery[]>
  /** The bytes that were sent, or undefined when it never started. */
  payload(id: string): Promise<Payload | undefined>
  /** Webhooks after `after`, by id, with pending deliveries and their number, counted up to `upTo`. The cost does not
   * depend on the number of pending rows. */
  due(query: {
    after: number
    without: { readonly accountIds: readonly string[]; readonly webhookIds: readonly number[] }
    upTo: number
    limit: number
  }): Promise<DueWebhook[]>
  /** Whether `release` of a transaction would find something. Cheap. */
  isRetryDue(nowMs: number): Promise<boolean>
  /** Whether `expire` of a transaction would find something, or a node that sends deliveries has an expired lease. */
  isSomeLost(startedBeforeMs: number): Promise<boolean>
}

export interface WebhookTx {
  insert(webhook: Omit<StoredWebhook, 'id'>): Promise<StoredWebhook>
  /** Reads and locks the row until the transaction ends. */
  lock(accountId: string, id: number): Promise<StoredWebhook | undefined>
  /** Locks those that still exist, in the order of their ids, so that two transactions cannot deadlock. */
  lockAll(ids: readonly number[]): Promise<StoredWebhook[]>
  forAccount(accountId: string): Promise<StoredWebhook[]>
  /** Overwrites the whole row, which must be locked. */
  replace(webhook: StoredWebhook): Promise<void>
  setHealth(id: number, health: Health): Promise<void>
  setProbed(id: number, atMs: number): Promise<void>
  /** Deletes the webhook and its pending deliveries; others stay until they are pruned. */
  delete(id: number): Promise<void>
}

export interface DeliveryTx {
  insert(rows: readonly NewDelivery[]): Promise<void>
  /** Their ids, oldest first. The webhook's row must be locked. */
  undelivered(query: UndeliveredQuery): Promise<string[]>
  /** Adds a pending delivery of the same event, with the same bytes when they are stored. Undefined: no such delivery. */
  redeliver(input: { of: string; id: string; atMs: number }): Promise<Delivery | undefined>
  /** Locks up to `take` of the oldest pending rows of a webhook, so that its started ones on all nodes stay within `cap`.
   * The webhook's row must be locked. */
  claim(input: { webhookId: number; take: number; cap: number }): Promise<ClaimedDelivery[]>
  /** Marks claimed rows as `started` and stores their bytes. Send nothing before this is committed. */
  start(node: string, atMs: number, claimed: readonly { id: string; payload: Payload }[]): Promise<void>
  /**
   * Saves the ends of deliveries that this node started; a late result replaces `unknown`. Returns the ids of those that were under way
   * until now.
   */
  finish(node: string, ends: readonly DeliveryEnd[]): Promise<string[]>
  /**
   * Makes deliveries pending that this node started and did not send. One that became `unknown` meanwhile stays so if a
   * newer delivery of its event to the same webhook exists.
   */
  requeue(node: string, ids: readonly string[]): Promise<void>
  /** Marks the oldest pending rows of a webhook as `skipped`; those that a user requested only with `includesRequested`. */
  skip(input: {
    webhookId: number
    reason: Said
    atMs: number
    limit: number
    includesRequested: boolean
  }): Promise<number>
  /** Makes the oldest pending rows of a webhook wait until then, except `except` and those that a user requested. */
  hold(input: { webhookId: number; untilMs: number; except: string | null; limit: number }): Promise<number>
  /** Ends the wait of rows that `hold` set to `untilMs`. */
  resume(webhookId: number, untilMs: number, nowMs: number): Promise<number>
  /**
   * Gives a paused webhook a pending delivery if it has none: the oldest waiting one or, when none waits, a new attempt of
   * the last one that failed, with this id. The webhook's row must be locked.
   */
  offerProbe(input: { webhookId: number; id: string; atMs: number }): Promise<void>
  /** Adds another attempt with the same bytes; false when the delivery is never retried. */
  retry(input: { of: string; id: string; atMs: number; notBeforeMs: number }): Promise<boolean>
  /**
   * Makes attempts pending that are due, and those that would wait for longer than any, since the clock was put back: at most `limit`
   * of each. Returns how many.
   */
  release(nowMs: number, limit: number): Promise<number>
  /** Marks all deliveries of a webhook that have not started as `skipped`. */
  giveUp(webhookId: number, reason: Said, atMs: number): Promise<number>
  /** Takes or renews the lease of a sending node. */
  renew(node: string, leaseMs: number): Promise<void>
  /** Ends the lease of a node that has stopped sending. */
  leave(node: string): Promise<void>
  /**
   * Marks started rows as `unknown` whose node has no valid lease, by the time of the database, or that started before
   * `startedBeforeMs`; returns how many.
   */
  expire(input: {
    nowMs: number
    startedBeforeMs: number
    reason: Said
    limit: number
    /** Creates the id of the next attempt, for rows that are retried. */
    retryId?: () => string
  }): Promise<number>
  /** Deletes at most `limit` older rows that have ended, oldest first; returns how many. */
  prune(beforeMs: number, limit: number): Promise<number>
}
