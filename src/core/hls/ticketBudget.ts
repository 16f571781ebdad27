/** Uses are counted over this time, and over at most twice as long. */
const WINDOW_MS = 10_000
/** A player fetches a piece once, and again when a connection breaks or its network changes. */
const USES_MAX = 3
/** A player reloads a playlist once for each part. */
const RELOADS_PER_PART = 2.5
/** A cache asks about each viewer at least this often, except between long segments. */
const ACTIVE_MS = 4000
/** A phone may reach a server by two networks at the same time. */
const ADDRESSES_MAX = 2
/** More than a server holds of a stream with several renditions. */
const COUNTED_MAX = 1024

/**
 * What one player uses of a stream. A ticket that several players share is used up by more than that, whatever addresses
 * they have; a change of the address alone uses nothing.
 *
 * Counts are kept for the running ten seconds and the ten seconds before them.
 */
export class TicketBudget {
  #uses = new Map<string, number>()
  #usesBefore: ReadonlyMap<string, number> = new Map()
  #sinceMs = Number.NEGATIVE_INFINITY
  /** When a cache last asked for a player at this address. */
  readonly #askedMs = new Map<string, number>()

  /**
   * Counts the use of a segment or part. False: this is more than one player needs.
   *
   * @param share how much of the piece is sent, 0 to 1
   * @param nowMs monotonic milliseconds
   */
  use(rendition: string, name: string, share: number, nowMs: number): boolean {
    this.#turn(nowMs)
    const key = `${rendition}/${name}`
    return this.#count(key, share) + (this.#usesBefore.get(key) ?? 0) <= USES_MAX
  }

  /**
   * Counts a request for a playlist, as a share of those that one player needs. The step grows when a stream ends, whose last
   * playlist has no parts: what came before counts by the step of then. False: this is more than one player needs.
   *
   * @param stepSeconds the time after which the playlist has something new: the part target, or the target duration
   */
  reload(rendition: string, stepSeconds: number, nowMs: number): boolean {
    this.#turn(nowMs)
    const elapsed = (nowMs - this.#sinceMs) / WINDOW_MS
    const before = (this.#usesBefore.get(rendition) ?? 0) * (1 - elapsed)
    // Of long steps few are in a window, and one more may be.
    const most = Math.max((RELOADS_PER_PART * WINDOW_MS) / (stepSeconds * 1000) + 1, USES_MAX)
    return this.#count(rendition, 1 / most) + before <= 1
  }

  /**
   * Notes that a cache serves a player at this address, where what it consumes is not seen. False: it is the third address
   * within four seconds.
   */
  seen(addressKey: string, nowMs: number): boolean {
    for (const [key, atMs] of this.#askedMs) if (nowMs - atMs > ACTIVE_MS) this.#askedMs.delete(key)
    if (this.#askedMs.size >= ADDRESSES_MAX && !this.#askedMs.has(addressKey)) return false
    this.#askedMs.set(addressKey, nowMs)
    return true
  }

  #count(key: string, share: number): number {
    const uses = (this.#uses.get(key) ?? 0) + share
    if (this.#uses.size >= COUNTED_MAX && !this.#uses.has(key)) return Number.POSITIVE_INFINITY
    this.#uses.set(key, uses)
    return uses
  }

  #turn(nowMs: number): void {
    const age = nowMs - this.#sinceMs
    if (age < WINDOW_MS) return
    this.#usesBefore = age < 2 * WINDOW_MS ? this.#uses : new Map()
    this.#uses = new Map()
    this.#sinceMs = age < 2 * WINDOW_MS ? this.#sinceMs + WINDOW_MS : nowMs
  }
}
