import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Store } from '../store/store.ts'

const LOOK_MS = 5000
/** Pause after the store reported a full disk; the space on the disk of a database server is otherwise unknown. */
const PAUSE_MS = 60_000
/** Less free space than this share of the minimum is urgent. */
const URGENT_SHARE = 0.25
/** Caps the minimum on small disks, so that the access log still has room. */
const SHARE_OF_DISK = 0.05

/** Tells the access log to pause when its disk is nearly full. */
export class DiskGuard {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #minFreeBytes: () => number
  #room: 'enough' | 'low' | 'urgent' = 'enough'
  #lookedMs = Number.NEGATIVE_INFINITY
  #pausedUntilMs = Number.NEGATIVE_INFINITY

  constructor({ clock, log, minFreeBytes }: { clock: Clock; log: Logger; minFreeBytes: () => number }) {
    this.#clock = clock
    this.#log = log
    this.#minFreeBytes = minFreeBytes
  }

  /** The access log must not write. */
  get isLow(): boolean {
    return this.#room !== 'enough' || this.#clock.monotonic() < this.#pausedUntilMs
  }

  /** Old rows must be deleted to make room for other writes to the database. */
  get isUrgent(): boolean {
    return this.#room === 'urgent'
  }

  /** The store reported that its disk is full. */
  full(): void {
    this.#pausedUntilMs = this.#clock.monotonic() + PAUSE_MS
  }

  /** Measures the free space, every few seconds at most. */
  async look(store: Store): Promise<void> {
    const nowMs = this.#clock.monotonic()
    if (nowMs - this.#lookedMs < LOOK_MS) return
    this.#lookedMs = nowMs
    const space = await store.diskSpace()
    if (space === null) return
    const { freeBytes, totalBytes } = space
    const minBytes = Math.min(this.#minFreeBytes(), totalBytes * SHARE_OF_DISK)
    const room = freeBytes >= minBytes ? 'enough' : freeBytes >= minBytes * URGENT_SHARE ? 'low' : 'urgent'
    if (room !== this.#room) this.#notify(room, freeBytes)
    this.#room = room
  }

  #notify(room: 'enough' | 'low' | 'urgent', freeBytes: number): void {
    if (room === 'enough') this.#log.info({ freeBytes }, 'the disk has room again: the access log is written again')
    else this.#log.warn({ freeBytes }, 'the disk is nearly full: the access log is not written')
  }
}
