import type { LevelFigures } from './levelMeter.ts'

/** Totals since a connection began, as its protocol counts them. */
export interface LinkTotals {
  /** Packets that were sent, as far as their numbers tell. */
  readonly packets: number
  /** Packets that did not come at first. */
  readonly lost: number
  /** Packets that did not come again in time. Absent: not counted. */
  readonly givenUp?: number
  /** Absent: not known. */
  readonly jitterMs?: number
  readonly roundTripMs?: number
  /** What its packets of audio say of their levels. Absent: they say nothing. */
  readonly levels?: LevelFigures
}

export interface LinkFigures {
  readonly packetLoss?: number
  readonly packetsGivenUp?: number
  readonly jitterMs?: number
  readonly roundTripMs?: number
}

const WINDOW_MS = 10_000
const MARKS_MAX = 16

/** Loss over the last ten seconds, and the latest jitter and round trip. */
export class LinkMeter {
  readonly #marks: { readonly atMs: number; readonly totals: LinkTotals }[] = []

  add(totals: LinkTotals, nowMs: number): void {
    this.#marks.push({ atMs: nowMs, totals })
    const isOld = (): boolean => this.#marks.length > MARKS_MAX || nowMs - (this.#marks[1]?.atMs ?? nowMs) >= WINDOW_MS
    while (isOld()) this.#marks.shift()
  }

  figures(): LinkFigures {
    const [first, last] = [this.#marks[0]?.totals, this.#marks.at(-1)?.totals]
    if (first === undefined || last === undefined || last.packets <= first.packets) return {}
    const shareOf = (part: number): number =>
      Math.round((Math.max(0, part) * 10_000) / (last.packets - first.packets)) / 10_000
    return {
      packetLoss: shareOf(last.lost - first.lost),
      ...(last.givenUp !== undefined && { packetsGivenUp: shareOf(last.givenUp - (first.givenUp ?? 0)) }),
      ...(last.jitterMs !== undefined && { jitterMs: Math.round(last.jitterMs) }),
      ...(last.roundTripMs !== undefined && { roundTripMs: Math.round(last.roundTripMs) }),
    }
  }
}
