import { halfway } from '../../base/numbers.ts'
import { networkKey } from '../access/address.ts'
import type { SessionLimitCode } from '../access/refusals.ts'

/** The limits on concurrent sessions: of one node, of one address and of one token. */
export interface SlotLimits {
  /** Publishers and viewers together. */
  readonly max: number
  /** 0 to 1: the share of `max` that only publishers may use. */
  readonly publisherShare: number
  /**
   * 0 to 1: the share of all slots of an action that one token, or the viewers without a token of one account, may
   * use.
   */
  readonly tokenShare: number
  /**
   * For one address; 0: no limit. Publishers and viewers are counted separately, so that neither locks out the
   * other. The network around an IPv6 address may have as many, and half of what others leave.
   */
  readonly maxViewersPerAddress: number
  readonly maxPublishersPerAddress: number
  /** Sessions of one address whose media connection is not established yet; 0: no limit. */
  readonly maxConnectingPerAddress: number
}

/** Previews take the slots of viewers. */
type SlotAction = 'publish' | 'view'

/** A request for a slot. */
export interface SlotRequest {
  readonly action: SlotAction
  /**
   * See `addressKey`. Null: the request came through a proxy that does not name the client, so its address says
   * nothing.
   */
  readonly addressKey: string | null
  /** Null: not known yet, so the limits of tokens are not checked. */
  readonly holder: SlotHolder | null
  /** The media connection is established only after the admission, as in WebRTC. */
  readonly connects: boolean
}

/** What sessions are counted by beside their address. */
export type SlotHolder = { readonly tokenId: number } | { readonly accountId: string }

/** An acquired slot. Both methods may be called more than once. */
export interface SessionSlot {
  /** The media connection is established. */
  connected(): void
  release(): void
}

/**
 * The session slots of one node: who may take one, and how many are in use. Only slots in use are counted, so memory
 * is bounded by `max` for any number of addresses.
 */
export class SessionSlots {
  readonly #limits: SlotLimits
  readonly #taken = { publish: 0, view: 0 }
  /** Keyed by action and address or network, or by action and holder. */
  readonly #ofAddress = new Counts()
  readonly #connecting = new Counts()
  readonly #ofHolder = new Counts()

  constructor(limits: SlotLimits) {
    this.#limits = limits
  }

  /**
   * The limit that refuses this request; null when a slot is free.
   * @param ending sessions that have ended but are not recorded as ended yet; they count as viewers until then
   */
  refusal(request: SlotRequest, ending = 0): SessionLimitCode | null {
    const { action, holder } = request
    if (this.#isFull(action, ending)) return 'too_many_sessions'
    const ofAddress = this.#refusalOfAddress(request)
    if (ofAddress !== null) return ofAddress
    if (holder === null || this.#ofHolder.get(holderKey(action, holder)) < this.#maxPerHolder(action)) return null
    return 'tokenId' in holder ? 'too_many_with_token' : 'too_many_without_token'
  }

  /** Whether viewers get no slot any more. @param ending as in `refusal` */
  isFullForViewers(ending = 0): boolean {
    return this.#isFull('view', ending)
  }

  /** Takes a slot. Call `refusal` first, in the same turn of the event loop. */
  take({ action, addressKey, holder, connects }: SlotRequest): SessionSlot {
    const addresses = addressKey === null ? [] : [addressKey, networkKey(addressKey) ?? []].flat()
    const keys = addresses.map((address) => `${action} ${address}`)
    const connecting = connects ? keys.map((key) => this.#connecting.add(key)) : []
    const connected = (): void => connecting.forEach((release) => release())
    const releases = [
      connected,
      ...keys.map((key) => this.#ofAddress.add(key)),
      ...(holder === null ? [] : [this.#ofHolder.add(holderKey(action, holder))]),
      () => (this.#taken[action] -= 1),
    ]
    this.#taken[action] += 1
    return {
      connected,
      release: () => {
        for (const release of releases.splice(0)) release()
      },
    }
  }

  #isFull(action: SlotAction, ending: number): boolean {
    const { publish, view } = this.#taken
    const { max } = this.#limits
    return publish + view + ending >= max || (action === 'view' && view + ending >= this.#viewerSlots())
  }

  #refusalOfAddress({ action, addressKey, connects }: SlotRequest): SessionLimitCode | null {
    if (addressKey === null) return null
    const network = networkKey(addressKey)
    const isFull = (counts: Counts, most: number): boolean =>
      isReached(counts.get(`${action} ${addressKey}`), most) ||
      (network !== null && most > 0 && counts.get(`${action} ${network}`) >= halfway(most, this.#slotsOf(action)))
    if (isFull(this.#ofAddress, this.#maxPerAddress(action))) return 'too_many_from_address'
    return connects && isFull(this.#connecting, this.#limits.maxConnectingPerAddress) ? 'too_many_connecting' : null
  }

  #slotsOf(action: SlotAction): number {
    return action === 'publish' ? this.#limits.max : this.#viewerSlots()
  }

  #viewerSlots(): number {
    const { max, publisherShare } = this.#limits
    return max - Math.floor(max * publisherShare)
  }

  #maxPerAddress(action: SlotAction): number {
    const { maxPublishersPerAddress, maxViewersPerAddress } = this.#limits
    return action === 'publish' ? maxPublishersPerAddress : maxViewersPerAddress
  }

  #maxPerHolder(action: SlotAction): number {
    return Math.max(1, Math.ceil(this.#slotsOf(action) * this.#limits.tokenShare))
  }
}

/** 0: no limit. */
const isReached = (count: number, most: number): boolean => most > 0 && count >= most

const holderKey = (action: SlotAction, holder: SlotHolder): string =>
  'tokenId' in holder ? `${action} token ${holder.tokenId}` : `${action} account ${holder.accountId}`

/** Counts per key. A key whose count is zero is deleted. */
class Counts {
  readonly #counts = new Map<string, number>()

  get(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  /** Adds one. Call the returned function to take it off; a second call changes nothing. */
  add(key: string): () => void {
    this.#counts.set(key, this.get(key) + 1)
    let isCounted = true
    return () => {
      if (!isCounted) return
      isCounted = false
      const left = this.get(key) - 1
      if (left > 0) this.#counts.set(key, left)
      else this.#counts.delete(key)
    }
  }
}
