import { inTime } from '../../src/base/clock.ts'
import type { CascadeParts } from '../../src/services/cascade.ts'
import { lendStream } from '../../src/commands/nodes/lendStream.ts'
import { parseLinkRequest } from '../../src/core/nodes/linkRequest.ts'
import type { BorrowedRoom, EngineLinks, LentRoom, RoomShare } from '../../src/media/engine.ts'
import { streamIdOf } from '../../src/core/streams/streamId.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { WorldTime } from './clock.ts'
import type { SimNode } from './node.ts'
import type { Scheduler, SeededRandom } from './scheduler.ts'
import { type Client, fail } from './seen.ts'

/** A media process ends a link whose other end it has not heard for so long. */
const SILENT_MS = 5_000
/** It gives back what has had no viewer for so long. */
const IDLE_MS = 10_000

/** What the media processes of one node have of a link. */
interface End {
  readonly node: SimNode
  /** Both ends have the same. */
  readonly key: string
  readonly room: string
  /** Tells the node that it has ended. */
  readonly ended: () => void
  isOver: boolean
  /** It has ended, or opened, and its node has not heard that yet. */
  isTelling: boolean
  /** When the other end was there last, true time. */
  heardAtMs: number
}

interface Lent extends End {
  /** What is lent on; null: a source of this node. */
  readonly from: Borrowed | null
}

interface Borrowed extends End {
  readonly opened: (isOpen: boolean) => void
  isOpen: boolean
  /** When it had a viewer last, true time. */
  watchedAtMs: number
}

/** What goes from a publisher to another node. */
export interface Flow {
  readonly publisher: Client
  /** From the node of the publisher to that of the viewers. */
  readonly nodes: readonly SimNode[]
  readonly room: string
}

interface Shared {
  readonly room: string
  readonly origin: SimNode | undefined
}

interface LinksOptions {
  readonly scheduler: Scheduler
  readonly time: WorldTime
  readonly nodes: () => readonly SimNode[]
  readonly clients: () => readonly Client[]
  readonly accountId: () => string
}

/** The media processes of all nodes, as far as links between them go, and the network of their requests. */
export class Links {
  readonly #options: LinksOptions
  readonly #random: SeededRandom
  #lent = new Map<string, Lent>()
  #borrowed = new Map<string, Borrowed>()
  readonly #requests: { readonly url: string; readonly body: unknown }[] = []
  /** Requests are lost, and links open late. */
  #hasFaults = true

  constructor(options: LinksOptions) {
    this.#options = options
    this.#random = options.scheduler.random
  }

  engineOf(node: SimNode): EngineLinks {
    return {
      lend: (share, ended) => this.#lend(node, share, null, ended),
      borrow: (share, _, ended) => this.#borrow(node, share, ended),
      counts: { lent: 0, borrowed: 0 },
    }
  }

  async #lend(node: SimNode, { key, room }: RoomShare, from: Borrowed | null, ended: () => void): Promise<LentRoom> {
    const heardAtMs = this.#options.time.ms
    const lent: Lent = { node, key: key.toString(), room, from, ended, isOver: false, isTelling: false, heardAtMs }
    this.#lent.set(lent.key, lent)
    await this.#options.scheduler.turn(node)
    return { addresses: [{ address: '192.0.2.1', port: 1 }], figures: () => null, end: () => this.#end(lent) }
  }

  #borrow(node: SimNode, { key, room }: RoomShare, ended: () => void): BorrowedRoom {
    const { promise: open, resolve: opened } = Promise.withResolvers<boolean>()
    const { ms } = this.#options.time
    const about = { node, key: key.toString(), room, ended, opened, isOver: false, isOpen: false, isTelling: false }
    const borrowed: Borrowed = { ...about, heardAtMs: ms, watchedAtMs: ms }
    this.#borrowed.set(borrowed.key, borrowed)
    return {
      open,
      isReached: () => this.#otherOf(borrowed) !== undefined,
      figures: () => null,
      lend: async (share, over) => (borrowed.isOver ? null : this.#lend(node, share, borrowed, over)),
      end: () => this.#end(borrowed),
    }
  }

  // What becomes of a link

  /** It is over, and its node hears it at once. The other end hears it later, or of its silence. */
  #end(end: End): void {
    if (end.isOver) return
    end.isOver = true
    const other = this.#otherOf(end)
    if (other && this.#random.chance(0.8)) this.#endLater(other)
    for (const lent of this.#lent.values()) if (lent.from === end) this.#end(lent)
    if ('opened' in end) (end as Borrowed).opened(false)
    end.ended()
  }

  #endLater(end: End): void {
    this.#tell(end, () => this.#end(end))
  }

