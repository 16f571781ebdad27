import { roundTripOf } from '../wire/ntp.ts'
import type { ReportBlock } from '../wire/rtcp/rtcp.ts'
import { mostFor } from '../forward/source.ts'
import {
  BandwidthEstimator,
  HEAVY_LOSS,
  KEPT_OF_QUEUE,
  keptAt,
  type LinkLoad,
  QUEUED_MS,
} from '../outbound/bandwidthEstimator.ts'
import { LossWindow } from '../outbound/lossWindow.ts'

/** A layer as a link sees it. */
export interface CarriedLayer {
  /** Bits per second. */
  readonly bitrate: number
  /** Whether the child needs it now. */
  readonly isWanted: boolean
  /** Whether its packets go by the link now. */
  readonly isSent: boolean
}

/** A round trip that is longer by `QUEUED_MS` for this long shows a queue on the link. */
const QUEUED_FOR_MS = 1500
/** A round trip that is longer by this much may be the beginning of one. */
const PERHAPS_QUEUED_MS = 50
/**
 * The padding of a probe grows for this time, most of the probe. All of it at once fills the queue of a narrow link within a quarter
 * of a second, and packets of viewers are dropped before a report shows it.
 */
const PROBE_GROWS_MS = 2500
/** Reports come four times a second. If a probe fills the queue so that it drops them, nothing else says so. */
const UNREPORTED_MS = 700
/** What a probe sends is reported at the latest this long after its end. */
const ECHO_OF_PROBE_MS = 1500

/**
 * Which layers of a source a link can carry. All of them, until more than a fifth is lost or the round trip grows: then the
 * largest go, as for a viewer whose network is too small, and come back after a probe.
 */
export class LinkCapacity {
  readonly #estimator = new BandwidthEstimator(0)
  readonly #losses = new LossWindow()
  readonly #excess = new LossExcess()
  readonly #least = new LeastRoundTrip()
  /** Milliseconds; null: not known yet. */
  roundTripMs: number | null = null
  /** Whether packets may wait in a queue on the link. Retransmissions would make it longer. */
  isQueued = false
  #queuedSinceMs: number | null = null
  /** When the probe that is running began; null: none is. */
  #probingSinceMs: number | null = null
  #probedAtMs = Number.NEGATIVE_INFINITY
  #reportedAtMs = Number.NEGATIVE_INFINITY
  #lastReport = 0

