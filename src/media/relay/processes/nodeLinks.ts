import type { BorrowedRoom, EngineLinks, LentRoom, PartInRoom, RoomShare, ShareFigures } from '../../engine.ts'
import type { PeerFigures } from '../link/links.ts'
import type { ShareAddress, ShareState } from '../link/nodeShares.ts'
import type { Placement } from './placement.ts'
import type { LinkedProcess } from './shares.ts'

export interface NodeLinksOptions {
  readonly placement: Placement
  /** Starts the process of this index when there is none; null: it cannot be started now. */
  readonly workerAt: (index: number) => LinkedProcess | null
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
  /** Call it after a share has entered or left a room. */
  readonly settle: (room: string) => void
}

/** A borrowed room that no viewer watches is given back after this time: viewers may come back. */
const IDLE_MS = 10_000
/** Processes have the numbers below. */
const FIRST_PEER = 1000

interface Held {
  readonly peer: number
  readonly room: string
  readonly process: number
  readonly part: PartInRoom
  /** The borrowed share whose sources it lends on; null: it lends those of this node, or borrows. */
  readonly from: Held | null
  /** Its first source is there; false: it ended before. */
  readonly opened: (isOpen: boolean) => void
  readonly ended: () => void
  /** The other end was heard. */
  isReached: boolean
  idleSinceMs: number
  figures: ShareFigures | null
}

/**
 * Rooms that the engine shares with those of other nodes. One that is lent counts as a viewer of its home, which so stays the home of the
 * room while its publisher is away; one that is borrowed counts as a source, and this node's other processes get it as they get those of
 * publishers. What is borrowed can be lent on, by the process that has it.
 */
export class NodeLinks implements EngineLinks {
  readonly #options: NodeLinksOptions
  readonly #held = new Map<number, Held>()
  readonly #viewers = new Map<string, number>()
  #lastPeer = FIRST_PEER

  constructor(options: NodeLinksOptions) {
    this.#options = options
  }

  get counts(): { readonly lent: number; readonly borrowed: number } {
    const borrowed = [...this.#held.values()].filter(({ part }) => part === 'source').length
    return { lent: this.#held.size - borrowed, borrowed }
  }

  viewersOf(room: string): number {
    return this.#viewers.get(room) ?? 0
  }

  async lend(share: RoomShare, ended: () => void): Promise<LentRoom | null> {
    const home = this.#options.placement.homeOf(share.room)
    return home === undefined ? null : this.#lend(share, { process: home, from: null, ended })
  }

  borrow(share: RoomShare, addresses: readonly ShareAddress[], ended: () => void): BorrowedRoom {
    const { promise: open, resolve: opened } = Promise.withResolvers<boolean>()
    const process = this.#options.placement.processFor(share.room, 'source')
    const held = this.#hold(share.room, { process, part: 'source', from: null, ended, opened })
    void this.#begin(held, share, addresses)
    return {
      open,
      isReached: () => held.isReached,
      figures: () => held.figures,
      lend: async (further, over) =>
        this.#held.has(held.peer) ? this.#lend(further, { process, from: held, ended: over }) : null,
      end: () => this.#end(held),
    }
  }

  async #lend(share: RoomShare, lent: Pick<Held, 'process' | 'from' | 'ended'>): Promise<LentRoom | null> {
    const held = this.#hold(share.room, { ...lent, part: 'viewer', opened: () => undefined })
    const addresses = await this.#begin(held, share, null)
    return addresses && { addresses, figures: () => held.figures, end: () => this.#end(held) }
  }

  /** A session has entered a room (1), or left it (-1). */
  count(room: string, part: PartInRoom, by: 1 | -1): void {
    if (part !== 'viewer') return
    const viewers = this.viewersOf(room) + by
    if (viewers > 0) this.#viewers.set(room, viewers)
    else this.#viewers.delete(room)
  }

  /** Call it with what a process says each second. Gives back what has no viewers. */
  tick(figures: readonly PeerFigures[]): void {
    const nowMs = this.#options.now()
    for (const { peer, ...carried } of figures) {
      const held = this.#held.get(peer)
      if (held !== undefined) held.figures = carried
    }
    for (const held of this.#held.values()) {
      if (held.part === 'viewer' || this.viewersOf(held.room) > 0 || this.#lentOn(held).length > 0)
        held.idleSinceMs = nowMs
      else if (nowMs - held.idleSinceMs >= IDLE_MS) this.#end(held)
    }
  }

  /** A process reports what became of a share; see `NodeSharesOptions.tell`. */
  told(peer: number, state: ShareState): void {
    const held = this.#held.get(peer)
    if (held === undefined) return
    if (state === 'ended') return this.#forget(held)
    held.isReached = true
    if (state === 'open') held.opened(true)
  }

  /** A process has ended, and its shares with it. */
  died(process: number): void {
    for (const held of this.#held.values()) if (held.process === process) this.#forget(held)
  }

  stop(): void {
    for (const held of this.#held.values()) this.#end(held)
  }

  /** What is lent on of a borrowed share. */
  #lentOn(borrowed: Held): Held[] {
    return [...this.#held.values()].filter(({ from }) => from === borrowed)
  }

  #hold(room: string, about: Omit<Held, 'peer' | 'room' | 'isReached' | 'idleSinceMs' | 'figures'>): Held {
    const { placement, now, settle } = this.#options
    this.#lastPeer += 1
    const later = { isReached: false, idleSinceMs: now(), figures: null }
    const held: Held = { peer: this.#lastPeer, room, ...about, ...later }
    this.#held.set(held.peer, held)
    placement.enter(room, held.process, held.part)
    settle(room)
    return held
  }

  /** Null: it cannot be, and is forgotten. */
  async #begin(
    held: Held,
    share: RoomShare,
    addresses: readonly ShareAddress[] | null,
  ): Promise<readonly ShareAddress[] | null> {
    const worker = this.#options.workerAt(held.process)
    const own =
      (await worker?.call('shareWithNode', { ...share, peer: held.peer, from: held.from?.peer ?? null, addresses })) ??
      null
    if (own === null || !this.#held.has(held.peer)) this.#end(held)
    return this.#held.has(held.peer) ? own : null
  }

  #end(held: Held): void {
    this.#options.workerAt(held.process)?.post({ kind: 'endShare', peer: held.peer })
    this.#forget(held)
  }

  #forget(held: Held): void {
    const { peer, room, process, part, opened, ended } = held
    if (!this.#held.delete(peer)) return
    for (const further of this.#lentOn(held)) this.#end(further)
    const { placement, settle } = this.#options
    placement.leave(room, process, part)
    settle(room)
    opened(false)
    ended()
  }
}
