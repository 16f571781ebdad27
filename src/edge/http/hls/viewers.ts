import type { Socket } from 'node:net'
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../../base/clock.ts'
import type { Address } from '../../../core/access/address.ts'
import { TicketBudget } from '../../../core/hls/ticketBudget.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import { Waiting } from './waiting.ts'

/** Opens a viewer's session; null: it is open. */
export type OpenSession = (address: Address) => Promise<HttpRefusal | null>

/** An HLS viewer: a series of requests with the ticket of one session. */
export class HlsViewer {
  sessionId = ''
  bytesIn = 0
  bytesOut = 0
  lastAskedMs: number
  /** The viewer got an init segment, and since then no playlist that it waited for. */
  hasNewInit = false
  readonly budget = new TicketBudget()
  readonly #answers = new Set<ServerResponse>()
  #open: OpenSession | null = null
  #opening: Promise<HttpRefusal | null> | null = null
  #cut = false

  constructor(nowMs: number) {
    this.lastAskedMs = nowMs
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
  async begin(address: Address): Promise<HttpRefusal | null> {
    if (this.#open === null) return null
    this.#opening ??= this.#open(address).finally(() => (this.#opening = null))
    const refused = await this.#opening
    if (refused === null) this.#open = null
    return refused
  }

  /** True while an answer is under way or waits for media. */
  get isServed(): boolean {
    return this.#answers.size > 0
  }

  cut(): void {
    this.#cut = true
    for (const answer of this.#answers) answer.destroy()
  }

  /** Counts the bytes of this answer on its connection, and lets `cut` abort it. Calls `counted` when it is over. */
  attend(answer: ServerResponse, counted: () => void): void {
    const { socket } = answer
    this.#answers.add(answer)
    answer.once('close', () => {
      this.#answers.delete(answer)
      if (socket) this.#count(socket)
      counted()
    })
  }

  #count(socket: Socket): void {
    const before = COUNTED.get(socket) ?? { in: 0, out: 0 }
    const now = { in: socket.bytesRead, out: socket.bytesWritten }
    COUNTED.set(socket, now)
    this.bytesIn += now.in - before.in
    this.bytesOut += now.out - before.out
  }
}

/** Bytes of each connection that are already counted. A player's preflights count towards its next request. */
const COUNTED = new WeakMap<Socket, { in: number; out: number }>()

const ANSWER_MAX_MS = 60_000
/** Ended sessions whose late requests still get the reason. */
const SHARED_MAX = 1000

/** All HLS viewers of this node: those with a session, bounded by the limit on sessions, and those without one yet. */
export class HlsViewers {
  readonly #clock: Clock
  readonly #viewers = new Map<string, HlsViewer>()
  readonly #waiting = new Waiting<HlsViewer>()
  /** Ids of sessions that ended because several players used their tickets, the oldest first. */
  readonly #shared = new Set<string>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  newcomer(): HlsViewer {
    return new HlsViewer(this.#clock.monotonic())
  }

  /** Adds a viewer that gets a master playlist and has no session yet. */
  wait(viewer: HlsViewer, addressKey: string): void {
    const pushedOut = this.#waiting.add(viewer, addressKey)
    if (pushedOut) this.#viewers.delete(pushedOut.sessionId)
    viewer.lastAskedMs = this.#clock.monotonic()
    this.#viewers.set(viewer.sessionId, viewer)
  }

  /** Adds a viewer whose session is open. */
  add(viewer: HlsViewer): void {
    this.#waiting.delete(viewer)
    viewer.lastAskedMs = this.#clock.monotonic()
    this.#viewers.set(viewer.sessionId, viewer)
  }

  /** Undefined: the session is over, or belongs to another node. */
  find(sessionId: string): HlsViewer | undefined {
    const viewer = this.#viewers.get(sessionId)
    return viewer === undefined || viewer.isCut ? undefined : viewer
  }

  /** Ends a viewer whose ticket several players use. */
  refuseShared(sessionId: string): void {
    const [oldest] = this.#shared
    if (this.#shared.size >= SHARED_MAX && oldest !== undefined) this.#shared.delete(oldest)
    this.#shared.add(sessionId)
  }

  isShared(sessionId: string): boolean {
    return this.#shared.has(sessionId)
  }

  forget(sessionId: string): void {
    const viewer = this.#viewers.get(sessionId)
    if (viewer) this.#waiting.delete(viewer)
    this.#viewers.delete(sessionId)
  }

  /** Viewers without a request in this time, or with an answer that they read too slowly to watch. */
  idle(ms: number): HlsViewer[] {
    const since = this.#clock.monotonic() - ms
    return [...this.#viewers.values()].filter(
      ({ isServed, lastAskedMs }) => lastAskedMs < (isServed ? since - ANSWER_MAX_MS : since),
    )
  }
}
