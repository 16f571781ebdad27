import { leastTime } from '../wire/leastTime.ts'

/** The bitrate of a viewer's current layer, and of the next larger one; bits per second. */
export interface LinkLoad {
  readonly sent: number
  /** Null: there is none. */
  readonly next: number | null
}

/** A falling REMB below this share of the sent bitrate is congestion at once. Frame sizes vary, so a smaller drop is not. */
const FAR_BELOW = 0.5
/**
 * A REMB below this share is congestion if it does not grow for `STALLED_MS`. Where nothing waits on the link and nothing is lost,
 * one that still falls is none yet: that of a browser that stood still falls once or for seconds, and grows again.
 */
const BELOW = 0.9
const STALLED_MS = 2000
/**
 * What was sent unevenly, because this process, the publisher or the machine paused, makes a REMB fall, whatever the link carries.
 * So does what came in the second before the first REMB.
 */
const UNEVEN_MS = 3000
/** For so long a report shows that nothing waits on the link. The sender reports that it is about leave each second. */
const CLEAR_MS = 2000
/** A link without a queue drops what is too much. */
const CLEAR_LOSS = 0.02
/** A receiver sends several REMBs a second, with a little noise. A smaller drop than this is noise. */
const FELL = 0.97
/** A bitrate that was sent without congestion for this time is known to fit, with some room to spare. */
const SETTLED_MS = 3000
const TO_SPARE = 1.1
/** A probe sends more than the bitrate of the larger layer, because the bitrate of a layer varies. */
const PROBE_MARGIN = 1.35
const PROBE_MS = 3000
/** If a probe has not raised the REMB by then, the link limits it. */
const PROBE_HOPELESS_MS = 1500
const PROBE_LIFTS = 1.02
/** A round trip that is this much longer than before shows that the probe fills a queue; less is noise of busy machines. */
export const QUEUED_MS = 100
/** Without a probe, that is noise as well. For so long after it, one such round trip of a probe shows nothing. */
const NOISY_MS = 60_000
/** A queue that a probe has filled is empty again after this time. */
const EMPTIES_MS = 1000
/** On a link that is too small for the probe, the queue is longer than that after this time. */
const QUEUE_TAKES_MS = 1000
/** What a link with a queue carries, of what is sent. */
export const KEPT_OF_QUEUE = 0.7
/** Between probes: twice as long after each that fails. */
const FIRST_WAIT_MS = 4000
const LONGEST_WAIT_MS = 64_000
/** The bitrate of a layer varies. Below this share of another one's it is that of a smaller layer. */
const SMALLER = 0.7
/** Congestion this soon after a successful probe means that the probe was wrong. */
const PROOF_MS = 15_000
/** Some links drop excess packets instead of queueing them, so that the round trip does not rise. */
export const HEAVY_LOSS = 0.2
const LOSS_OF_PROBE = 0.1

/** What a link carries of what is sent, at a loss of 0 to 1. Retransmissions and bursts lose more than the media alone would. */
export const keptAt = (loss: number): number => Math.max(0.5, 1 - loss)

interface Probe {
  readonly startedAtMs: number
  /** REMB and loss when the probe began. */
  readonly remb: number | null
  readonly loss: number
  /** The round trip before the probe; null without receiver reports. */
  readonly rttMs: number | null
  /** A sender report from late in the probe had no longer round trip. */
  isClear: boolean
  /** The round trip of the latest one was longer. A second in a row is no noise: the queue stays as long as the probe fills it. */
  isLong: boolean
}

/**
 * Send-side bandwidth estimate of one viewer. A receiver estimates at most one and a half times what it gets, so a REMB shows
 * the limit of the link only under congestion. To find out whether a larger layer fits, the viewer gets padding for a moment:
 * if its REMB grows, the link carries that much. After congestion a REMB may stand still for long; then the link carries the
 * probe if nothing is lost and the round trip stays flat.
 */
export class BandwidthEstimator {
  readonly #noisyMs: number
  #bitrate: number | null = null
  #remb: number | null = null
  /** A REMB that had not noticed the last congestion counts only once it is larger than it was then. */
  #stale = 0
  #roseAtMs = 0
  /** When it fell, to no less than `FAR_BELOW`. */
  #fellAtMs = 0
  #congestedAtMs = Number.NEGATIVE_INFINITY
  #provenAtMs = Number.NEGATIVE_INFINITY
  #waitMs = FIRST_WAIT_MS
  #probeAtMs = 0
  #probe: Probe | null = null
  /** The bitrate of the layer that the last probe was for, and when it was running last. */
  #probedNext = 0
  #probedAtMs = Number.NEGATIVE_INFINITY
  #loss = 0
  #rttMs: number | null = null
  #noisyAtMs = Number.NEGATIVE_INFINITY
  #unevenAtMs = Number.NEGATIVE_INFINITY
  /** The least REMB since what was sent came unevenly; null: there was one that says that the link carries what is sent. */
  #leastRemb: number | null = null
  /** When the latest sender report left whose round trip was not longer than before. */
  #clearAtMs = Number.NEGATIVE_INFINITY

