import { feedback, RTPFB } from './rtcp/feedback.ts'
import { unwrapSequence } from './rtp.ts'

/**
 * Transport-wide feedback, draft-holmer-rmcat-transport-wide-cc-extensions-01: reports to a sender which of its packets arrived
 * and when, so that it can estimate the bandwidth of the path.
 */

/** Its format, and the bit above that says that the last byte counts the padding (RFC 3550 section 6.4.1). */
const TRANSPORT_WIDE = 15
const PADDED = 0x20

const TICK_US = 250
/** 64 ms, the unit of the reference time. */
const REFERENCE_TICKS = 256
/** Arrivals of one message. Each costs a delta and two chunks at most, 6 bytes: with the header below 1,200. */
const MAX_RECEIVED = 190
/** Arrivals that wait for `build`; a flood beyond this is not reported on. */
const MAX_PENDING = 4096
/** A larger gap is a restart of the sender, not loss. */
const MAX_GAP = 1000
/** Packets of one message, lost ones too: their count has 16 bits. */
const MAX_STATUSES = 0xffff
/** Lost packets in all messages of one `build`, and its messages. A sender that leaves out numbers would cost far more than its packets. */
const MAX_LOST = 0xffff
const MAX_MESSAGES = 64

const NOT_RECEIVED = 0
const SMALL_DELTA = 1
const LARGE_DELTA = 2
type Status = typeof NOT_RECEIVED | typeof SMALL_DELTA | typeof LARGE_DELTA

/** What arrived of one transport since the last message. One for each publisher. */
export class TransportFeedback {
  /** Sequence number without wraps -> arrival in ticks. */
  readonly #arrivals = new Map<number, number>()
  #last: number | null = null
  /** The first sequence number that no message has covered. */
  #next: number | null = null
  #count = 0
  /** How many more the messages of this `build` may call lost. */
  #lostLeft = MAX_LOST

