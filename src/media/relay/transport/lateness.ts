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

/** libuv reads so many datagrams of a socket in a turn (`uv__udp_recvmsg`), and leaves the others for the next. */
export const READ_MAX = 32
const PROBE_MS = 100
/** Ten seconds of them: longer than the memory of a socket lasts. */
const PROBES_MAX = 100

/**
 * How long datagrams wait in a socket that is not emptied. `LoopTurns` cannot see that: its turns are short. So the socket sends
 * probes to itself, which wait behind what is there. While it is emptied in each turn it sends none.
 */
export class SocketBacklog {
  #read = 0
  #isLeft = false
  /** When the probes that have not come back were sent, the oldest first. */
  #sentAtMs: number[] = []
  #probedAtMs = Number.NEGATIVE_INFINITY
  #waitedMs = 0

  /** A datagram is read. Returns whether it is the first one of its turn: then call `turned` after the turn. */
  read(): boolean {
    this.#read += 1
    return this.#read === 1
  }

  /** Returns whether to send a probe now. */
  turned(nowMs: number): boolean {
    this.#isLeft = this.#read >= READ_MAX
    this.#read = 0
    if (!this.#isLeft) {
      this.#sentAtMs = []
      this.#waitedMs = 0
      return false
    }
    if (nowMs - this.#probedAtMs < PROBE_MS) return false
    this.#probedAtMs = nowMs
    if (this.#sentAtMs.push(nowMs) > PROBES_MAX) this.#sentAtMs.shift()
    return true
  }

  /** A probe is back. The kernel may have dropped those before it. */
  probed(sentAtMs: number, nowMs: number): void {
    this.#sentAtMs = this.#sentAtMs.filter((atMs) => atMs > sentAtMs)
    this.#waitedMs = nowMs - sentAtMs
  }

  /** How long what is read now has waited at least; undefined: the last turn left nothing. */
  waitedMs(nowMs: number): number | undefined {
    return this.#isLeft ? Math.max(this.#waitedMs, nowMs - (this.#sentAtMs[0] ?? nowMs)) : undefined
  }
}
