import type { Socket } from 'node:net'
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../../base/clock.ts'
import type { Address } from '../../../core/access/address.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import type { Opens, TicketHolder } from '../media/tickets.ts'
import { Waiting } from './waiting.ts'

/** Opens the session of a viewer; null: it is on. */
export type OpenSession = (address: Address) => Promise<HttpRefusal | null>

/** Somebody who watches over HLS: a row of requests, held together by the tickets of one session. */
export class HlsViewer implements TicketHolder {
  sessionId = ''
  feedId = ''
  bytesIn = 0
  bytesOut = 0
  lastAskedMs: number
  readonly tickets = new Map<Opens, string>()
  /** It was given an init segment, and no playlist since that it has waited for. */
  hasNewInit = false
  readonly #answers = new Set<ServerResponse>()
  #open: OpenSession | null = null
  #opening: Promise<HttpRefusal | null> | null = null
  #cut = false

  constructor(nowMs: number) {
    this.lastAskedMs = nowMs
  }

  /** Nothing more is answered, and what is being answered ends where it is. */
  get isCut(): boolean {
    return this.#cut
  }

  /** What opens its session once it asks for media. */
  opensWith(open: OpenSession): void {
    this.#open = open
  }

  /** The first request for media opens the session, from the address that it comes from; several at once open one. */
  async begin(address: Address): Promise<HttpRefusal | null> {
    if (this.#open === null) return null
    this.#opening ??= this.#open(address).finally(() => (this.#opening = null))
    const refused = await this.#opening
    if (refused === null) this.#open = null
    return refused
  }

  /** Something is being answered, or waited for. */
  get isServed(): boolean {
    return this.#answers.size > 0
  }

  cut(): void {
    this.#cut = true
    for (const answer of this.#answers) answer.destroy()
  }

  /** Counts what this answer costs on its connection, and lets `cut` end it. `counted` is called when it is over. */
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

/** What of each connection belongs to somebody already. A player's preflights count as what it asked for next. */
const COUNTED = new WeakMap<Socket, { in: number; out: number }>()

const ANSWER_MAX_MS = 60_000

/** Everybody who watches over HLS at this node, as many as there may be sessions, and who is about to. */
export class HlsViewers {
  readonly #clock: Clock
  readonly #viewers = new Map<string, HlsViewer>()
  readonly #waiting = new Waiting<HlsViewer>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  newcomer(): HlsViewer {
    return new HlsViewer(this.#clock.monotonic())
  }

  /** It gets a master playlist, and has no session yet. */
  wait(viewer: HlsViewer, addressKey: string): void {
    const pushedOut = this.#waiting.add(viewer, addressKey)
    if (pushedOut) this.#viewers.delete(pushedOut.sessionId)
    viewer.lastAskedMs = this.#clock.monotonic()
    this.#viewers.set(viewer.sessionId, viewer)
  }

  /** It has a session. */
  add(viewer: HlsViewer): void {
    this.#waiting.delete(viewer)
    viewer.lastAskedMs = this.#clock.monotonic()
    this.#viewers.set(viewer.sessionId, viewer)
  }

  /** Undefined: the session is over, or this node never had it. */
  find(sessionId: string, feedId: string): HlsViewer | undefined {
    const viewer = this.#viewers.get(sessionId)
    return viewer === undefined || viewer.isCut || viewer.feedId !== feedId ? undefined : viewer
  }

  forget(sessionId: string): void {
    const viewer = this.#viewers.get(sessionId)
    if (viewer) this.#waiting.delete(viewer)
    this.#viewers.delete(sessionId)
  }

  /** Those who have asked for nothing in this time, or take an answer so slowly that nobody watches with it. */
  idle(ms: number): HlsViewer[] {
    const since = this.#clock.monotonic() - ms
    return [...this.#viewers.values()].filter(
      ({ isServed, lastAskedMs }) => lastAskedMs < (isServed ? since - ANSWER_MAX_MS : since),
    )
  }
}
