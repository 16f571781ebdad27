import { inTime, systemClock } from '../../../base/clock.ts'
import { SetIndex } from '../../../base/setIndex.ts'
import type { LinkMessage } from '../link/linkOffer.ts'
import type { Placement } from './placement.ts'
import type { Worker } from './worker.ts'

/** A process, as links need it. */
export type LinkedProcess = Pick<Worker, 'ready' | 'call' | 'post' | 'linkPort'>

export interface SharesOptions {
  readonly placement: Placement
  /** Starts the process of this index when there is none; null: it cannot be started now. */
  readonly workerAt: (index: number) => LinkedProcess | null
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number
  /** How long a viewer's offer waits for a link. Absent: `WAIT_MS`. */
  readonly waitMs?: number | undefined
}

/** An offer that has waited for this long for a link goes to the home of its room. */
const WAIT_MS = 50
/** A process that has no viewers of a room any more keeps its links of it for this long: viewers may come back. */
const IDLE_MS = 10_000

/** The home of a room has links of its sources to one child. */
interface Share {
  readonly room: string
  readonly home: number
  readonly child: number
  /** Whether the links of all sources that were there are open. */
  readonly open: Promise<boolean>
  /** Since when the child has no sessions of the room; null: it has some. */
  idleSinceMs: number | null
}

/** Keeps links from the home of each room to every other process that has viewers of it, and passes on what their ends say. */
export class Shares {
  readonly #options: SharesOptions
  /** By room. */
  readonly #shares = new SetIndex<string, Share>()
  /** Rooms with a link that did not open. */
  readonly #failed = new Set<string>()

  constructor(options: SharesOptions) {
    this.#options = options
  }

  /** Opens the links for a viewer who goes to this process. False: they are not there in time. */
  async prepare(room: string, process: number): Promise<boolean> {
    const home = this.#options.placement.homeOf(room)
    if (home === undefined || home === process) return true
    const { open } = this.#find(room, home, process) ?? this.#begin(room, home, process)
    return (await inTime(systemClock, this.#options.waitMs ?? WAIT_MS, open)) ?? false
  }

  /** Call it after a session has entered or left a room. */
  settle(room: string): void {
    const { placement, now } = this.#options
    const [home, ...children] = placement.membersOf(room)
    for (const share of this.#shares.get(room)) {
      if (home !== undefined && share.home !== home) this.#end(share)
      else if (children.includes(share.child)) share.idleSinceMs = null
      else share.idleSinceMs ??= now()
    }
    if (home === undefined) return
    for (const child of children) if (this.#find(room, home, child) === undefined) this.#begin(room, home, child)
  }

  /** Call it about once a second: ends links without viewers, and tries again what did not open. */
  tick(): void {
    const nowMs = this.#options.now()
    for (const share of this.#shares.values())
      if (share.idleSinceMs !== null && nowMs - share.idleSinceMs >= IDLE_MS) this.#end(share)
    const failed = [...this.#failed]
    this.#failed.clear()
    for (const room of failed) this.settle(room)
  }

  /** A process has ended: so have its links. `others`: the processes that run. */
  died(index: number, others: readonly LinkedProcess[]): void {
    for (const share of this.#shares.values())
      if (share.home === index || share.child === index) this.#shares.remove(share.room, share)
    for (const other of others) other.post({ kind: 'gone', process: index })
  }

  /** The end of a link in process `from` says something to the other end, in the process `to`. */
  pass(from: number, to: LinkedProcess | null, message: LinkMessage): void {
    to?.post({ kind: 'link', process: from, message })
  }

  #find(room: string, home: number, child: number): Share | undefined {
    return [...this.#shares.get(room)].find((share) => share.home === home && share.child === child)
  }

  #begin(room: string, home: number, child: number): Share {
    const open = this.#open(room, home, child)
    const share: Share = { room, home, child, open, idleSinceMs: this.#options.now() }
    this.#shares.add(room, share)
    void open.then((isOpen) => {
      if (isOpen) return
      this.#shares.remove(room, share)
      this.#failed.add(room)
    })
    return share
  }

  async #open(room: string, home: number, child: number): Promise<boolean> {
    const { workerAt } = this.#options
    const [from, to] = [workerAt(home), workerAt(child)]
    if (from === null || to === null || !(await from.ready) || !(await to.ready) || to.linkPort === null) return false
    return (await from.call('share', { room, process: child, port: to.linkPort })) !== undefined
  }

  #end(share: Share): void {
    this.#shares.remove(share.room, share)
    this.#options.workerAt(share.home)?.post({ kind: 'unshare', room: share.room, process: share.child })
  }
}
