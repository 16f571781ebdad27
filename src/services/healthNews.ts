import { Allowance } from '../base/allowance.ts'
import { FINDING_CODES, type FindingCode, type Found } from '../core/streams/findings.ts'
import type { StreamHealth } from '../core/streams/health.ts'

/** What is wrong is told when it has been so for this long, and is over when it was away for this long. */
export const HOLD_MS = 20_000
/** Of one broadcast: so many events at once, and then one in each pause. */
export const NEWS_BURST = 6
export const NEWS_PAUSE_MS = 600_000

/** What one look sees, or what an event tells. */
export interface SeenHealth {
  readonly health: StreamHealth
  /** The worst first. */
  readonly findings: readonly Found[]
}

/** What webhooks hear of a broadcast: all that holds now. */
export interface HealthChange extends SeenHealth {
  /** Findings that were told before, and are over. */
  readonly cleared: readonly FindingCode[]
  /** Changes since the last event that had none of their own, because there were too many. */
  readonly withheld: number
}

/** A state of the whole broadcast, or a finding. */
type Fault = 'stalled' | 'uneven' | FindingCode

interface WatchedFault {
  readonly fault: Fault
  /** Null: a state. */
  readonly found: Found | null
  readonly fromMs: number
  readonly seenAtMs: number
  /** It was there for `HOLD_MS`. */
  readonly isTold: boolean
}

/**
 * Turns the health of one broadcast into events: one for each change of what is wrong with it. What comes and goes is told
 * late, or never. Beyond the allowance a change waits, and the next event has what holds then.
 */
export class HealthNews {
  readonly #allowance = new Allowance({ burst: NEWS_BURST, perSecond: 1000 / NEWS_PAUSE_MS })
  #faults: readonly WatchedFault[] = []
  /** By the last event, and at the last look. */
  #told = signOf({ health: 'steady', findings: [] })
  #last = this.#told
  #changes = 0
  /** An event has its allowance, and is not written yet. */
  #isGranted = false

  /** What is to be told now; null: nothing. Until `tell` it is so at each look. @param nowMs monotonic */
  look(seen: SeenHealth, nowMs: number): HealthChange | null {
    this.#faults = faultsAt(this.#faults, seen, nowMs)
    const now = toldOf(this.#faults)
    const sign = signOf(now)
    if (!areSame(sign, this.#last)) this.#changes += 1
    this.#last = sign
    if (areSame(sign, this.#told)) return null
    this.#isGranted ||= this.#allowance.take(nowMs)
    if (!this.#isGranted) return null
    const cleared = FINDING_CODES.filter((code) => this.#told.includes(code) && !sign.includes(code))
    return { ...now, cleared, withheld: this.#changes - 1 }
  }

  /** It is written. */
  tell(change: HealthChange): void {
    this.#told = signOf(change)
    this.#changes = 0
    this.#isGranted = false
  }
}

function faultsAt(before: readonly WatchedFault[], seen: SeenHealth, nowMs: number): WatchedFault[] {
  const isStalled = seen.health === 'stalled'
  const faults: readonly Pick<WatchedFault, 'fault' | 'found'>[] = [
    ...(isStalled ? [{ fault: 'stalled' as const, found: null }] : []),
    // A broadcast that stalls is no steadier for it.
    ...(seen.health === 'uneven' || (isStalled && before.some(({ fault }) => fault === 'uneven'))
      ? [{ fault: 'uneven' as const, found: null }]
      : []),
    ...seen.findings.map((found) => ({ fault: found.code, found })),
  ]
  const there = faults.map(({ fault, found }): WatchedFault => {
    const earlier = before.find((one) => one.fault === fault)
    const fromMs = earlier?.fromMs ?? nowMs
    return { fault, found, fromMs, seenAtMs: nowMs, isTold: earlier?.isTold === true || nowMs - fromMs >= HOLD_MS }
  })
  const away = before.filter(
    ({ fault, isTold, seenAtMs }) => isTold && nowMs - seenAtMs < HOLD_MS && !there.some((one) => one.fault === fault),
  )
  return [...there, ...away]
}

function toldOf(all: readonly WatchedFault[]): SeenHealth {
  const told = new Map(all.filter(({ isTold }) => isTold).map(({ fault, found }) => [fault, found]))
  const findings = FINDING_CODES.flatMap((code) => told.get(code) ?? [])
  const fine = findings.length > 0 ? 'impaired' : 'steady'
  return { health: told.has('stalled') ? 'stalled' : told.has('uneven') ? 'uneven' : fine, findings }
}

/** What makes a difference to an event: another value of a finding makes none. */
const signOf = ({ health, findings }: SeenHealth): readonly string[] => [health, ...findings.map(({ code }) => code)]

const areSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((one, index) => one === b[index])
