/**
 * Who may send next. Each webhook is a lane with a few places, and all lanes share the places of the process. Pure: the
 * state is a value, the caller claims rows from the store and reports what ended.
 */

export interface DeliverySlotLimits {
  /** Deliveries under way to one webhook. */
  readonly perSlot: number
  /** Deliveries under way in this process. */
  readonly total: number
}

/** Sluice's own promise to receivers, and what one process can hold open. */
const LANE_LIMITS: DeliverySlotLimits = { perSlot: 4, total: 64 }

export interface DeliverySlots {
  readonly limits: DeliverySlotLimits
  /** Deliveries under way, by webhook; no entry for none. */
  readonly inFlight: ReadonlyMap<number, number>
  /** The sum of `inFlight`. */
  readonly busy: number
  /** The webhook that got a place last; the next round begins behind it. */
  readonly lastServed: number
}

/** A webhook that has rows to send. */
export interface Due {
  readonly webhookId: number
  /** How many rows are due; more than `perLane` need not be counted. */
  readonly rows: number
}

export interface Claim {
  readonly webhookId: number
  /** How many of its rows to claim, oldest first. */
  readonly take: number
}

export function emptySlots(limits: DeliverySlotLimits = LANE_LIMITS): DeliverySlots {
  return { limits, inFlight: new Map(), busy: 0, lastServed: 0 }
}

/** Webhooks that can take nothing now: leave them out of the question for due rows. */
export function saturated(slots: DeliverySlots): number[] {
  return [...slots.inFlight.keys()].filter((webhookId) => !hasRoom(slots, webhookId))
}

/**
 * Gives out free places, one to each webhook in turn, beginning behind the last that got one. What is claimed counts as
 * under way from now on; `finish` gives each place back.
 */
export function claim(slots: DeliverySlots, due: readonly Due[]): { slots: DeliverySlots; claims: Claim[] } {
  const claims = new Map<number, number>()
  const waiting = inTurn(due, slots.lastServed).map(({ webhookId, rows }) => ({ webhookId, rows }))
  let next = slots
  let served = true
  while (served) {
    served = false
    for (const slot of waiting) {
      if (slot.rows <= 0 || !hasRoom(next, slot.webhookId)) continue
      slot.rows -= 1
      claims.set(slot.webhookId, (claims.get(slot.webhookId) ?? 0) + 1)
      next = occupied(next, slot.webhookId)
      served = true
    }
  }
  return { slots: next, claims: [...claims].map(([webhookId, take]) => ({ webhookId, take })) }
}

/** One delivery to this webhook has ended. @throws when none was under way: the books would be wrong from then on */
export function finish(slots: DeliverySlots, webhookId: number): DeliverySlots {
  const count = slots.inFlight.get(webhookId)
  if (count === undefined) throw new Error(`nothing was under way to webhook ${webhookId}`)
  const inFlight = new Map(slots.inFlight)
  if (count === 1) inFlight.delete(webhookId)
  else inFlight.set(webhookId, count - 1)
  return { ...slots, inFlight, busy: slots.busy - 1 }
}

/**
 * The more a lane has under way, the more places must be free for it to get another one: `perLane` times as many. So
 * sixteen receivers that hang cannot take all 64 places between them, and a lane with nothing under way gets the last
 * one.
 */
function hasRoom({ limits, inFlight, busy }: DeliverySlots, webhookId: number): boolean {
  const mine = inFlight.get(webhookId) ?? 0
  return mine < limits.perSlot && mine * limits.perSlot < limits.total - busy
}

function occupied(slots: DeliverySlots, webhookId: number): DeliverySlots {
  const inFlight = new Map(slots.inFlight).set(webhookId, (slots.inFlight.get(webhookId) ?? 0) + 1)
  return { ...slots, inFlight, busy: slots.busy + 1, lastServed: webhookId }
}

/** By id, from the first behind `after` once around. */
function inTurn(due: readonly Due[], after: number): Due[] {
  const sorted = [...due].sort((a, b) => a.webhookId - b.webhookId)
  const from = sorted.findIndex(({ webhookId }) => webhookId > after)
  return from <= 0 ? sorted : [...sorted.slice(from), ...sorted.slice(0, from)]
}
