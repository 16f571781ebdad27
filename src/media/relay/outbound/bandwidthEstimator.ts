import { leastTime } from '../wire/leastTime.ts'

/** What goes to a viewer, and what would if it got the next larger layer; bits per second. */
export interface LinkLoad {
  readonly sent: number
  /** Null: there is none. */
  readonly next: number | null
}

/** An estimate so far below what is sent, and falling, is congestion at once: pictures are uneven, and so is what comes in a second. */
const FAR_BELOW = 0.5
/** One that is somewhat below and does not grow is, after so long. */
const BELOW = 0.9
const STALLED_MS = 2000
/** A receiver sends its estimate several times a second, and a little noise in it. */
const FELL = 0.97
/** What has been sent without harm for so long after the last congestion is known to fit, with something to spare. */
const SETTLED_MS = 3000
const TO_SPARE = 1.1
/** A probe is larger than the layer that it is for, because layers are not even. */
const PROBE_MARGIN = 1.35
const PROBE_MS = 3000
/** An estimate that a probe has not lifted by then is held down by the way. */
const PROBE_HOPELESS_MS = 1500
const PROBE_LIFTS = 1.02
/** So much longer than before on the way, and a probe has filled it; less is the noise of busy machines. */
const QUEUED_MS = 100
/** A way that is too small for a probe has a queue that is longer than that after so long. */
const QUEUE_TAKES_MS = 1000
/** Between probes: twice as long after each that fails. */
const FIRST_WAIT_MS = 4000
const LONGEST_WAIT_MS = 64_000
/** Congestion so soon after a probe that went well means that it did not go well. */
const PROOF_MS = 15_000
/** Some ways drop what is too much instead of holding it up, so that no delay tells. */
const HEAVY_LOSS = 0.2
const LOSS_OF_PROBE = 0.1

interface Probe {
  readonly startedAtMs: number
  /** What the viewer estimated, and lost, when it began. */
  readonly said: number | null
  readonly loss: number
  /** What a report took there and back until then; null where nobody reports. */
  readonly delayMs: number | null
  /** One that left late in the probe took no longer. */
  isClear: boolean
}

/**
 * What one viewer can receive, as far as is known. A receiver estimates no more than one and a half times what it gets, so that
 * its estimate (REMB) tells where the limit is only when there is congestion. Where a viewer might get a larger layer, more
 * is sent for a moment: when the estimate grows with it, the way carries that much. After congestion an estimate may stand
 * still for long; then the way carries it when nothing is lost and reports take no longer than before.
 */
export class BandwidthEstimator {
  #bitrate: number | null = null
  #remb: number | null = null
  /** An estimate that did not tell of the last congestion counts only when it is larger than it was then. */
  #stale = 0
  #roseAtMs = 0
  #congestedAtMs = Number.NEGATIVE_INFINITY
  #provenAtMs = Number.NEGATIVE_INFINITY
  #waitMs = FIRST_WAIT_MS
  #probeAtMs = 0
  #probe: Probe | null = null
  #loss = 0
  #delayMs: number | null = null

  /** Bits per second; null while nothing is known. */
  get bitrate(): number | null {
    return this.#bitrate
  }