  #tell(end: End, what: () => void): void {
    if (end.isTelling) return
    end.isTelling = true
    void this.#options.scheduler.turn(end.node).then(() => {
      end.isTelling = false
      what()
    })
  }

  /** The other end, if it is there and its media processes run. */
  #otherOf(end: End): End | undefined {
    const other = (this.#borrowed.get(end.key) === end ? this.#lent : this.#borrowed).get(end.key)
    return other && !other.isOver && hasMedia(other.node) ? other : undefined
  }

  /** From now on no request is lost, and links open as soon as there is media: nothing that nodes give up is left to chance. */
  heal(): void {
    this.#hasFaults = false
  }

  /** A media process has died. */
  break(): void {
    const ends = this.#ends()
    const end = ends[this.#random.below(ends.length)]
    if (end) this.#endLater(end)
  }

  /** After time has passed: links open, are given up because the other end is silent, and are given back. */
  look(): void {
    const { time } = this.#options
    for (const end of this.#ends()) {
      if (this.#otherOf(end)) end.heardAtMs = time.ms
      else if (time.ms - end.heardAtMs > SILENT_MS) this.#endLater(end)
    }
    for (const borrowed of this.#borrowed.values())
      if (!borrowed.isOver && hasMedia(borrowed.node)) this.#lookAt(borrowed)
    this.#lent = new Map([...this.#lent].filter(([, { isOver, node }]) => !isOver && !node.isDead))
    this.#borrowed = new Map([...this.#borrowed].filter(([, { isOver, node }]) => !isOver && !node.isDead))
  }

  #lookAt(borrowed: Borrowed): void {
    const { time } = this.#options
    const { node, room } = borrowed
    const isLentOn = [...this.#lent.values()].some(({ from, isOver }) => from === borrowed && !isOver)
    if (isLentOn || this.viewersOf(node, room).length > 0) borrowed.watchedAtMs = time.ms
    else if (time.ms - borrowed.watchedAtMs > IDLE_MS) this.#endLater(borrowed)
    if (borrowed.isOpen || this.#pathOf(borrowed) === null) return
    if (this.#random.chance(0.3) && this.#hasFaults) return
    this.#tell(borrowed, () => {
      borrowed.isOpen = true
      borrowed.opened(true)
    })
  }

  #ends(): End[] {
    return [...this.#lent.values(), ...this.#borrowed.values()].filter(({ isOver, node }) => !isOver && hasMedia(node))
  }

  // Media

  /** What flows now. */
  get flows(): Flow[] {
    return [...this.#borrowed.values()].flatMap((borrowed) => {
      const flow = borrowed.isOpen && !borrowed.isOver && hasMedia(borrowed.node) ? this.#pathOf(borrowed) : null
      return flow === null ? [] : [flow]
    })
  }

  /** Null: no media reaches it. */
  #pathOf(borrowed: Borrowed): Flow | null {
    const { room, node } = borrowed
    const lent = this.#otherOf(borrowed) as Lent | undefined
    if (!lent) return null
    if (lent.from !== null) {
      const before = lent.from.isOpen && !lent.from.isOver ? this.#pathOf(lent.from) : null
      return before && { ...before, nodes: [...before.nodes, node] }
    }
    const onAir = new Set(lent.node.ctx.sessions.feeds.all().map(({ sessionId }) => sessionId))
    const publisher = this.#options.clients().find((one) => onAir.has(one.id) && this.roomOf(one) === room)
    return publisher === undefined ? null : { publisher, nodes: [lent.node, node], room }
  }

  /** Viewers over WebRTC. */
  viewersOf(node: SimNode, room: string): Client[] {
    const { clients } = this.#options
    return clients().filter(
      (one) => one.state === 'open' && one.protocol === 'whep' && one.node === node && this.roomOf(one) === room,
    )
  }

  roomOf({ streamName }: Client): string {
    return streamIdOf({ accountId: this.#options.accountId(), streamName })
  }

  /** What a node lends and borrows, as its media processes have it: the rooms, and the node of the publisher. */
  ofNode(node: SimNode): { readonly lent: readonly Shared[]; readonly borrowed: readonly Shared[] } {
    const own = <T extends End>(ends: Iterable<T>) => [...ends].filter((end) => end.node === node && !end.isOver)
    return {
      lent: own(this.#lent.values()).map(({ room, from }) => ({ room, origin: from ? this.#originOf(from) : node })),
      borrowed: own(this.#borrowed.values()).map((end) => ({ room: end.room, origin: this.#originOf(end) })),
    }
  }

  #originOf(borrowed: Borrowed): SimNode | undefined {
    const lent = this.#lent.get(borrowed.key)
    return lent?.from ? this.#originOf(lent.from) : lent?.node
  }

  // Requests

  /** How a node asks others. */
  askedBy(from: SimNode): CascadeParts['ask'] {
    return (url, body, ms) => inTime(from.ctx.clock, ms, this.#carry(from, url, JSON.parse(JSON.stringify(body))))
  }

  async #carry(from: SimNode, url: string, body: unknown): Promise<Awaited<ReturnType<CascadeParts['ask']>>> {
    const { scheduler } = this.#options
    const to = this.#at(url)
    if (to === undefined || (this.#random.chance(0.05) && this.#hasFaults)) return null
    await scheduler.turn(to)
    this.#requests.push({ url, body })
    const answer = await this.#answer(to, body)
    await scheduler.turn(from)
    return answer
  }

  async #answer(to: SimNode, body: unknown): Promise<{ status: number; body: unknown }> {
    const request = parseLinkRequest(body)
    // A node that stops has no id any more.
    if (!request.ok) return { status: 400, body: {} }
    try {
      const lent = await lendStream(to.ctx, request.value)
      return lent.ok
        ? { status: 200, body: JSON.parse(JSON.stringify(lent.value)) }
        : { status: lent.error.status, body: {} }
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      return { status: 503, body: {} }
    }
  }

  /** A stranger sends a request of a node once more. */
  async replay(): Promise<void> {
    const request = this.#requests[this.#random.below(this.#requests.length)]
    const to = request && this.#at(request.url)
    if (to === undefined) return
    await this.#options.scheduler.turn(to)
    const { status } = await this.#answer(to, request?.body)
    if (status === 200) fail('a request of a node has an effect twice')
  }

  #at(url: string): SimNode | undefined {
    return this.#options.nodes().find((node) => !node.isDead && node.isServing && url.startsWith(`${node.url}/`))
  }
}

/** Media processes run on while their node hangs, and not while it stands still. */
const hasMedia = ({ isDead, stoppedAtMs, isRenewed }: SimNode): boolean =>
  !isDead && (stoppedAtMs === null || isRenewed)
