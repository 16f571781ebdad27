import type { Socket } from 'node:net'
import type { Clock } from '../../../base/clock.ts'
import { LateLooks } from '../../../base/lateLooks.ts'
import type { Address } from '../../../core/access/address.ts'
import { TicketBudget } from '../../../core/hls/ticketBudget.ts'
import type { StreamRef } from '../../../core/streams/streamId.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import { NO_BYTES, type Passed, passedBytes } from '../passedBytes.ts'
import type { ViewerAnswer } from '../viewerRequest.ts'
import type { TicketViewer } from './admissions.ts'
import { Waiting } from './waiting.ts'

/** A source of a stream. */
export interface StreamSource extends StreamRef {
  readonly sourceId: string | null
}

/** Opens a viewer's session, for the stream of its ticket; null: it is open. */
export type OpenSession = (address: Address, stream: string) => Promise<HttpRefusal | null>

/** Earlier streams of a player that are remembered. Its publisher has moved as often. */
const EARLIER_MAX = 8

/**
 * Where this node has sent a player. Players keep their first address, also when the publisher moves a second time. Each node has
 * sent a player to other streams: one that sent it back to an earlier one, while another sent it on, would let it run in a circle.
 */
class StreamMoves {
  readonly #earlier: string[] = []
  #latest: string | null = null

