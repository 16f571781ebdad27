/** Handled in one turn of the event loop, by all connections together: a few milliseconds. */
const TURN_MESSAGES = 1000
/** Of them, those of one connection before the others have theirs. */
const SHARE = 250

/**
 * Shares the turns of the event loop among connections that have many messages to handle, so that neither they nor everything else
 * wait for the whole flood of one. Those with few do not wait for their turn unless the floods of others have used it up.
 */
export class MessageTurns {
  #left = TURN_MESSAGES
  readonly #waiting: (() => void)[] = []
  #isDue = false

  /** Whether something may be handled now. */
  get isOpen(): boolean {
    return this.#left > 0
  }

  /** Work was done that costs as much as so many messages. */
  spend(messages: number): void {
    this.#left -= messages
    this.#awaitTurn()
  }

  /** How many of `messages` may be handled now. With the others, `wait`. */
  take(messages: number): number {
    const taken = Math.min(messages, SHARE, Math.max(0, Math.floor(this.#left)))
    this.#left -= taken
    if (taken > 0) this.#awaitTurn()
    return taken
  }

  /** Calls `work` when it is its turn: it may take some, and wait again. It must not throw. */
  wait(work: () => void): void {
    this.#waiting.push(work)
    this.#awaitTurn()
  }

  #awaitTurn(): void {
    if (this.#isDue) return
    this.#isDue = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    this.#isDue = false
    this.#left = TURN_MESSAGES
    for (let others = this.#waiting.length; others > 0 && this.#left > 0; others--) this.#waiting.shift()?.()
    if (this.#waiting.length > 0) this.#awaitTurn()
  }
}
