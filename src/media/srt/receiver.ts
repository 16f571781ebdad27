import { FLOW_WINDOW } from './handshake.ts'
import { sequenceAfter, stepsBetween } from './sequences.ts'

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

interface Missing {
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
  /** In the order of their numbers. */
  readonly #missing = new Map<number, Missing>()
  #next: number
  /** What follows the latest packet of all. */
  #end: number

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

  /** Gives up what is missing for too long. Returns what to report again: all that was reported before `everyMs`. */
  tick(nowMs: number, everyMs: number): Range[] {
    let until = this.#next
    for (const [sequence, { sinceMs }] of this.#missing) {
      if (nowMs - sinceMs < this.#options.latencyMs) break
      until = sequenceAfter(sequence)
    }
    this.#giveUp(until)
    const due = [...this.#missing].filter(([, { reportedAtMs }]) => nowMs - reportedAtMs >= everyMs)
    for (const [, missing] of due) missing.reportedAtMs = nowMs
    return rangesOf(due.map(([sequence]) => sequence))
  }

  /** Nothing more comes: delivers what waits behind gaps. */
  finish(): void {
    this.#giveUp(this.#end)
  }

  /** The sender will not send these again. */
  drop([first, last]: Range): void {
    for (const [sequence, missing] of this.#missing) {
      const isIn = stepsBetween(first, sequence) >= 0 && stepsBetween(sequence, last) >= 0
      if (isIn) missing.sinceMs = Number.NEGATIVE_INFINITY
    }
  }

  /** What comes between the latest packet and this one is missing. */
  #note(sequence: number, nowMs: number): Range | null {
    const skipped = stepsBetween(this.#end, sequence)
    if (skipped < 0) {
      this.#missing.delete(sequence)
      return null
    }
    const first = this.#end
    for (let at = 0; at < skipped; at++) {
      this.#missing.set(sequenceAfter(first, at), { sinceMs: nowMs, reportedAtMs: nowMs })
    }
    this.lost += skipped
    this.#end = sequenceAfter(sequence)
    return skipped === 0 ? null : [first, sequenceAfter(sequence, -1)]
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
    while (stepsBetween(this.#next, until) > 0) {
      const gapEnd = this.#nextWaiting(until)
      this.dropped += stepsBetween(this.#next, gapEnd)
      this.#next = gapEnd
      this.#options.gap()
      this.#flush()
    }
    if (stepsBetween(this.#end, this.#next) > 0) this.#end = this.#next
    for (const sequence of this.#missing.keys()) {
      if (stepsBetween(this.#next, sequence) >= 0) break
      this.#missing.delete(sequence)
    }
  }

  /** The first packet that has come, or `until`. All that wait are within the window. */
  #nextWaiting(until: number): number {
    const steps = Math.min(stepsBetween(this.#next, until), FLOW_WINDOW)
    for (let at = 0; at < steps; at++) {
      const sequence = sequenceAfter(this.#next, at)
      if (this.#waiting.has(sequence)) return sequence
    }
    return until
  }
}

function rangesOf(sequences: readonly number[]): Range[] {
  const ranges: [number, number][] = []
  for (const sequence of sequences) {
    const last = ranges.at(-1)
    if (last !== undefined && sequenceAfter(last[1]) === sequence) last[1] = sequence
    else ranges.push([sequence, sequence])
  }
  return ranges
}
