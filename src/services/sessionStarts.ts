import { Throttle } from '../base/throttle.ts'
import { networkKey } from '../core/access/address.ts'
import type { SlotLimits, SlotRequest } from '../core/sessions/slots.ts'

/** Of what `SlotLimits` say is the most at a time, this many may begin in ten minutes. Each leaves a row, and publishers events too. */
const VIEWERS = { perSlot: 2, least: 100 }
/** Those of four addresses, of which a network of IPv6 has 65,536. */
const VIEWERS_OF_NETWORK = { perSlot: 8, least: 400 }
/** A publisher that connects again every second for all that time has half of it to spare. */
const PUBLISHERS = { perSlot: 6, least: 1200 }
/** The publishers of a token, wherever they are: all of them may come back twice. */
const OF_HOLDER = { perSlot: 2, least: 1200 }
const WINDOW_MS = 600_000
/** About 100 bytes each. */
const KEYS_MAX = 50_000

/** Who begins. */
export interface SessionStart extends Pick<SlotRequest, 'action' | 'addressKey'> {
  /** What a publisher presents, such as `token 7`. Null: it is not known yet, or does not count. */
  readonly holder: string | null
}

/** Limits how often sessions begin: a client that joins and leaves all the time would fill the records of sessions and feeds. */
export class SessionStarts {
  readonly #viewers: Throttle
  readonly #viewersOfNetwork: Throttle
  readonly #publishers: Throttle
  readonly #holders: Throttle

  /** @param limits read at each use; 0 for an address: no limit there */
  constructor(limits: Pick<SlotLimits, 'max' | 'tokenShare' | 'maxViewersPerAddress' | 'maxPublishersPerAddress'>) {
    const throttle = ({ perSlot, least }: typeof VIEWERS, slots: () => number) =>
      new Throttle(
        () => (slots() === 0 ? Number.POSITIVE_INFINITY : Math.max(least, perSlot * slots())),
        KEYS_MAX,
        WINDOW_MS,
      )
    this.#viewers = throttle(VIEWERS, () => limits.maxViewersPerAddress)
    this.#viewersOfNetwork = throttle(VIEWERS_OF_NETWORK, () => limits.maxViewersPerAddress)
    this.#publishers = throttle(PUBLISHERS, () => limits.maxPublishersPerAddress)
    this.#holders = throttle(OF_HOLDER, () => limits.max * limits.tokenShare)
  }

  /** Whether one more may begin. Takes nothing. */
  allows(start: SessionStart, nowMs: number): boolean {
    return this.#budgets(start).every(([throttle, key]) => throttle.waitOf(key, nowMs) === 0)
  }

  /** One has begun. */
  note(start: SessionStart, nowMs: number): void {
    for (const [throttle, key] of this.#budgets(start)) throttle.take(key, nowMs)
  }

  #budgetsOfViewer(addressKey: string): (readonly [Throttle, key: string])[] {
    const network = networkKey(addressKey)
    return [[this.#viewers, addressKey], ...(network === null ? [] : [[this.#viewersOfNetwork, network] as const])]
  }

  #budgets({ action, addressKey, holder }: SessionStart): (readonly [Throttle, key: string])[] {
    if (action === 'view') return addressKey === null ? [] : this.#budgetsOfViewer(addressKey)
    if (holder === null) return []
    return [
      [this.#holders, holder],
      ...(addressKey === null ? [] : [[this.#publishers, `${holder} ${addressKey}`] as const]),
    ]
  }
}
