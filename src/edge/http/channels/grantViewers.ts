import { Lru } from '../../../base/lru.ts'
import { TicketBudget } from '../../../core/hls/ticketBudget.ts'
import type { TicketViewer } from '../hls/admissions.ts'

/** Viewers that are known at a time, and tickets that stay refused. A viewer that is forgotten begins with a new budget. */
const KNOWN_MAX = 20_000

/** A viewer of a distribution: a series of requests with one ticket. */
export class GrantViewer implements TicketViewer {
  readonly budget = new TicketBudget()
  lastAskedMs = 0
  hasNewInit = false
}

/** What this node knows of the viewers of distributions, by the id in their tickets. */
export class GrantViewers {
  readonly #known = new Lru<string, GrantViewer>(KNOWN_MAX)
  readonly #ended = new Lru<string, true>(KNOWN_MAX)

  of(viewerId: string): GrantViewer {
    const known = this.#known.get(viewerId)
    if (known !== undefined) return known
    const viewer = new GrantViewer()
    this.#known.set(viewerId, viewer)
    return viewer
  }

  /** Refuses the ticket from now on. */
  end(viewerId: string): void {
    this.#known.delete(viewerId)
    this.#ended.set(viewerId, true)
  }

  isEnded(viewerId: string): boolean {
    return this.#ended.get(viewerId) === true
  }
}