  /** The viewer's estimate came. */
  onRemb(bitrate: number, { sent }: LinkLoad, nowMs: number): void {
    const before = this.#remb
    this.#remb = bitrate
    if (before === null || bitrate > before) this.#roseAtMs = nowMs
    const hasFallen = before === null || bitrate < before * FELL
    const hasStalled = nowMs - this.#roseAtMs > STALLED_MS
    if (this.#probe !== null && before !== null && hasFallen) this.#failed(nowMs)
    if ((hasFallen && bitrate < sent * FAR_BELOW) || (hasStalled && bitrate < sent * BELOW)) {
      this.#congested(bitrate, nowMs)
      return
    }
    if (bitrate > this.#stale) this.#bitrate = Math.max(this.#bitrate ?? 0, bitrate)
    this.#trust(sent, nowMs)
  }

  /** The share of what was sent that the viewer lost, 0 to 1, over half a second or more. */
  onLoss(share: number, { sent }: LinkLoad, nowMs: number): void {
    const isHeavy = share > HEAVY_LOSS && this.#loss > HEAVY_LOSS
    this.#loss = share
    if (this.#probe !== null && share > this.#probe.loss + LOSS_OF_PROBE) this.#failed(nowMs)
    else if (isHeavy && this.#isSettled(nowMs)) this.#congested(sent * Math.max(0.5, 1 - share), nowMs)
  }

  /** A report that left at `leftAtMs` took so many milliseconds there and back. */
  onRtt(roundTripMs: number, leftAtMs: number, nowMs: number): void {
    const probe = this.#probe
    if (probe === null || leftAtMs < probe.startedAtMs) {
      this.#delayMs = leastTime(this.#delayMs, roundTripMs)
    } else if (probe.delayMs !== null) {
      if (roundTripMs > probe.delayMs + QUEUED_MS) this.#failed(nowMs)
      else if (leftAtMs - probe.startedAtMs >= QUEUE_TAKES_MS) probe.isClear = true
    }
  }

  /** Call it often. Bits per second that are to be sent beside the media, to find out whether more fits; mostly 0. */
  probe({ sent, next }: LinkLoad, nowMs: number): number {
    const known = this.#bitrate
    if (known === null) return 0
    this.#trust(sent, nowMs)
    const wanted = next === null ? 0 : next * PROBE_MARGIN
    if (wanted <= known) this.#probe = null
    else if (this.#probe !== null) this.#judge(this.#probe, wanted, nowMs)
    else if (nowMs >= this.#probeAtMs && this.#isSettled(nowMs))
      this.#probe = { startedAtMs: nowMs, said: this.#remb, loss: this.#loss, delayMs: this.#delayMs, isClear: false }
    return this.#probe === null ? 0 : Math.max(0, wanted - sent)
  }

  /** What is sent without harm fits. */
  #trust(sent: number, nowMs: number): void {
    if (this.#bitrate !== null && this.#probe === null && this.#isSettled(nowMs))
      this.#bitrate = Math.max(this.#bitrate, sent * TO_SPARE)
  }

  /** Where there is no estimate, or one that is larger anyway, only loss tells, and has not. */
  #judge({ startedAtMs, said, delayMs, isClear }: Probe, wanted: number, nowMs: number): void {
    const elapsedMs = nowMs - startedAtMs
    const lift = said === null || said >= wanted ? PROBE_LIFTS : (this.#remb ?? 0) / said
    const isHopeful = lift > 1 || delayMs !== null
    if (elapsedMs < PROBE_HOPELESS_MS || (elapsedMs < PROBE_MS && isHopeful)) return
    if (lift < PROBE_LIFTS && !isClear) {
      this.#failed(nowMs)
      return
    }
    this.#probe = null
    this.#bitrate = wanted
    this.#provenAtMs = nowMs
    this.#roseAtMs = nowMs
  }

  #failed(nowMs: number): void {
    this.#probe = null
    this.#waitMs = Math.min(this.#waitMs * 2, LONGEST_WAIT_MS)
    this.#probeAtMs = nowMs + this.#waitMs
  }

  #congested(bitrate: number, nowMs: number): void {
    const sinceProofMs = nowMs - this.#provenAtMs
    this.#provenAtMs = Number.NEGATIVE_INFINITY
    this.#bitrate = bitrate
    this.#stale = this.#remb ?? 0
    this.#congestedAtMs = nowMs
    if (this.#probe !== null || sinceProofMs < PROOF_MS) {
      this.#failed(nowMs)
      return
    }
    if (Number.isFinite(sinceProofMs)) this.#waitMs = FIRST_WAIT_MS
    this.#probeAtMs = Math.max(this.#probeAtMs, nowMs + this.#waitMs)
  }

  #isSettled(nowMs: number): boolean {
    return nowMs - this.#congestedAtMs > SETTLED_MS
  }
}