  note(from: string, to: string): void {
    this.#latest = to
    if (this.#earlier.includes(from)) return
    this.#earlier.push(from)
    if (this.#earlier.length > EARLIER_MAX) this.#earlier.shift()
  }

  /** The latest stream; null: it is the one that it is `from`, or this node does not know whether it is later. */
  next(from: string): string | null {
    return this.#earlier.includes(from) && this.#latest !== from ? this.#latest : null
  }
}

/** Another node, and when a feed was there. */
interface NodeOnce {
  readonly nodeUrl: string
  readonly atMs: number
}

/** A publisher that changes its node is back within this time, or the stream is over. */
const AWAITED_MS = 10_000

/** The node, if the feed was there a moment ago. */
export const recent = (once: NodeOnce | null, nowMs: number): string | null =>
  once !== null && nowMs - once.atMs < AWAITED_MS ? once.nodeUrl : null

/** A viewer of a feed: a series of requests with the ticket of one session. */
export class HlsViewer implements TicketViewer {
  /** The session that its ticket names. It is at another node, or is over, if the viewer came with its ticket. */
  readonly ticketId: string
  readonly sessionId: string
  /** The stream that it asked for. */
  readonly target: StreamSource
  bytesIn = 0
  bytesOut = 0
  lastAskedMs = 0
  /** The viewer got an init segment, and since then no playlist that it waited for. */
  hasNewInit = false
  /** The other node that had the feed last. */
  remote: NodeOnce | null = null
  /** The node that it left for the present one. Its pieces are there for a moment. */
  left: NodeOnce | null = null
  readonly moves = new StreamMoves()
  readonly budget = new TicketBudget()
  readonly #answers = new Set<ViewerAnswer>()
  #open: OpenSession | null = null
  #opening: Promise<HttpRefusal | null> | null = null
  #cut = false

  constructor({ ticketId, sessionId, target }: Pick<HlsViewer, 'ticketId' | 'sessionId' | 'target'>) {
    this.ticketId = ticketId
    this.sessionId = sessionId
    this.target = target
  }

  /** True: Sluice answers nothing more, and aborts the answers under way. */
  get isCut(): boolean {
    return this.#cut
  }

  /** Sets the function that opens the session at the first request for media. */
  opensWith(open: OpenSession): void {
    this.#open = open
  }

  /**
   * Opens the session at the first request for media, with the address of that request. Concurrent requests open one
   * session.
   */
  async begin(address: Address, stream: string): Promise<HttpRefusal | null> {
    const open = this.#open
    if (open === null) return null
    this.#opening ??= this.#beginOnce(() => open(address, stream))
    return this.#opening
  }

  /** Ends with both fields set: a request that came between them would open a second session under the same id. */
  async #beginOnce(open: () => ReturnType<OpenSession>): Promise<HttpRefusal | null> {
    try {
      const refused = await open()
      if (refused === null) this.#open = null
      return refused
    } finally {
      this.#opening = null
    }
  }

  /** True while its session opens. */
  get isOpening(): boolean {
    return this.#opening !== null
  }

  /** True while its session opens, or an answer is under way or waits for media. */
  get isServed(): boolean {
    return this.isOpening || this.#answers.size > 0
  }

  /** Leaves an answer to its client, because it says why the viewer is cut. */
  spare(answer: ViewerAnswer): void {
    this.#answers.delete(answer)
  }

  cut(): void {
    this.#cut = true
    for (const answer of this.#answers) answer.destroy()
  }

  /**
   * Counts the bytes of this answer on its connection, and lets `cut` abort it.
   *
   * @param counted called when it is over
   * @param isReported a cache reports the bytes that it sends on, so these do not count
   */
  attend(answer: ViewerAnswer, counted: () => void, isReported: boolean): void {
    const over = (): void => {
      this.#answers.delete(answer)
      const moved = takeBytes(answer.req.socket)
      if (!isReported) {
        this.bytesIn += moved.in
        this.bytesOut += moved.out
      }
      counted()
    }
    // A client that has gone during the decision causes no event any more.
    if (answer.req.socket.destroyed) return over()
    this.#answers.add(answer)
    answer.on('close', over)
    return undefined
  }
}

/** Bytes of each connection that are already counted. A player's preflights count towards its next request. */
const COUNTED = new WeakMap<Socket, Passed>()

/** The bytes of a connection since the last call. */
export function takeBytes(socket: Socket): Passed {
  const before = COUNTED.get(socket) ?? NO_BYTES
  const now = passedBytes(socket)
  COUNTED.set(socket, now)
  return { in: now.in - before.in, out: now.out - before.out }
}

const ANSWER_MAX_MS = 60_000
/** Ended viewers whose late requests still get the reason. */
const ENDED_MAX = 10_000
export const SWEEP_MS = 1000

/** All HLS viewers of this node: those with a session, bounded by the limit on sessions, and those without one yet. */
export class HlsViewers {
  readonly #clock: Clock
  readonly #looks: LateLooks
  readonly #viewers = new Map<string, HlsViewer>()
  readonly #waiting = new Waiting<HlsViewer>()
  /** Why viewers were ended, by the session of their ticket; the oldest first. */
  readonly #ended = new Map<string, HttpRefusal>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#looks = new LateLooks(SWEEP_MS, clock.monotonic())
  }

  /** Adds a viewer that gets a master playlist and has no session yet. */
  wait(viewer: HlsViewer, addressKey: string): void {
    const pushedOut = this.#waiting.add(viewer, addressKey)
    // Forgotten while its session opens, its next request would open another one, and nothing would end the first.
    if (pushedOut && !pushedOut.isOpening) this.#viewers.delete(pushedOut.ticketId)
    viewer.lastAskedMs = this.#clock.monotonic()
    this.#viewers.set(viewer.ticketId, viewer)
  }

  /** Adds a viewer whose session is open. */
  add(viewer: HlsViewer): void {
    this.#waiting.delete(viewer)
    viewer.lastAskedMs = this.#clock.monotonic()
    this.#viewers.set(viewer.ticketId, viewer)
  }

  /** The viewer with the ticket of this session. Undefined: it is gone, or has only been at other nodes. */
  find(ticketId: string): HlsViewer | undefined {
    const viewer = this.#viewers.get(ticketId)
    return viewer === undefined || viewer.isCut ? undefined : viewer
  }

  /** Cuts a viewer, and refuses its ticket from now on. Null: it may begin again. */
  end(viewer: HlsViewer, why: HttpRefusal | null): void {
    if (why !== null) this.#refuse(viewer, why)
    this.forget(viewer)
    viewer.cut()
  }

  #refuse({ ticketId }: HlsViewer, why: HttpRefusal): void {
    const [oldest] = this.#ended.keys()
    if (this.#ended.size >= ENDED_MAX && oldest !== undefined) this.#ended.delete(oldest)
    if (!this.#ended.has(ticketId)) this.#ended.set(ticketId, why)
  }

  /** Why a ticket is refused, if its viewer was ended here. */
  whyEnded(ticketId: string): HttpRefusal | undefined {
    return this.#ended.get(ticketId)
  }

  forget(viewer: HlsViewer): void {
    this.#waiting.delete(viewer)
    this.#viewers.delete(viewer.ticketId)
  }

  /** Call it every `SWEEP_MS`. Viewers without a request in this time, or with an answer that they read too slowly to watch. */
  idle(ms: number): HlsViewer[] {
    const nowMs = this.#clock.monotonic()
    this.#looks.look(nowMs)
    return [...this.#viewers.values()].filter(
      ({ isServed, lastAskedMs }) => this.#looks.lastedMs(lastAskedMs, nowMs) > (isServed ? ms + ANSWER_MAX_MS : ms),
    )
  }
}
