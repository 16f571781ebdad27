/**
 * Shares the sending slots of a process among webhooks. Each webhook may use a few slots, and all webhooks share the
 * total. Pure: the state is a value; the caller claims rows from the store and reports finished deliveries.
 */

export interface DeliverySlotLimits {
  /** Deliveries in progress to one webhook. */
  readonly perWebhook: number
  /** Deliveries in progress in this process. One that takes long counts as `SLOW_WEIGHT`. */
  readonly total: number
}

/** The default: Sluice's own promise to receivers, and the connections that one process can hold open. */
const DEFAULT_LIMITS: DeliverySlotLimits = { perWebhook: 4, total: 128 }

/** Whether the latest exchange with a webhook was quick. One that has had none is in neither. */
export type ExchangePace = 'quick' | 'slow'

export interface DeliverySlots {
  readonly limits: DeliverySlotLimits
  /** Deliveries in progress, by webhook; no entry for none. */
  readonly inFlight: ReadonlyMap<number, number>
  /** The webhook that got the last slot. The next round begins after it. */
  readonly lastServed: number
  /** By webhook. The one that changed the longest ago is the first. */
  readonly paces: ReadonlyMap<number, ExchangePace>
  /** Of the webhooks in `inFlight`, and of slow ones. */
  readonly owners: ReadonlyMap<number, Owner>
}

/** Whose webhook it is, and where its deliveries go. */
interface Owner {
  readonly accountId: string
  /** Host and port of its URL. */
  readonly receiver: string
}

