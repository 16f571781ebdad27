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
const DEFAULT_LIMITS: DeliverySlotLimits = { perWebhook: 4, total: 128 }

export interface DeliverySlots {
  readonly limits: DeliverySlotLimits
  /** Deliveries in progress, by webhook; no entry for none. */
  readonly inFlight: ReadonlyMap<number, number>
  /** The sum of `inFlight`. */
  readonly busy: number
  /** The webhook that got the last slot. The next round begins after it. */
  readonly lastServed: number
  /** Webhooks whose latest exchange takes long, or took long; the oldest first. */
  readonly slow: ReadonlySet<number>
  /** The accounts of the webhooks in `inFlight` and `slow`. */
  readonly owners: ReadonlyMap<number, string>
}

/** A webhook that has rows to send. */
export interface Due {
  readonly webhookId: number
  readonly accountId: string
  /** How many rows are due; more than `perWebhook` need not be counted. */
  readonly rows: number
}

export interface Claim {
  readonly webhookId: number
  /** How many of its rows to claim, oldest first. */
  readonly take: number
}

/** An exchange that takes longer makes its webhook slow, until one takes less. */
export const SLOW_MS = 1000
/** All webhooks of two accounts; the oldest are forgotten. */
const SLOW_MAX = 2000

export function emptySlots(limits: DeliverySlotLimits = DEFAULT_LIMITS): DeliverySlots {
  return { limits, inFlight: new Map(), busy: 0, lastServed: 0, slow: new Set(), owners: new Map() }
}

/** Accounts and webhooks that can take no slot now. Leave them out of the query for due rows. */
export function saturated(slots: DeliverySlots): { readonly accountIds: string[]; readonly webhookIds: number[] } {
  const use = useOf(slots)
  const accountIds = [...use.byAccount.keys()].filter((accountId) => !accountHasRoom(use, accountId))
  const webhooks = [...slots.owners].filter(([id, accountId]) => !hasRoom(slots, use, id, accountId))
  return { accountIds, webhookIds: webhooks.map(([id]) => id) }
}

/**
 * Assigns free slots, one to each webhook in turn, beginning after the last that got one. A claimed slot counts as
 * in progress at once; `finish` releases it.
 */
export function claim(slots: DeliverySlots, due: readonly Due[]): { slots: DeliverySlots; claims: Claim[] } {
  const claims = new Map<number, number>()
  const waiting = inTurn(due, slots.lastServed).map((one) => ({ ...one }))
  let [next, use] = [slots, useOf(slots)]
  let served = true
  while (served) {
    served = false
    for (const webhook of waiting) {
      const { webhookId, accountId } = webhook
      if (webhook.rows <= 0 || !hasRoom(next, use, webhookId, accountId)) continue
      webhook.rows -= 1
      claims.set(webhookId, (claims.get(webhookId) ?? 0) + 1)
      next = occupied(next, webhook)
      use = useOf(next)
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
  return withOwners({ ...slots, inFlight, busy: slots.busy - 1 })
}

/** Notes how long exchanges with a webhook take. */
export function paced(slots: DeliverySlots, webhookId: number, isSlow: boolean): DeliverySlots {
  if (slots.slow.has(webhookId) === isSlow) return slots
  const slow = new Set(slots.slow)
  if (isSlow) slow.add(webhookId)
  else slow.delete(webhookId)
  const [oldest] = slow.size > SLOW_MAX ? slow : []
  if (oldest !== undefined) slow.delete(oldest)
  return withOwners({ ...slots, slow })
}

function withOwners(slots: DeliverySlots): DeliverySlots {
  const { inFlight, slow, owners } = slots
  return { ...slots, owners: new Map([...owners].filter(([id]) => inFlight.has(id) || slow.has(id))) }
}

/** What is in progress. */
interface SlotUse {
  readonly free: number
  readonly byAccount: ReadonlyMap<string, { readonly all: number; readonly slow: number }>
}

const UNUSED = { all: 0, slow: 0 }

function useOf({ limits, inFlight, busy, slow, owners }: DeliverySlots): SlotUse {
  const byAccount = new Map<string, typeof UNUSED>()
  for (const [id, count] of inFlight) {
    const accountId = owners.get(id) ?? ''
    const used = byAccount.get(accountId) ?? UNUSED
    byAccount.set(accountId, { all: used.all + count, slow: used.slow + (slow.has(id) ? count : 0) })
  }
  return { free: limits.total - busy, byAccount }
}

/** An account leaves a quarter of the slots to others. */
const accountHasRoom = ({ free, byAccount }: SlotUse, accountId: string): boolean =>
  (byAccount.get(accountId) ?? UNUSED).all < 3 * free

/** Half of the slots are for webhooks of the account that have none. */
const hasRoomForMore = ({ free, byAccount }: SlotUse, accountId: string): boolean =>
  (byAccount.get(accountId) ?? UNUSED).all < free

/**
 * The more slots a webhook uses, the more must be free for it to get another one: `perWebhook` times as many. So
 * a few hanging receivers cannot take all slots between them, and a webhook without deliveries in progress gets
 * the last slot. The slow webhooks of an account have a quarter of the slots, however many they are.
 */
function hasRoom(slots: DeliverySlots, use: SlotUse, webhookId: number, accountId: string): boolean {
  const { limits, inFlight, slow } = slots
  const used = inFlight.get(webhookId) ?? 0
  if (used >= limits.perWebhook || used * limits.perWebhook >= use.free || !accountHasRoom(use, accountId)) return false
  if (used > 0 && !hasRoomForMore(use, accountId)) return false
  return !slow.has(webhookId) || (use.byAccount.get(accountId) ?? UNUSED).slow * 3 < use.free
}

function occupied(slots: DeliverySlots, { webhookId, accountId }: Due): DeliverySlots {
  const inFlight = new Map(slots.inFlight).set(webhookId, (slots.inFlight.get(webhookId) ?? 0) + 1)
  const owners = new Map(slots.owners).set(webhookId, accountId)
  return { ...slots, inFlight, owners, busy: slots.busy + 1, lastServed: webhookId }
}

/** By id, starting after `after`, once around. */
function inTurn(due: readonly Due[], after: number): Due[] {
  const sorted = [...due].sort((a, b) => a.webhookId - b.webhookId)
  const from = sorted.findIndex(({ webhookId }) => webhookId > after)
  return from <= 0 ? sorted : [...sorted.slice(from), ...sorted.slice(0, from)]
}
