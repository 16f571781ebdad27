import type { RoomFeedback } from '../../engine.ts'

/** Viewers whose first packet is reported, of one look. More begin at once only when a server has started again. */
const MAX_FIRST_PACKETS = 1000

/** What the viewers of one room reported by RTCP since the last look. */
export class FeedbackTally {
  /** Packets that viewers asked for again. */
  nacks = 0
  /** Keyframes that viewers asked for (PLI and FIR). */
  keyframeRequests = 0
  readonly #losses = new Mean()
  readonly #roundTripsMs = new Mean()
  readonly #firstPacketsMs: number[] = []

  /** The share of packets that a viewer lost, from 0 to 1. */
  lost(share: number): void {
    this.#losses.add(share)
  }

  roundTrip(ms: number): void {
    this.#roundTripsMs.add(ms)
  }

  /** A viewer got its first packet this long after its offer. */
  firstPacket(ms: number): void {
    if (this.#firstPacketsMs.length < MAX_FIRST_PACKETS) this.#firstPacketsMs.push(ms)
  }

  read(room: string): RoomFeedback {
    const { nacks, keyframeRequests } = this
    return {
      room,
      nacks,
      keyframeRequests,
      lossShare: this.#losses.value,
      roundTripMs: this.#roundTripsMs.value,
      firstPacketsMs: this.#firstPacketsMs,
    }
  }
}

/** The tallies of the rooms of a process. A look begins them again. */
export class FeedbackTallies {
  #tallies = new Map<string, FeedbackTally>()

  of(room: string): FeedbackTally {
    const present = this.#tallies.get(room)
    if (present !== undefined) return present
    const fresh = new FeedbackTally()
    this.#tallies.set(room, fresh)
    return fresh
  }

  /** Of each room with a viewer that reported something. */
  take(): RoomFeedback[] {
    const tallies = this.#tallies
    this.#tallies = new Map()
    return [...tallies].map(([room, tally]) => tally.read(room))
  }
}

class Mean {
  #sum = 0
  #count = 0

  add(value: number): void {
    this.#sum += value
    this.#count += 1
  }

  /** Null: there was nothing. */
  get value(): number | null {
    return this.#count === 0 ? null : this.#sum / this.#count
  }
}