  /** @param noisyMs `NOISY_MS`; 0: each long round trip of a probe shows a queue, since the peer reports more often than browsers do */
  constructor(noisyMs = NOISY_MS) {
    this.#noisyMs = noisyMs
  }

  /** Bits per second; null while nothing is known. */
  get bitrate(): number | null {
    return this.#bitrate
  }

  /** A REMB arrived. */
  onRemb(bitrate: number, { sent }: LinkLoad, nowMs: number): void {
    const before = this.#remb
    this.#remb = bitrate
    if (before === null || bitrate > before) this.#roseAtMs = nowMs
    else if (bitrate < before && bitrate >= sent * FAR_BELOW) this.#fellAtMs = nowMs
    const hasFallen = before === null || bitrate < before * FELL
    const movedAtMs = this.#isClear(nowMs) ? Math.max(this.#roseAtMs, this.#fellAtMs) : this.#roseAtMs
    const hasStalled = nowMs - movedAtMs > STALLED_MS
    if (before === null) this.#unevenAtMs = nowMs
    if (this.#probe !== null && before !== null && hasFallen) this.#failed(nowMs)
    const isLow = (hasFallen && bitrate < sent * FAR_BELOW) || (hasStalled && bitrate < sent * BELOW)
    const isExplained = this.#isExplained(bitrate, sent, nowMs)
    if (isLow && !(isExplained && this.#isClear(nowMs))) {
      this.#congested(bitrate, nowMs)
      return
    }
    if (bitrate > this.#stale) this.#bitrate = Math.max(this.#bitrate ?? 0, bitrate)
    this.#trust(sent, nowMs)
  }

  /** What is sent stood still until now. @param missedMs of this process: nothing filled a queue meanwhile, and no report was read */
  onPause(missedMs: number, nowMs: number): void {
    this.#unevenAtMs = nowMs
    this.#clearAtMs += missedMs
  }

  /** The loss of the last half second or more, 0 to 1. */
  onLoss(share: number, { sent }: LinkLoad, nowMs: number): void {
    const isHeavy = share > HEAVY_LOSS && this.#loss > HEAVY_LOSS
    if (this.noteLoss(share, nowMs) || !isHeavy || !this.#isSettled(nowMs)) return
    this.#congested(sent * keptAt(share), nowMs)
  }

  /** As `onLoss`, for a peer that judges itself how much is too much. Returns whether a probe has failed by it. */
  noteLoss(share: number, nowMs: number): boolean {
    this.#loss = share
    if (this.#probe === null || share <= this.#probe.loss + LOSS_OF_PROBE) return false
    this.#failed(nowMs)
    return true
  }

  /** The round trip of a sender report that left at `leftAtMs`. */
  onRtt(roundTripMs: number, leftAtMs: number, nowMs: number): void {
    const probe = this.#probe
    if (roundTripMs <= (this.#rttMs ?? roundTripMs) + QUEUED_MS) this.#clearAtMs = leftAtMs
    if (probe === null || leftAtMs < probe.startedAtMs) {
      if (roundTripMs > (this.#rttMs ?? Number.POSITIVE_INFINITY) + QUEUED_MS && this.#isQuiet(leftAtMs))
        this.#noisyAtMs = nowMs
      this.#rttMs = leastTime(this.#rttMs, roundTripMs)
    } else if (probe.rttMs !== null) {
      const isLong = roundTripMs > probe.rttMs + QUEUED_MS
      if (isLong && (probe.isLong || nowMs - this.#noisyAtMs >= this.#noisyMs)) this.#failed(nowMs)
      probe.isLong = isLong
      if (!isLong && leftAtMs - probe.startedAtMs >= QUEUE_TAKES_MS) probe.isClear = true
    }
  }

  /** More is sent than comes through, which is about this share of it. For peers that send no REMB, which would say so. */
  onExcess(kept: number, { sent }: LinkLoad, nowMs: number): void {
    if (this.#probe !== null) this.#failed(nowMs)
    else if (this.#isSettled(nowMs)) this.#congested(sent * kept, nowMs)
  }

  /** A probe that is running has shown that the larger layer does not fit. */
  failProbe(nowMs: number): void {
    if (this.#probe !== null) this.#failed(nowMs)
  }

  /** Call it often. Returns the bits per second of padding to send beside the media; mostly 0. */
  probe({ sent, next }: LinkLoad, nowMs: number): number {
    const estimate = this.#bitrate
    if (estimate === null) return 0
    this.#trust(sent, nowMs)
    const wanted = next === null ? 0 : next * PROBE_MARGIN
    if (next === null || wanted <= estimate) this.#probe = null
    else if (this.#probe !== null) this.#judge(this.#probe, wanted, nowMs)
    else if (this.#isSettled(nowMs)) this.#beginProbe(next, nowMs)
    if (this.#probe === null) return 0
    this.#probedAtMs = nowMs
    return Math.max(0, wanted - sent)
  }

  /** If its time has come. A layer that was lost since the last probe did fit: those that failed were for a larger one. */
  #beginProbe(next: number, nowMs: number): void {
    if (this.#congestedAtMs >= this.#probedAtMs && next < this.#probedNext * SMALLER) {
      this.#waitMs = FIRST_WAIT_MS
      this.#probeAtMs = this.#congestedAtMs + FIRST_WAIT_MS
    }
    if (nowMs < this.#probeAtMs) return
    this.#probedNext = next
    const before = { remb: this.#remb, loss: this.#loss, rttMs: this.#rttMs }
    this.#probe = { startedAtMs: nowMs, ...before, isClear: false, isLong: false }
  }

  /** A bitrate that is sent without congestion fits. */
  #trust(sent: number, nowMs: number): void {
    if (this.#bitrate !== null && this.#probe === null && this.#isSettled(nowMs))
      this.#bitrate = Math.max(this.#bitrate, sent * TO_SPARE)
  }

  /** Without a REMB, or with one that is larger anyway, only loss could fail the probe, and it has not. */
  #judge({ startedAtMs, remb, rttMs, isClear, isLong }: Probe, wanted: number, nowMs: number): void {
    const elapsedMs = nowMs - startedAtMs
    const lift = remb === null || remb >= wanted ? PROBE_LIFTS : (this.#remb ?? 0) / Math.max(1, remb)
    const isHopeful = lift > 1 || rttMs !== null
    if (elapsedMs < PROBE_HOPELESS_MS || (elapsedMs < PROBE_MS && isHopeful)) return
    if ((lift < PROBE_LIFTS || isLong) && !isClear) {
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
    this.#leastRemb = null
    this.#stale = this.#remb ?? 0
    this.#congestedAtMs = nowMs
    if (this.#probe !== null || sinceProofMs < PROOF_MS) {
      this.#failed(nowMs)
      return
    }
    if (Number.isFinite(sinceProofMs)) this.#waitMs = FIRST_WAIT_MS
    this.#probeAtMs = Math.max(this.#probeAtMs, nowMs + this.#waitMs)
  }

  /** Call it with each REMB. Returns whether it is low because of what was sent, and has not fallen since then. */
  #isExplained(bitrate: number, sent: number, nowMs: number): boolean {
    const isUneven = nowMs - this.#unevenAtMs < UNEVEN_MS
    if (bitrate >= sent * BELOW) this.#leastRemb = null
    else if (isUneven) this.#leastRemb = Math.min(this.#leastRemb ?? bitrate, bitrate)
    return this.#leastRemb !== null && bitrate >= this.#leastRemb * FELL
  }

  /** Nothing waits on the link, and nothing is lost: it carries what is sent, whatever the receiver estimates. */
  #isClear(nowMs: number): boolean {
    return nowMs - this.#clearAtMs <= CLEAR_MS && this.#loss <= CLEAR_LOSS
  }

  /** Nothing of ours fills a queue then. */
  #isQuiet(atMs: number): boolean {
    return this.#isSettled(atMs) && atMs > this.#probedAtMs + EMPTIES_MS
  }

  #isSettled(nowMs: number): boolean {
    return nowMs - this.#congestedAtMs > SETTLED_MS
  }
}

/** After a late timer, padding makes up for no more than this. */
const MAX_PACE_MS = 60

/** Spreads the padding of a probe over time. */
export class ProbePadding {
  #atMs = Number.NEGATIVE_INFINITY
  /** Octets; below 0 after a packet that was larger than what was due. */
  #due = 0

  /**
   * Has `pad` send the octets that are due, if any. It returns what it has sent, which is a whole packet at least.
   * @param bitrate of the padding since the last call, bits per second
   */
  send(bitrate: number, nowMs: number, pad: (octets: number) => number): void {
    const elapsedMs = Math.min(nowMs - this.#atMs, MAX_PACE_MS)
    this.#atMs = nowMs
    this.#due = bitrate === 0 ? 0 : this.#due + (bitrate * elapsedMs) / 8000
    if (this.#due > 0) this.#due -= pad(this.#due)
  }
}
