/** A few kilobytes each, at most. */
const WAITING_MAX = 10_000
/** A class behind one address that begins to watch at the same moment. */
const WAITING_MAX_PER_ADDRESS = 1000

/**
 * Viewers who have a master playlist and have not asked for media: they have no session and no slot. Whoever asks for
 * master playlists without end pushes out their own address's oldest ones first; others go on within a second, long
 * before theirs are reached.
 */
export class Waiting<V extends object> {
  readonly #addressOf = new Map<V, string>()
  readonly #byAddress = new Map<string, Set<V>>()

  /** @returns whom this one has pushed out */
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

  /** All, the oldest first, when there are too many. */
  #all(): Iterable<V> | null {
    return this.#addressOf.size >= WAITING_MAX ? this.#addressOf.keys() : null
  }
}
