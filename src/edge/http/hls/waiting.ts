/** Each takes a few kilobytes at most. */
const WAITING_MAX = 10_000
/** Enough for a class behind one address that starts to watch at the same moment. */
const WAITING_MAX_PER_ADDRESS = 1000

/**
 * Viewers who have a master playlist and have not requested media: they have no session and no slot. A flood of
 * requests for master playlists evicts the oldest viewers of its own address first. Others request media within a
 * second, long before the limit reaches them.
 */
export class Waiting<V extends object> {
  readonly #addressOf = new Map<V, string>()
  readonly #byAddress = new Map<string, Set<V>>()

  /** @returns the viewer that this one evicted */
  add(viewer: V, addressKey: string): V | undefined {
    const ofAddress = this.#byAddress.get(addressKey) ?? new Set()
    const crowd = ofAddress.size >= WAITING_MAX_PER_ADDRESS ? ofAddress : this.#all()
    const [oldest] = crowd ?? []
    if (oldest) this.delete(oldest)
    ofAddress.add(viewer)
    this.#byAddress.set(addressKey, ofAddress)
    this.#addressOf.set(viewer, addressKey)
    return oldest
  }

  delete(viewer: V): void {
    const addressKey = this.#addressOf.get(viewer)
    if (addressKey === undefined) return
    this.#addressOf.delete(viewer)
    const ofAddress = this.#byAddress.get(addressKey)
    ofAddress?.delete(viewer)
    if (ofAddress?.size === 0) this.#byAddress.delete(addressKey)
  }

  /** All viewers, oldest first, when the limit is reached; else null. */
  #all(): Iterable<V> | null {
    return this.#addressOf.size >= WAITING_MAX ? this.#addressOf.keys() : null
  }
}
