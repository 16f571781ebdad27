import { Rotation, shareOfRound } from '../base/rotation.ts'
import { HOUR_MS } from '../base/time.ts'
import type { Bytes, NodeUsage, Session, UsageKey } from '../core/sessions/types.ts'

/** Within this time each row of several sessions is written once, and each one that is closed. */
const SHARED_MS = 10_000
/** The same of rows of one session, of which there may be as many as sessions. */
const SINGLE_MS = 60_000
const NOTHING: Bytes = { bytesIn: 0, bytesOut: 0 }

/** What this node counted for one key in one hour: a row of its own. */
export class HourlyCount {
  readonly hourMs: number
  readonly #key: UsageKey
  readonly #ord: number
  #bytes = NOTHING
  #written = NOTHING

  constructor(key: UsageKey, ord: number, hourMs: number) {
    this.#key = key
    this.#ord = ord
    this.hourMs = hourMs
  }

  /** It has bytes that are not in the store. */
  get hasRisen(): boolean {
    return this.#bytes !== this.#written
  }

  add(bytesIn: number, bytesOut: number): void {
    this.#bytes = { bytesIn: this.#bytes.bytesIn + bytesIn, bytesOut: this.#bytes.bytesOut + bytesOut }
  }

  /** What to write now, and what to call when the store has it. */
  toWrite(): { readonly usage: NodeUsage; readonly written: () => void } {
    const bytes = this.#bytes
    const usage = { ...this.#key, ord: this.#ord, hourMs: this.hourMs, ...bytes }
    return { usage, written: () => void (this.#written = bytes) }
  }

  get ord(): number {
    return this.#ord
  }
}

/** A key, its sessions at this node, and its row of the present hour. */
interface Counted {
  readonly text: string
  readonly key: UsageKey
  sessions: number
  row: HourlyCount | null
  isGone: boolean
}

/**
 * The bytes of this node by hour, and by what they count for. Sessions with the same key share a row, so that what is
 * written costs streams and not viewers. A row is open while its key has sessions and its hour lasts; then it is closed:
 * written for the last time, added to the sums of all nodes and forgotten. If its key comes back, that is another row.
 */
export class UsageCounts {
  readonly #counted = new Map<string, Counted>()
  readonly #bySession = new WeakMap<Session, Counted>()
  readonly #shared = new Rotation<Counted>()
  readonly #single = new Rotation<Counted>()
  #closed = new Rotation<HourlyCount>()
  #ord = 0

  /** A session begins (`by` is 1) or is over (-1). Previews in the dashboard are no use of a stream. */
  change(session: Session, by: 1 | -1): void {
    if (session.action === 'preview') return
    const counted = this.#of(session)
    counted.sessions += by
    // It stays there: one that moved to and fro would lose its turn each time.
    if (counted.sessions > 1) {
      this.#single.delete(counted)
      this.#shared.add(counted)
    }
  }

  /** A session has moved more bytes, possibly after its end. */
  moved(session: Session, bytesIn: number, bytesOut: number, nowMs: number): void {
    if (session.action === 'preview' || (bytesIn === 0 && bytesOut === 0)) return
    this.#rowOf(this.#of(session), nowMs).add(bytesIn, bytesOut)
  }

  /**
   * The rows to write in one of the rounds that come every `everyMs` (with `Infinity` all that have risen), and the closed rows
   * to add to the sums of all nodes, of which the store has all bytes.
   */
  due(nowMs: number, everyMs: number): { readonly risen: HourlyCount[]; readonly over: HourlyCount[] } {
    const shared = this.#shared.next(shareOfRound(this.#shared.size, everyMs, SHARED_MS))
    const single = this.#single.next(shareOfRound(this.#single.size, everyMs, SINGLE_MS))
    const closed = this.#closed.next(shareOfRound(this.#closed.size, everyMs, SHARED_MS))
    const open = [...shared, ...single].flatMap(({ row }) => row ?? [])
    for (const counted of [...shared, ...single]) this.#closeOld(counted, nowMs)
    const risen = [...open, ...closed].filter(({ hasRisen }) => hasRisen)
    return { risen, over: closed.filter(({ hasRisen }) => !hasRisen) }
  }

  forget(rows: readonly HourlyCount[]): void {
    for (const row of rows) this.#closed.delete(row)
  }

  /** Forgets what it counted, because the node got another id: the rows of the old one are added without it. */
  restart(): void {
    for (const counted of this.#counted.values()) counted.row = null
    this.#closed = new Rotation()
  }

  #of(session: Session): Counted {
    const known = this.#bySession.get(session)
    if (known?.isGone === false) return known
    const counted = this.#open(session)
    this.#bySession.set(session, counted)
    return counted
  }

  #open({ accountId, streamName, protocol, tokenId, trackingId, country }: Session): Counted {
    const key = { accountId, streamName, protocol, tokenId, trackingId, country }
    const text = JSON.stringify(Object.values(key))
    const counted = this.#counted.get(text) ?? { text, key, sessions: 0, row: null, isGone: false }
    if (!this.#counted.has(text)) this.#single.add(counted)
    this.#counted.set(text, counted)
    return counted
  }

  #rowOf(counted: Counted, nowMs: number): HourlyCount {
    const hourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS
    if (counted.row?.hourMs === hourMs) return counted.row
    if (counted.row !== null) this.#closed.add(counted.row)
    this.#ord += 1
    counted.row = new HourlyCount(counted.key, this.#ord, hourMs)
    return counted.row
  }

  #closeOld(counted: Counted, nowMs: number): void {
    const isUnused = counted.sessions <= 0
    const isOld = counted.row !== null && Math.floor(nowMs / HOUR_MS) * HOUR_MS !== counted.row.hourMs
    if (counted.row !== null && (isUnused || isOld)) {
      this.#closed.add(counted.row)
      counted.row = null
    }
    if (!isUnused) return
    counted.isGone = true
    this.#counted.delete(counted.text)
    this.#single.delete(counted)
    this.#shared.delete(counted)
  }
}