/** A webhook that has rows to send. */
export interface Due extends Owner {
  readonly webhookId: number
  /** Its last delivery, from any process, failed. */
  readonly isFailing: boolean
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
/**
 * Of a slot, for a delivery to a slow webhook: it waits, and costs little more than a connection. With a whole slot, receivers that all
 * hang and never answered before would keep another new one from its first delivery until the first of them is given up.
 */
const SLOW_WEIGHT = 0.25
/** All webhooks of two accounts; the oldest are forgotten. */
const PACES_MAX = 2000

export function emptySlots(limits: DeliverySlotLimits = DEFAULT_LIMITS): DeliverySlots {
  return { limits, inFlight: new Map(), lastServed: 0, paces: new Map(), owners: new Map() }
}

/**
 * Accounts and webhooks that can take no slot now. Leave them out of the query for due rows. Of webhooks without
 * deliveries in progress only slow ones are known, so the answer may have others that get no slot. Null: no slot is free.
 */
export function saturated(
  slots: DeliverySlots,
): { readonly accountIds: string[]; readonly webhookIds: number[] } | null {
  const use = useOf(slots)
  if (use.free < 1) return null
  const accountIds = [...use.accounts].filter(([, account]) => roomOf(use, account) <= 0)
  const webhooks = [...slots.owners].filter(([id, owner]) => !hasRoom(slots, use, id, owner))
  return { accountIds: accountIds.map(([id]) => id), webhookIds: webhooks.map(([id]) => id) }
}

/**
 * Assigns free slots, one to each webhook in turn, beginning after the last that got one. A claimed slot counts as
 * in progress at once; `finish` releases it.
 */
export function claim(slots: DeliverySlots, due: readonly Due[]): { slots: DeliverySlots; claims: Claim[] } {
  const claims = new Map<number, number>()
  const waiting = inTurn(due, slots.lastServed).map((one) => ({ ...one }))
  const known = withPaces(slots, waiting)
  const use = useOf(known)
  let next = known
  let served = true
  while (served) {
    served = false
    for (const webhook of waiting) {
      const { webhookId } = webhook
      if (webhook.rows <= 0 || !hasRoom(next, use, webhookId, webhook)) continue
      webhook.rows -= 1
      claims.set(webhookId, (claims.get(webhookId) ?? 0) + 1)
      next = occupied(next, webhook)
      addTo(use, webhook, next.paces.get(webhookId), 1)
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
  return withOwners({ ...slots, inFlight })
}

/** Notes how long exchanges with a webhook take. */
export function paced(slots: DeliverySlots, webhookId: number, pace: ExchangePace): DeliverySlots {
  if (slots.paces.get(webhookId) === pace) return slots
  const paces = new Map(slots.paces)
  paces.delete(webhookId)
  paces.set(webhookId, pace)
  const [oldest] = paces.size > PACES_MAX ? paces.keys() : []
  if (oldest !== undefined) paces.delete(oldest)
  return withOwners({ ...slots, paces })
}

/**
 * What fails counts as slow until this process has had an exchange with it: after a restart, receivers that hang would be as good as
 * others.
 */
function withPaces(slots: DeliverySlots, due: readonly Due[]): DeliverySlots {
  const failing = due.filter(({ webhookId, isFailing }) => isFailing && !slots.paces.has(webhookId))
  return failing.reduce((next, { webhookId }) => paced(next, webhookId, 'slow'), slots)
}

function withOwners(slots: DeliverySlots): DeliverySlots {
  const { inFlight, paces, owners } = slots
  return { ...slots, owners: new Map([...owners].filter(([id]) => inFlight.has(id) || paces.get(id) === 'slow')) }
}

/** What is in progress of an account, in slots. */
interface AccountUse {
  all: number
  /** Deliveries to slow webhooks. */
  slow: number
  /** To webhooks that are not known to be quick. */
  unproved: number
  readonly receivers: Map<string, number>
}

/** What is in progress. */
interface SlotUse {
  free: number
  readonly accounts: Map<string, AccountUse>
}

const UNUSED: Readonly<AccountUse> = { all: 0, slow: 0, unproved: 0, receivers: new Map() }

const NO_OWNER: Owner = { accountId: '', receiver: '' }

function useOf({ limits, inFlight, paces, owners }: DeliverySlots): SlotUse {
  const use: SlotUse = { free: limits.total, accounts: new Map() }
  for (const [id, count] of inFlight) addTo(use, owners.get(id) ?? NO_OWNER, paces.get(id), count)
  return use
}

function addTo(use: SlotUse, { accountId, receiver }: Owner, pace: ExchangePace | undefined, count: number): void {
  const used = use.accounts.get(accountId) ?? { ...UNUSED, receivers: new Map<string, number>() }
  const weight = pace === 'slow' ? count * SLOW_WEIGHT : count
  use.free -= weight
  used.all += weight
  if (pace === 'slow') used.slow += count
  if (pace !== 'quick') used.unproved += weight
  used.receivers.set(receiver, (used.receivers.get(receiver) ?? 0) + weight)
  use.accounts.set(accountId, used)
}

/** Above 0: the account may have another slot, and leaves a quarter of them to others. Four times the slots that it may still have. */
const roomOf = ({ free }: SlotUse, { all }: AccountUse): number => 3 * free - all

/**
 * The more slots a webhook uses, the more must be free for it to get another one: `perWebhook` times as many. So
 * a few hanging receivers cannot take all slots between them, and a webhook without deliveries in progress gets
 * the last slot. Half of the slots are for webhooks of the account that have none.
 *
 * Of the slots of an account, one receiver leaves half to the others, and webhooks that have not been quick leave a quarter to
 * those that have: a receiver that begins to hang, or many that never answered, have taken their slots before they are known
 * as slow. The slow ones have as many deliveries as a quarter of the free slots, however many they are.
 */
function hasRoom(slots: DeliverySlots, use: SlotUse, webhookId: number, { accountId, receiver }: Owner): boolean {
  const { limits, inFlight, paces } = slots
  const used = inFlight.get(webhookId) ?? 0
  if (use.free < 1 || used >= limits.perWebhook || used * limits.perWebhook >= use.free) return false
  const account = use.accounts.get(accountId) ?? UNUSED
  if (used > 0 && account.all >= use.free) return false
  const room = roomOf(use, account)
  if (room <= 4 * (account.receivers.get(receiver) ?? 0)) return false
  const pace = paces.get(webhookId)
  if (pace === 'slow' && account.slow * 4 >= use.free) return false
  return pace === 'quick' || 4 * account.unproved < 3 * room
}

function occupied(slots: DeliverySlots, { webhookId, accountId, receiver }: Due): DeliverySlots {
  const inFlight = new Map(slots.inFlight).set(webhookId, (slots.inFlight.get(webhookId) ?? 0) + 1)
  const owners = new Map(slots.owners).set(webhookId, { accountId, receiver })
  return { ...slots, inFlight, owners, lastServed: webhookId }
}

/** By id, starting after `after`, once around. */
function inTurn(due: readonly Due[], after: number): Due[] {
  const sorted = [...due].sort((a, b) => a.webhookId - b.webhookId)
  const from = sorted.findIndex(({ webhookId }) => webhookId > after)
  return from <= 0 ? sorted : [...sorted.slice(from), ...sorted.slice(0, from)]
}
