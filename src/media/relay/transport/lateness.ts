/** Media that waited longer than this before it was read is old: viewers get none of it. */
const LATE_MS = 300

/** How long datagrams waited before they were read. */
export interface Waits {
  readonly meanMs: number
  readonly mostMs: number
  /** Media packets that were too late for viewers. */
  readonly late: number
}

/** Measures how far a relay process is behind with what arrives. */
export class Lateness {
  #sumMs = 0
  #mostMs = 0
  #count = 0
  #late = 0

  /** A datagram is read. Returns whether it is late. */
  read(waitedMs: number): boolean {
    this.#sumMs += waitedMs
    this.#mostMs = Math.max(this.#mostMs, waitedMs)
    this.#count += 1
    return waitedMs > LATE_MS
  }

  /** A packet of media was too late. */
  dropped(): void {
    this.#late += 1
  }

  /** Since the last call. */
  take(): Waits {
    const waits = { meanMs: this.#sumMs / Math.max(1, this.#count), mostMs: this.#mostMs, late: this.#late }
    this.#sumMs = this.#mostMs = this.#count = this.#late = 0
    return waits
  }
}

/**
 * The age of the event loop's turn, for sockets that do not say how long a datagram waited. What is read now was not there when
 * the turn before the last one read: so it waited for half of that time on the average.
 */
export class LoopTurns {
  #latestMs: number
  #beforeMs: number

  constructor(nowMs: number) {
    this.#latestMs = nowMs
    this.#beforeMs = nowMs
  }

  /** Call it in each turn, by a timer: timers come before sockets are read. */
  turn(nowMs: number): void {
    this.#beforeMs = this.#latestMs
    this.#latestMs = nowMs
  }

  waitedMs(nowMs: number): number {
    return (nowMs - this.#beforeMs) / 2
  }
}
