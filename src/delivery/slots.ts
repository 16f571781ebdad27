/**
 * Shares the sending slots of a process among webhooks. Each webhook may use a few slots, and all webhooks share the
 * total. Pure: the state is a value; the caller claims rows from the store and reports finished deliveries.
 */

export interface DeliverySlotLimits {
  /** Deliveries in progress to one webhook. */
  readonly perWebhook: number
  /** Deliveries in progress in this process. */
  readonly total: number
}

/** The default: Sluice's own promise to receivers, and the connections that one process can hold open. */
const DEFAULT_LIMITS: DeliverySlotLimits = { perWebhook: 4, total: 64 }

export interface DeliverySlots {
  readonly limits: DeliverySlotLimits
  /** Deliveries in progress, by webhook; no entry for none. */
  readonly inFlight: ReadonlyMap<number, number>
  /** The sum of `inFlight`. */
  readonly busy: number
  /** The webhook that got the last slot. The next round begins after it. */
  readonly lastServed: number
}

/** A webhook that has rows to send. */
export interface Due {
  readonly webhookId: number
  /** How many rows are due; more than `perWebhook` need not be counted. */
  readonly rows: number
}

export interface Claim {
  readonly webhookId: number
  /** How many of its rows to claim, oldest first. */
  readonly take: number
}

export function emptySlots(limits: DeliverySlotLimits = DEFAULT_LIMITS): DeliverySlots {
  return { limits, inFlight: new Map(), busy: 0, lastServed: 0 }
}

/** Webhooks that can take no slot now. Leave them out of the query for due rows. */
export function saturated(slots: DeliverySlots): number[] {
  return [...slots.inFlight.keys()].filter((webhookId) => !hasRoom(slots, webhookId))
}

/**
 * Assigns free slots, one to each webhook in turn, beginning after the last that got one. A claimed slot counts as
 * in progress at once; `finish` releases it.
 */
export function claim(slots: DeliverySlots, due: readonly Due[]): { slots: DeliverySlots; claims: Claim[] } {
  const claims = new Map<number, number>()
  const waiting = inTurn(due, slots.lastServed).map(({ webhookId, rows }) => ({ webhookId, rows }))
  let next = slots
  let served = true
  while (served) {
    served = false
    for (const webhook of waiting) {
      if (webhook.rows <= 0 || !hasRoom(next, webhook.webhookId)) continue
      webhook.rows -= 1
      claims.set(webhook.webhookId, (claims.get(webhook.webhookId) ?? 0) + 1)
      next = occupied(next, webhook.webhookId)
      served = true
    }
  }
  return { slots: next, claims: [...claims].map(([webhookId, take]) => ({ webhookId, take })) }
}

/**
 * Releases the slot of one finished delivery to this webhook.
 * @throws when none was in progress: the counts would be wrong from then on
 */
export function finish(slots: DeliverySlots, webhookId: number): DeliverySlots {
  const count = slots.inFlight.get(webhookId)
  if (count === undefined) throw new Error(`nothing was in progress to webhook ${webhookId}`)
  const inFlight = new Map(slots.inFlight)
  if (count === 1) inFlight.delete(webhookId)
  else inFlight.set(webhookId, count - 1)
  return { ...slots, inFlight, busy: slots.busy - 1 }
}

/**
 * The more slots a webhook uses, the more must be free for it to get another one: `perWebhook` times as many. So
 * sixteen hanging receivers cannot take all 64 slots between them, and a webhook without deliveries in progress gets
 * the last slot.
 */
function hasRoom({ limits, inFlight, busy }: DeliverySlots, webhookId: number): boolean {
  const used = inFlight.get(webhookId) ?? 0
  return used < limits.perWebhook && used * limits.perWebhook < limits.total - busy
}

function occupied(slots: DeliverySlots, webhookId: number): DeliverySlots {
  const inFlight = new Map(slots.inFlight).set(webhookId, (slots.inFlight.get(webhookId) ?? 0) + 1)
  return { ...slots, inFlight, busy: slots.busy + 1, lastServed: webhookId }
}

/** By id, starting after `after`, once around. */
function inTurn(due: readonly Due[], after: number): Due[] {
  const sorted = [...due].sort((a, b) => a.webhookId - b.webhookId)
  const from = sorted.findIndex(({ webhookId }) => webhookId > after)
  return from <= 0 ? sorted : [...sorted.slice(from), ...sorted.slice(0, from)]
}
