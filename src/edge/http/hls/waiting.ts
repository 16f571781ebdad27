import { ByAddress } from '../../../base/byAddress.ts'
import { networkKey } from '../../../core/access/address.ts'

/** Each takes a few kilobytes at most. Of one address: enough for a class that starts to watch at the same moment. */
const MOST = { ofAddress: 1000, ofAll: 10_000 }

/**
 * Viewers who have a master playlist and have not requested media: they have no session and no slot. A flood of
 * requests for master playlists evicts the oldest viewers of its own address or network first. Others request media within a
 * second, long before the limit reaches them.
 */
export class Waiting<V extends object> {
  readonly #viewers = new ByAddress<V>(networkKey)

  /** @returns the viewer that this one evicted */
  add(viewer: V, addressKey: string): V | undefined {
    const [oldest] = this.#viewers.crowdFor(addressKey, MOST) ?? []
    if (oldest) this.delete(oldest)
    this.#viewers.add(viewer, addressKey)
    return oldest
  }

  delete(viewer: V): void {
    this.#viewers.delete(viewer)
  }
}
