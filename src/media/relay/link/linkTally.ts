/** What links have carried since they were last asked. */
export interface CarriedFigures {
  readonly bytes: number
  /** The largest share of packets that was lost, 0 to 1; null: nothing is known. */
  readonly loss: number | null
  /** Milliseconds; null: not known at this end. */
  readonly roundTripMs: number | null
}

/** Gathers the figures of one end of a link. */
export class LinkTally {
  #bytes = 0
  #loss: number | null = null
  #lossBefore: number | null = null
  #roundTripMs: number | null = null

  /** Bytes that were sent or received. */
  carried(bytes: number): void {
    this.#bytes += bytes
  }

  /** @param loss of packets over a window, 0 to 1; null: nothing new */
  reported(loss: number | null, roundTripMs: number | null): void {
    if (loss !== null) this.#loss = Math.max(this.#loss ?? 0, loss)
    if (roundTripMs !== null) this.#roundTripMs = Math.round(roundTripMs)
  }

  /** Begins the next figures. The round trip stays until another one is measured, and the loss as long as something is carried. */
  take(): CarriedFigures {
    this.#lossBefore = this.#loss ?? (this.#bytes > 0 ? this.#lossBefore : null)
    const figures = { bytes: this.#bytes, loss: this.#lossBefore, roundTripMs: this.#roundTripMs }
    this.#bytes = 0
    this.#loss = null
    return figures
  }
}
