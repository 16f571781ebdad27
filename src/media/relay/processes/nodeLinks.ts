import type {
  BorrowedRoom,
  EngineAddress,
  EngineLinks,
  LentRoom,
  PartInRoom,
  RoomShare,
  ShareFigures,
} from '../../engine.ts'
import type { PeerFigures } from '../link/links.ts'
import type { ShareState } from '../link/nodeShares.ts'
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

interface NodeRoom {
  readonly peer: number
  readonly room: string
  readonly process: number
  readonly part: PartInRoom
  /** The borrowed share whose sources it lends on; null: it lends those of this node, or borrows. */
  readonly from: NodeRoom | null
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
  readonly #shared = new Map<number, NodeRoom>()
  readonly #viewers = new Map<string, number>()
  #lastPeer = FIRST_PEER

  constructor(options: NodeLinksOptions) {
    this.#options = options
  }

  get counts(): { readonly lent: number; readonly borrowed: number } {
    const borrowed = [...this.#shared.values()].filter(({ part }) => part === 'source').length
    return { lent: this.#shared.size - borrowed, borrowed }
  }

  async lend(share: RoomShare, ended: () => void): Promise<LentRoom | null> {
    const home = this.#options.placement.homeOf(share.room)
    return home === undefined ? null : this.#lend(share, { process: home, from: null, ended })
  }

  borrow(share: RoomShare, addresses: readonly EngineAddress[], ended: () => void): BorrowedRoom {
    const { promise: open, resolve: opened } = Promise.withResolvers<boolean>()
    const process = this.#options.placement.processFor(share.room, 'source')
    const shared = this.#hold(share.room, { process, part: 'source', from: null, ended, opened })
    void this.#begin(shared, share, addresses)
    return {
      open,
      isReached: () => shared.isReached,
      figures: () => shared.figures,
      lend: async (further, over) =>
        this.#shared.has(shared.peer) ? this.#lend(further, { process, from: shared, ended: over }) : null,
      end: () => this.#end(shared),
    }
  }

  async #lend(share: RoomShare, lent: Pick<NodeRoom, 'process' | 'from' | 'ended'>): Promise<LentRoom | null> {
    const shared = this.#hold(share.room, { ...lent, part: 'viewer', opened: () => undefined })
    const addresses = await this.#begin(shared, share, null)
    return addresses && { addresses, figures: () => shared.figures, end: () => this.#end(shared) }
  }

  /** A session has entered a room (1), or left it (-1). */
  count(room: string, part: PartInRoom, by: 1 | -1): void {
    if (part !== 'viewer') return
    const viewers = (this.#viewers.get(room) ?? 0) + by
    if (viewers > 0) this.#viewers.set(room, viewers)
    else this.#viewers.delete(room)
  }

  /** Call it with what a process says each second. Gives back what has no viewers. */
  tick(figures: readonly PeerFigures[]): void {
    const nowMs = this.#options.now()
    for (const { peer, ...carried } of figures) {
      const shared = this.#shared.get(peer)
      if (shared !== undefined) shared.figures = carried
    }
    for (const shared of this.#shared.values()) {
      if (shared.part === 'viewer' || this.#viewers.has(shared.room) || this.#lentOn(shared).length > 0)
        shared.idleSinceMs = nowMs
      else if (nowMs - shared.idleSinceMs >= IDLE_MS) this.#end(shared)
    }
  }

  /** A process reports what became of a share; see `NodeSharesOptions.tell`. */
  told(peer: number, state: ShareState): void {
    const shared = this.#shared.get(peer)
    if (shared === undefined) return
    if (state === 'ended') return this.#forget(shared)
    shared.isReached = true
    if (state === 'open') shared.opened(true)
  }

  /** A process has ended, and its shares with it. */
  died(process: number): void {
    for (const shared of this.#shared.values()) if (shared.process === process) this.#forget(shared)
  }

  stop(): void {
    for (const shared of this.#shared.values()) this.#end(shared)
  }

  /** What is lent on of a borrowed share. */
  #lentOn(borrowed: NodeRoom): NodeRoom[] {
    return [...this.#shared.values()].filter(({ from }) => from === borrowed)
  }

  #hold(room: string, about: Omit<NodeRoom, 'peer' | 'room' | 'isReached' | 'idleSinceMs' | 'figures'>): NodeRoom {
    const { placement, now, settle } = this.#options
    this.#lastPeer += 1
    const later = { isReached: false, idleSinceMs: now(), figures: null }
    const shared: NodeRoom = { peer: this.#lastPeer, room, ...about, ...later }
    this.#shared.set(shared.peer, shared)
    placement.enter(room, shared.process, shared.part)
    settle(room)
    return shared
  }

  /** Null: it cannot be, and is forgotten. */
  async #begin(
    shared: NodeRoom,
    share: RoomShare,
    addresses: readonly EngineAddress[] | null,
  ): Promise<readonly EngineAddress[] | null> {
    const worker = this.#options.workerAt(shared.process)
    const own =
      (await worker?.call('shareWithNode', {
        ...share,
        peer: shared.peer,
        from: shared.from?.peer ?? null,
        addresses,
      })) ?? null
    if (own === null || !this.#shared.has(shared.peer)) this.#end(shared)
    return this.#shared.has(shared.peer) ? own : null
  }

  #end(shared: NodeRoom): void {
    this.#options.workerAt(shared.process)?.post({ kind: 'endShare', peer: shared.peer })
    this.#forget(shared)
  }

  #forget(shared: NodeRoom): void {
    const { peer, room, process, part, opened, ended } = shared
    if (!this.#shared.delete(peer)) return
    for (const further of this.#lentOn(shared)) this.#end(further)
    const { placement, settle } = this.#options
    placement.leave(room, process, part)
    settle(room)
    opened(false)
    ended()
  }
}
