import { Allowance } from '../base/allowance.ts'
import { FINDING_CODES, type FindingCode, type Found } from '../core/streams/findings.ts'

/** A finding is told when it has been there for this long, and ends when it was away for this long. */
export const HOLD_MS = 20_000
/** Of one broadcast: so many events at once, and then one in each pause. */
export const NEWS_BURST = 6
export const NEWS_PAUSE_MS = 600_000

/** What webhooks hear of the findings of a broadcast. */
export interface FindingChange {
  /** All that hold now, the worst first. */
  readonly findings: readonly Found[]
  /** Told before, and over. */
  readonly cleared: readonly FindingCode[]
  /** Changes since the last event that had none of their own, because there were too many. */
  readonly withheld: number
}

interface Held {
  readonly found: Found
  readonly fromMs: number
  readonly seenAtMs: number
  /** It was there for `HOLD_MS`. */
  readonly isTold: boolean
}

/**
 * Turns the findings of one broadcast into events: one for each change of the findings that hold. A finding that comes and goes
 * is told late, or never. Beyond the allowance a change waits, and the next event has what holds then.
 */
export class FindingNews {
  readonly #allowance = new Allowance({ burst: NEWS_BURST, perSecond: 1000 / NEWS_PAUSE_MS })
  #held: readonly Held[] = []
  /** The codes of the last event, and of the last look. */
  #told: readonly FindingCode[] = []
  #last: readonly FindingCode[] = []
  #changes = 0
  /** An event has its allowance, and is not written yet. */
  #isGranted = false

  /** What is to be told now; null: nothing. Until `tell` it is so at each look. @param nowMs monotonic */
  look(found: readonly Found[], nowMs: number): FindingChange | null {
    this.#held = heldAt(this.#held, found, nowMs)
    const findings = toldOf(this.#held)
    const codes = findings.map(({ code }) => code)
    if (!areSame(codes, this.#last)) this.#changes += 1
    this.#last = codes
    if (areSame(codes, this.#told)) return null
    this.#isGranted ||= this.#allowance.take(nowMs)
    if (!this.#isGranted) return null
    const cleared = this.#told.filter((code) => !codes.includes(code))
    return { findings, cleared, withheld: this.#changes - 1 }
  }

  /** It is written. */
  tell({ findings }: FindingChange): void {
    this.#told = findings.map(({ code }) => code)
    this.#changes = 0
    this.#isGranted = false
  }
}

function heldAt(before: readonly Held[], all: readonly Found[], nowMs: number): Held[] {
  const seen = all.map((found): Held => {
    const held = before.find(({ found: { code } }) => code === found.code)
    const fromMs = held?.fromMs ?? nowMs
    return { found, fromMs, seenAtMs: nowMs, isTold: held?.isTold === true || nowMs - fromMs >= HOLD_MS }
  })
  const away = before.filter(
    ({ found: { code }, isTold, seenAtMs }) =>
      isTold && nowMs - seenAtMs < HOLD_MS && !all.some((found) => found.code === code),
  )
  return [...seen, ...away]
}

const toldOf = (held: readonly Held[]): Found[] =>
  FINDING_CODES.flatMap((code) => held.filter(({ found, isTold }) => isTold && found.code === code)).map(
    ({ found }) => found,
  )

const areSame = (a: readonly FindingCode[], b: readonly FindingCode[]): boolean =>
  a.length === b.length && a.every((code, index) => code === b[index])
