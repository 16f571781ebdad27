import type { Health, Webhook } from '../core/webhooks/types.ts'

// The part of the store's interface that webhooks need. Import it from `store.ts`, which is the one door.

/** A webhook as stored; `secretSealed` is its secret (base64 text) sealed under `webhook:secret`. */
export interface StoredWebhook extends Webhook {
  secretSealed: Uint8Array
  /** Of a webhook of the live interface: whether it is to be told anything. Absent: it is of the token interface. */
  active?: boolean
  /** Of the live interface: when it was probed last in a pause, or paused. */
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
 * `pending` waits; `started` was committed before the first byte left; then `delivered` (2xx), `failed`, or `unknown`: it
 * had begun when the node stopped answering, so the receiver may have it. `skipped` was never sent, and says why. `waiting`
 * becomes `pending` at its time: the next attempt to a webhook of the live interface.
 */
export type DeliveryState = 'waiting' | 'pending' | 'started' | 'delivered' | 'failed' | 'skipped' | 'unknown'

/** One event on its way to one webhook. `id` and `eventId` are 22 time-ordered characters. */
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
  /** The beginning of what the receiver answered. */
  answer: string | null
  error: string | null
  redeliveryOf: string | null
}

/** A delivery that was not begun. `data` is the event's JSON, from which the payload is made when it starts. */
export interface NewDelivery
  extends Pick<
    Delivery,
    'id' | 'eventId' | 'webhookId' | 'accountId' | 'type' | 'event' | 'subject' | 'createdAtMs' | 'error'
  > {
  state: 'pending' | 'skipped'
  data: string
  /** 1: failed attempts are followed by others; absent: never. */
  attempt?: 1
}

/** The bytes as they were sent first, kept: a redelivery sends the same. */
export interface Payload {
  body: Uint8Array
  contentType: string
  /** More headers that belong to the body; those of a thumbnail. */
  headers: Readonly<Record<string, string>>
}

/** A pending delivery that this transaction has locked; `payload` is set when its bytes are fixed already. */
export interface ClaimedDelivery extends Delivery {
  data: string
  payload: Payload | null
  /** Which attempt it is; null: the only one. */
  attempt: number | null
}

/** How a started delivery ended. */
export interface DeliveryEnd extends Pick<Delivery, 'id' | 'statusCode' | 'durationMs' | 'answer' | 'error'> {
  state: 'delivered' | 'failed' | 'unknown'
  endedAtMs: number
}

export interface WebhookReads {
  get(accountId: string, id: number): Promise<StoredWebhook | undefined>
  /** One page by id. */
  list(query: WebhookPageQuery): Promise<StoredWebhook[]>
  /** All of an account, by id. */
  forAccount(accountId: string): Promise<StoredWebhook[]>
}

export interface DeliveryReads {
  get(id: string): Promise<Delivery | undefined>
  /** Newest first; strictly older than `after`. */
  page(query: { webhookId: number; after?: string; limit: number }): Promise<Delivery[]>
  /** The bytes that were sent, or undefined when it never began. */
  payload(id: string): Promise<Payload | undefined>
  /** Webhooks behind `after`, by id, that have pending deliveries; how many, counted to `upTo`. Costs the same with any
   * number of pending rows. */
  due(query: {
    after: number
    without: readonly number[]
    upTo: number
    limit: number
  }): Promise<{ webhookId: number; rows: number }[]>
  /** Whether the time of a waiting attempt has come. Cheap. */
  isRetryDue(nowMs: number): Promise<boolean>
}

export interface WebhookTx {
  insert(webhook: Omit<StoredWebhook, 'id'>): Promise<StoredWebhook>
  /** Reads and locks the row until the transaction ends. */
  lock(accountId: string, id: number): Promise<StoredWebhook | undefined>
  /** Locks all that still exist, in the order of their ids, so that two transactions never wait for each other. */
  lockAll(ids: readonly number[]): Promise<StoredWebhook[]>
  forAccount(accountId: string): Promise<StoredWebhook[]>
  /** Writes the whole record over the old one. The row must be locked. */
  replace(webhook: StoredWebhook): Promise<void>
  setHealth(id: number, health: Health): Promise<void>
  setProbed(id: number, atMs: number): Promise<void>
  /** Removes the webhook and what is pending for it; what was sent stays until it is pruned. */
  delete(id: number): Promise<void>
}

export interface DeliveryTx {
  insert(rows: readonly NewDelivery[]): Promise<void>
  /** A new pending delivery of the same event, with the same bytes when they are fixed. Undefined: no such delivery. */
  redeliver(input: { of: string; id: string; atMs: number }): Promise<Delivery | undefined>
  /** Locks the oldest pending rows of a webhook, whose row must be locked: `take`, but no more than keep the number of
   * its started ones, on all nodes, within `cap`. */
  claim(input: { webhookId: number; take: number; cap: number }): Promise<ClaimedDelivery[]>
  /** Makes claimed rows `started` and keeps their bytes. Nothing may be sent before this is committed. */
  start(node: string, atMs: number, claimed: readonly { id: string; payload: Payload }[]): Promise<void>
  /** Writes how deliveries that this node started have ended; a late truth replaces `unknown`. */
  finish(node: string, ends: readonly DeliveryEnd[]): Promise<void>
  /** Makes the oldest pending rows of a webhook `skipped`, those that a person asked for only with `askedForToo`. */
  skip(input: { webhookId: number; reason: string; atMs: number; limit: number; askedForToo: boolean }): Promise<number>
  /** Makes the oldest pending rows of a webhook wait until then, but for `except` and for those that a person asked for. */
  hold(input: { webhookId: number; untilMs: number; except: string | null; limit: number }): Promise<number>
  /** What was made to wait until then need not wait any longer. */
  resume(webhookId: number, untilMs: number, nowMs: number): Promise<number>
  /**
   * Unless something of a paused webhook is pending: makes the oldest that waits pending or, when nothing does, sends what it
   * failed to get last once more, as a row with this id. The webhook's row must be locked.
   */
  offerProbe(input: { webhookId: number; id: string; atMs: number }): Promise<void>
  /** Another attempt of a delivery that counts them, with the same bytes; false when it does not. */
  retry(input: { of: string; id: string; atMs: number; notBeforeMs: number }): Promise<boolean>
  /** Makes at most `limit` waiting attempts pending whose time has come; answers how many. */
  release(nowMs: number, limit: number): Promise<number>
  /** Makes everything of a webhook `skipped` that has not begun. */
  giveUp(webhookId: number, reason: string, atMs: number): Promise<number>
  /** Takes or renews the lease of a node that sends. */
  renew(node: string, leaseMs: number): Promise<void>
  /** The node sends nothing more. */
  leave(node: string): Promise<void>
  /**
   * Makes started rows `unknown` whose node has no lease that still runs, by the time of the database, or that began
   * before `startedBeforeMs`; answers how many.
   */
  expire(input: {
    nowMs: number
    startedBeforeMs: number
    reason: string
    limit: number
    /** Makes the id of another attempt, for those that are tried again. */
    retryId?: () => string
  }): Promise<number>
  /** Deletes at most `limit` rows that were made earlier and have ended, oldest first; answers how many it deleted. */
  prune(beforeMs: number, limit: number): Promise<number>
}