  /** The child reports on a stream. Returns its loss, 0 to 1, at the end of a window; else null. */
  reported(report: ReportBlock, layers: readonly CarriedLayer[], nowMs: number): number | null {
    this.#reportedAtMs = nowMs
    this.#noteRoundTrip(report, layers, nowMs)
    const share = this.#losses.add(report, nowMs)
    if (share === null) return null
    this.#estimator.noteLoss(share, nowMs)
    if (this.#excess.isLikely) this.#estimator.failProbe(nowMs)
    if (this.#isOfProbe(nowMs)) return share
    this.#excess.add(share, this.#losses.packets)
    if (this.#excess.isCertain) this.#exceeded(keptAt(share), layers, nowMs)
    return share
  }

  /** Call it often. Returns the bits per second of padding to send, which probe whether one more layer fits; mostly 0. */
  probe(layers: readonly CarriedLayer[], nowMs: number): number {
    if (nowMs - this.#reportedAtMs > UNREPORTED_MS) this.#estimator.failProbe(nowMs)
    const padding = this.#estimator.probe(this.#loadOf(layers), nowMs)
    this.#probingSinceMs = padding > 0 ? (this.#probingSinceMs ?? nowMs) : null
    if (this.#probingSinceMs === null) return 0
    this.#probedAtMs = nowMs
    return padding * Math.min(1, (nowMs - this.#probingSinceMs) / PROBE_GROWS_MS)
  }

  /** Of each layer, whether the link carries it together with the smaller ones that are wanted. It carries the smallest always. */
  carries(layers: readonly CarriedLayer[]): boolean[] {
    const available = this.#estimator.bitrate
    if (available === null) return layers.map(() => true)
    const smallest = Math.min(...layers.map(({ bitrate }) => bitrate).filter((bitrate) => bitrate > 0))
    return layers.map(
      (layer) => layer.bitrate <= smallest || withSmaller(layers, layer) <= mostFor(available, layer.isWanted),
    )
  }

  /** Each of the parent's reports counts once, however often the child names it: the part of the round trip there is the same. */
  #noteRoundTrip(report: ReportBlock, layers: readonly CarriedLayer[], nowMs: number): void {
    const measured = report.lastReport === this.#lastReport ? null : roundTripOf(report, nowMs)
    if (measured === null) return
    this.#lastReport = report.lastReport
    this.roundTripMs = measured.roundTripMs
    this.#estimator.onRtt(measured.roundTripMs, measured.leftAtMs, nowMs)
    const waitedMs = measured.roundTripMs - this.#least.with(measured.roundTripMs, nowMs)
    this.isQueued = waitedMs > PERHAPS_QUEUED_MS
    if (waitedMs <= QUEUED_MS || this.#isOfProbe(nowMs)) this.#queuedSinceMs = null
    else this.#queuedSinceMs ??= nowMs
    if (this.#queuedSinceMs !== null && nowMs - this.#queuedSinceMs >= QUEUED_FOR_MS)
      this.#exceeded(KEPT_OF_QUEUE, layers, nowMs)
  }

  /** What is reported now may come from padding, which says nothing of the layers that are sent. */
  #isOfProbe(nowMs: number): boolean {
    return nowMs - this.#probedAtMs < ECHO_OF_PROBE_MS
  }

  /** While a layer that it does not carry is still sent, nothing is learned of the others. */
  #exceeded(kept: number, layers: readonly CarriedLayer[], nowMs: number): void {
    const load = this.#loadOf(layers)
    if (load.sent > 0) this.#estimator.onExcess(kept, load, nowMs)
  }

  /** What is sent of video, and would be with the smallest layer that the link does not carry now. Zero while viewers change. */
  #loadOf(layers: readonly CarriedLayer[]): LinkLoad {
    const carried = this.carries(layers)
    const shed = layers.filter((_, at) => carried[at] === false)
    const sent = layers.reduce((sum, { bitrate, isSent }) => sum + (isSent ? bitrate : 0), 0)
    if (sent === 0 || shed.some(({ isSent }) => isSent)) return { sent: 0, next: null }
    return { sent, next: shed.length === 0 ? null : Math.min(...shed.map((layer) => withSmaller(layers, layer))) }
  }
}

const withSmaller = (layers: readonly CarriedLayer[], { bitrate }: CarriedLayer): number =>
  layers.reduce((sum, other) => sum + (other.isWanted && other.bitrate < bitrate ? other.bitrate : 0), bitrate)

/** Packets that are lost beyond a share of `HEAVY_LOSS`: so many come together by chance at a loss of 15% hardly ever. */
const CERTAIN = 12
const LIKELY = 4
/** What one window adds at most. A pause of the network for a moment is no lack of bandwidth. */
const OF_ONE_WINDOW = 8

/**
 * Whether more than `HEAVY_LOSS` is lost. A window of half a second has few packets and shows it by chance, so that what is lost
 * beyond that share is summed up over several (CUSUM; Page, Continuous Inspection Schemes, 1954).
 */
class LossExcess {
  #packets = 0

  get isLikely(): boolean {
    return this.#packets > LIKELY
  }

  get isCertain(): boolean {
    return this.#packets >= CERTAIN
  }

  /** The loss of a window, 0 to 1, and how many packets it had. */
  add(loss: number, packets: number): void {
    const beyond = Math.min(OF_ONE_WINDOW, (loss - HEAVY_LOSS) * packets)
    this.#packets = Math.min(CERTAIN, Math.max(0, this.#packets + beyond))
  }
}

/** The least round trip is that of the last 15 to 30 s. A queue is no part of it before the link has had time to carry less. */
const LEAST_OF_MS = 15_000

class LeastRoundTrip {
  #before = Number.POSITIVE_INFINITY
  #now = Number.POSITIVE_INFINITY
  #sinceMs: number | null = null

  /** The least, with this one. Milliseconds. */
  with(roundTripMs: number, nowMs: number): number {
    this.#sinceMs ??= nowMs
    if (nowMs - this.#sinceMs >= LEAST_OF_MS) {
      this.#before = this.#now
      this.#now = roundTripMs
      this.#sinceMs = nowMs
    }
    this.#now = Math.min(this.#now, roundTripMs)
    return Math.min(this.#before, this.#now)
  }
}
