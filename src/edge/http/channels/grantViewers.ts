import { Lru } from '../../../base/lru.ts'
import { TicketBudget } from '../../../core/hls/ticketBudget.ts'
import type { TicketViewer } from '../hls/admissions.ts'

/** Viewers in memory, and tickets that stay refused. A viewer that is forgotten begins with a new budget. */
const VIEWERS_MAX = 20_000

/** A viewer of a distribution: a series of requests with one ticket. */
export class GrantViewer implements TicketViewer {
  readonly budget = new TicketBudget()
  lastAskedMs = 0
  hasNewInit = false
}

/** What this node knows of the viewers of distributions, by the id in their tickets. */
export class GrantViewers {
  readonly #viewers = new Lru<string, GrantViewer>(VIEWERS_MAX)
  readonly #ended = new Lru<string, true>(VIEWERS_MAX)

  of(viewerId: string): GrantViewer {
    const before = this.#viewers.get(viewerId)
    if (before !== undefined) return before
    const viewer = new GrantViewer()
    this.#viewers.set(viewerId, viewer)
    return viewer
  }

  /** Refuses the ticket from now on. */
  end(viewerId: string): void {
    this.#viewers.delete(viewerId)
    this.#ended.set(viewerId, true)
  }

  isEnded(viewerId: string): boolean {
    return this.#ended.get(viewerId) === true
  }
}