  /** Notes that the packet with the transport-wide number `sequence` arrived at `arrivalUs`, of any monotonic clock. */
  arrived(sequence: number, arrivalUs: number): void {
    if (this.#arrivals.size >= MAX_PENDING) return
    const number = this.#last === null ? sequence : unwrapSequence(this.#last, sequence)
    if (this.#last === null || number > this.#last) this.#last = number
    if (!this.#arrivals.has(number)) this.#arrivals.set(number, Math.round(arrivalUs / TICK_US))
  }

  /** Packets that `build` would report. */
  get pending(): number {
    return this.#arrivals.size
  }

  /**
   * The messages about everything noted since the last call: none when nothing arrived, several when it was much or the
   * arrivals lie too far apart for one. A packet that arrives after a message reported it lost is reported again.
   */
  build(senderSsrc: number, mediaSsrc: number): Buffer[] {
    const numbers = [...this.#arrivals.keys()].sort((a, b) => a - b)
    const messages: Buffer[] = []
    let at = 0
    this.#lostLeft = MAX_LOST
    while (at < numbers.length && messages.length < MAX_MESSAGES) {
      const run = this.#takeRun(numbers, at)
      messages.push(writeFeedback(senderSsrc, mediaSsrc, this.#count, run))
      this.#count = (this.#count + 1) & 0xff
      this.#next = Math.max(this.#next ?? 0, run.base + run.ticks.length)
      const received = run.ticks.filter((tick) => tick !== null).length
      at += received
      this.#lostLeft -= run.ticks.length - received
    }
    this.#arrivals.clear()
    return messages
  }

  /** The packets of one message, from `numbers[at]` on, with lost packets before it that no message has covered. */
  #takeRun(numbers: readonly number[], at: number): Run {
    const first = numbers[at] ?? 0
    const gap = this.#next === null ? 0 : first - this.#next
    const base = gap > 0 && gap <= Math.min(MAX_GAP, this.#lostLeft) ? first - gap : first
    const ticks: (number | null)[] = Array.from({ length: first - base }, () => null)
    let previous = this.#arrivals.get(first) ?? 0
    for (const number of numbers.slice(at, at + MAX_RECEIVED)) {
      const tick = this.#arrivals.get(number) ?? 0
      const lost = number - base - ticks.length
      // Numbers that an earlier message covered must not be called lost by this one.
      const isCovered = lost > 0 && base + ticks.length < (this.#next ?? 0)
      const isFull = number - base >= Math.min(MAX_STATUSES, this.#lostLeft + MAX_RECEIVED)
      if (Math.abs(tick - previous) > 0x7fff || lost > MAX_GAP || isCovered || isFull) break
      for (let i = 0; i < lost; i++) ticks.push(null)
      ticks.push(tick)
      previous = tick
    }
    return { base, ticks }
  }
}

/** Packets in the order of their numbers from `base` on: when each arrived; null: it did not. */
interface Run {
  readonly base: number
  readonly ticks: readonly (number | null)[]
}

function writeFeedback(senderSsrc: number, mediaSsrc: number, count: number, { base, ticks }: Run): Buffer {
  const firstTick = ticks.find((tick) => tick !== null) ?? 0
  const reference = Math.floor(firstTick / REFERENCE_TICKS)
  const { statuses, deltas } = encodeDeltas(ticks, reference * REFERENCE_TICKS)
  const chunks = encodeStatuses(statuses)
  const used = 20 + chunks.length * 2 + deltas.length
  const padding = -used & 3
  const format = TRANSPORT_WIDE | (padding > 0 ? PADDED : 0)
  const packet = feedback(RTPFB, format, senderSsrc, mediaSsrc, used + padding)
  packet.writeUInt16BE(base & 0xffff, 12)
  packet.writeUInt16BE(ticks.length, 14)
  packet.writeUIntBE(reference & 0xffffff, 16, 3)
  packet[19] = count
  for (const [index, chunk] of chunks.entries()) packet.writeUInt16BE(chunk, 20 + index * 2)
  packet.set(deltas, 20 + chunks.length * 2)
  if (padding > 0) packet[packet.length - 1] = padding
  return packet
}

/** Each delta is to the arrival before it; the first one to the reference time, never to another message. */
function encodeDeltas(ticks: Run['ticks'], reference: number): { statuses: Status[]; deltas: number[] } {
  const deltas: number[] = []
  let previous = reference
  const statuses = ticks.map((tick): Status => {
    if (tick === null) return NOT_RECEIVED
    const delta = tick - previous
    previous = tick
    if (delta >= 0 && delta <= 255) {
      deltas.push(delta)
      return SMALL_DELTA
    }
    deltas.push((delta >> 8) & 255, delta & 255)
    return LARGE_DELTA
  })
  return { statuses, deltas }
}

/** 16-bit chunks: run length where it is the shortest, else 14 statuses of one bit or 7 of two (sections 3.1.3, 3.1.4). */
function encodeStatuses(statuses: readonly Status[]): number[] {
  const chunks: number[] = []
  let at = 0
  while (at < statuses.length) {
    const run = runLength(statuses, at)
    const small = statuses.slice(at, at + 14)
    const fitsOneBit = small.every((status) => status !== LARGE_DELTA)
    if (run >= (fitsOneBit ? 14 : 7)) {
      chunks.push(((statuses[at] ?? 0) << 13) | run)
      at += run
    } else if (fitsOneBit) {
      chunks.push(small.reduce<number>((chunk, status, index) => chunk | (status << (13 - index)), 0x8000))
      at += 14
    } else {
      const pairs = statuses.slice(at, at + 7)
      chunks.push(pairs.reduce<number>((chunk, status, index) => chunk | (status << (12 - index * 2)), 0xc000))
      at += 7
    }
  }
  return chunks
}

/** 13 bits at most. */
function runLength(statuses: readonly Status[], start: number): number {
  let end = start
  while (end < statuses.length && end - start < 0x1fff && statuses[end] === statuses[start]) end++
  return end - start
}
