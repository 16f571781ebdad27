interface Returning {
  readonly share: number
  readonly resolve: () => void
}

/** Bounds the offers under way at all endpoints. Each endpoint has a share of them. */
export class PendingOffers {
  readonly #limits: { readonly maxPending: number }
  #count = 0
  /** Those that stood aside and have no room yet, the oldest first. Each has a connection, which are bounded. */
  readonly #returning: Returning[] = []

  /** @param limits may change */
  constructor(limits: { readonly maxPending: number }) {
    this.#limits = limits
  }

  /** Call `leave` when the offer is answered. False: there are too many. */
  enter(share: number): boolean {
    if (this.#count >= Math.max(1, Math.floor(this.#limits.maxPending * share))) return false
    this.#count += 1
    return true
  }

  leave(): void {
    this.#count -= 1
    this.#takeBack()
  }

  /**
   * Runs a wait for a source, which costs nothing yet and must not make the server busy for others. All who wait for one come back
   * together: they go on as there is room for them.
   */
  async aside<T>(share: number, wait: () => Promise<T>): Promise<T> {
    this.leave()
    try {
      return await wait()
    } finally {
      await new Promise<void>((resolve) => {
        this.#returning.push({ share, resolve })
        this.#takeBack()
      })
    }
  }

  #takeBack(): void {
    for (let [first] = this.#returning; first !== undefined && this.enter(first.share); [first] = this.#returning) {
      this.#returning.shift()
      first.resolve()
    }
  }
}
