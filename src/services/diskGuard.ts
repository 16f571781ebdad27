import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Store } from '../store/store.ts'

const LOOK_MS = 5000
/** After the store has said that its disk is full, which is all that is known of the disk of a database server. */
const PAUSE_MS = 60_000
/** What is less than this share of the room that is to be left is urgent. */
const URGENT_SHARE = 0.25
/** No disk is so small that the access log has no room at all. */
const SHARE_OF_DISK = 0.05

/** Whether the access log has to give way because its disk is nearly full. */
export class DiskGuard {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #minFreeBytes: number
  #room: 'enough' | 'low' | 'urgent' = 'enough'
  #lookedMs = Number.NEGATIVE_INFINITY
  #pausedUntilMs = Number.NEGATIVE_INFINITY

  constructor({ clock, log, minFreeBytes }: { clock: Clock; log: Logger; minFreeBytes: number }) {
    this.#clock = clock
    this.#log = log
    this.#minFreeBytes = minFreeBytes
  }

  /** Nothing more may be written. */
  get isLow(): boolean {
    return this.#room !== 'enough' || this.#clock.monotonic() < this.#pausedUntilMs
  }

  /** Old rows are to make room for what else is written into the database. */
  get isUrgent(): boolean {
    return this.#room === 'urgent'
  }

  /** The store has said that its disk is full. */
  full(): void {
    this.#pausedUntilMs = this.#clock.monotonic() + PAUSE_MS
  }

  /** Every few seconds, however often it is called. */
  async look(store: Store): Promise<void> {
    const nowMs = this.#clock.monotonic()
    if (nowMs - this.#lookedMs < LOOK_MS) return
    this.#lookedMs = nowMs
    const space = await store.diskSpace()
    if (space === null) return
    const { freeBytes, totalBytes } = space
    const wanted = Math.min(this.#minFreeBytes, totalBytes * SHARE_OF_DISK)
    const room = freeBytes >= wanted ? 'enough' : freeBytes >= wanted * URGENT_SHARE ? 'low' : 'urgent'
    if (room !== this.#room) this.#notify(room, freeBytes)
    this.#room = room
  }

  #notify(room: 'enough' | 'low' | 'urgent', freeBytes: number): void {
    if (room === 'enough') this.#log.info({ freeBytes }, 'the disk has room again: the access log is written again')
    else this.#log.warn({ freeBytes }, 'the disk is nearly full: the access log is not written')
  }
}
