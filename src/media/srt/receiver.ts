import { FLOW_WINDOW } from './handshake.ts'
import { sequenceAfter, stepsBetween } from './sequences.ts'

/** Gaps that requests to drop may name from one tick to the next. There are half as many in a full window. */
const DROPS_MAX = 8192

/** First and last sequence number. */
export type Range = readonly [number, number]

export interface ReceiverOptions {
  /** The first packet. */
  readonly sequence: number
  /** How long a missing packet is waited for. */
  readonly latencyMs: number
  /** Called in order, each time as soon as all before it have come or were given up. */
  readonly deliver: (body: Buffer) => void
  /** Packets before the next one that is delivered will not come. */
  readonly gap: () => void
}

/** Missing packets in a row. */
interface Gap {
  readonly first: number
  readonly last: number
  sinceMs: number
  reportedAtMs: number
}

/**
 * Puts data packets in order. What is contiguous leaves at once; a gap waits for the latency of the connection at most. Holds no
 * more than the flow window: a sender that goes on beyond it has given up what is before.
 */
export class SrtReceiver {
  /** Packets that were missing when a later one came. */
  lost = 0
  /** Packets that were given up. */
  dropped = 0
  /** Packets that came again, or too late. */
  duplicates = 0
  readonly #options: ReceiverOptions
  readonly #waiting = new Map<number, Buffer>()
  /** In the order of their numbers. The packets between two have come, so that no packet costs more for a longer gap before it. */
  readonly #gaps: Gap[] = []
  #next: number
  /** What follows the latest packet of all. */
  #end: number
  #mayDrop = DROPS_MAX

  constructor(options: ReceiverOptions) {
    this.#options = options
    this.#next = options.sequence
    this.#end = options.sequence
  }

  /** The first packet that has neither come nor was given up. */
  get next(): number {
    return this.#next
  }

  get freePackets(): number {
    return FLOW_WINDOW - this.#waiting.size
  }

  /** Returns the range that this packet shows to be missing. */
  take(sequence: number, body: Buffer, nowMs: number): Range | null {
    const ahead = stepsBetween(this.#next, sequence)
    if (ahead < 0 || this.#waiting.has(sequence)) {
      this.duplicates += 1
      return null
    }
    if (ahead >= FLOW_WINDOW) this.#giveUp(sequence)
    const lost = this.#note(sequence, nowMs)
    this.#waiting.set(sequence, body)
    this.#flush()
    return lost
  }

  /**
   * Gives up what is missing for too long. Returns what to report again: all that was reported before `everyMs`.
   * @param missedMs of `LateLooks`
   */
  tick(nowMs: number, everyMs: number, missedMs = 0): Range[] {
    this.#mayDrop = DROPS_MAX
    if (missedMs > 0) for (const gap of this.#gaps) gap.sinceMs += missedMs
    let until = this.#next
    for (const { last, sinceMs } of this.#gaps) {
      if (nowMs - sinceMs < this.#options.latencyMs) break
      until = sequenceAfter(last)
    }
    this.#giveUp(until)
    const due = this.#gaps.filter(({ reportedAtMs }) => nowMs - reportedAtMs >= everyMs)
    for (const gap of due) gap.reportedAtMs = nowMs
    return due.map(({ first, last }) => [first, last])
  }

  /** Nothing more comes: delivers what waits behind gaps. */
  finish(): void {
    this.#giveUp(this.#end)
  }

  /** The sender will not send these again. One that repeats it without end would keep us busy: then they are waited for. */
  drop([first, last]: Range): void {
    this.#splitBefore(first)
    this.#splitBefore(sequenceAfter(last))
    for (let at = this.#gapUntil(first); at < this.#gaps.length && this.#mayDrop > 0; at++) {
      this.#mayDrop -= 1
      const gap = this.#gaps[at]
      if (gap === undefined || !isWithin(gap.first, [first, last])) return
      gap.sinceMs = Number.NEGATIVE_INFINITY
    }
  }

  /** What comes between the latest packet and this one is missing. */
  #note(sequence: number, nowMs: number): Range | null {
    const [first, last] = [this.#end, sequenceAfter(sequence, -1)]
    const skipped = stepsBetween(first, sequence)
    if (skipped < 0) {
      this.#fill(sequence)
      return null
    }
    this.#end = sequenceAfter(sequence)
    if (skipped === 0) return null
    this.#gaps.push({ first, last, sinceMs: nowMs, reportedAtMs: nowMs })
    this.lost += skipped
    return [first, last]
  }

  /** A missing packet has come. */
  #fill(sequence: number): void {
    this.#splitBefore(sequence)
    this.#splitBefore(sequenceAfter(sequence))
    const at = this.#gapUntil(sequence)
    if (this.#gaps[at]?.first === sequence) this.#gaps.splice(at, 1)
  }

  /** Makes two of the gap that has both this packet and the one before it. */
  #splitBefore(sequence: number): void {
    const last = sequenceAfter(sequence, -1)
    const at = this.#gapUntil(last)
    const gap = this.#gaps[at]
    if (gap === undefined || gap.last === last || !isWithin(last, [gap.first, gap.last])) return
    this.#gaps.splice(at, 1, { ...gap, last }, { ...gap, first: sequence })
  }

  /** The index of the first gap that ends with this packet or a later one. There may be thousands, and each request looks for some. */
  #gapUntil(sequence: number): number {
    let [from, to] = [0, this.#gaps.length]
    while (from < to) {
      const middle = (from + to) >> 1
      const last = this.#gaps[middle]?.last ?? sequence
      if (stepsBetween(last, sequence) > 0) from = middle + 1
      else to = middle
    }
    return from
  }

  #flush(): void {
    for (let body = this.#waiting.get(this.#next); body !== undefined; body = this.#waiting.get(this.#next)) {
      this.#waiting.delete(this.#next)
      this.#next = sequenceAfter(this.#next)
      this.#options.deliver(body)
    }
  }

  /** Delivers what there is before `until`, and goes on from there. */
  #giveUp(until: number): void {
    this.#splitBefore(until)
    while (stepsBetween(this.#next, until) > 0) {
      // It begins with the next packet. Without one, all that were sent have come.
      const gap = this.#gaps.shift()
      const gapEnd = gap === undefined ? until : sequenceAfter(gap.last)
      this.dropped += stepsBetween(this.#next, gapEnd)
      this.#next = gapEnd
      this.#options.gap()
      this.#flush()
    }
    if (stepsBetween(this.#end, this.#next) > 0) this.#end = this.#next
  }
}

const isWithin = (sequence: number, [first, last]: Range): boolean =>
  stepsBetween(first, sequence) >= 0 && stepsBetween(sequence, last) >= 0
