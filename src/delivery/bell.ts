/** Wakes one loop. A ring while the loop is busy is not lost: the next wait then returns at once. */
export class Bell {
  #rung = false
  #wake: (() => void) | null = null

  ring(): void {
    this.#rung = true
    this.#wake?.()
  }

  async wait(): Promise<void> {
    if (!this.#rung) await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#wake = null
    this.#rung = false
  }
}
