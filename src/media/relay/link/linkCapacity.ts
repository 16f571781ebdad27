import { leastTime } from '../wire/leastTime.ts'
import { roundTripOf } from '../wire/ntp.ts'
import type { ReportBlock } from '../wire/rtcp/rtcp.ts'
import { mostFor } from '../forward/source.ts'
import { BandwidthEstimator, type LinkLoad, QUEUED_MS } from '../outbound/bandwidthEstimator.ts'
import { LossWindow } from '../outbound/lossWindow.ts'

/** A layer as a link sees it. */
export interface CarriedLayer {
  /** Bits per second. */
  readonly bitrate: number
  /** Whether the child needs it now. */
  readonly isWanted: boolean
}

/** A round trip that is longer by `QUEUED_MS` for this long shows a queue on the link. */
const QUEUED_FOR_MS = 1500

/**
 * Which layers of a source a link can carry. All of them, until more than a fifth is lost or the round trip grows: then the
 * largest go, as for a viewer whose network is too small, and come back after a probe.
 */
export class LinkCapacity {
  readonly #estimator = new BandwidthEstimator()
  readonly #losses = new LossWindow()
  #leastRttMs: number | null = null
  #queuedSinceMs: number | null = null

  /** The child reports on a stream. Returns its loss, 0 to 1, at the end of a window; else null. */
  reported(report: ReportBlock, layers: readonly CarriedLayer[], nowMs: number): number | null {
    const load = this.#loadOf(layers)
    const measured = roundTripOf(report, nowMs)
    if (measured !== null) {
      this.#estimator.onRtt(measured.roundTripMs, measured.leftAtMs, nowMs)
      if (this.#isQueued(measured.roundTripMs, nowMs)) this.#estimator.onQueue(load, nowMs)
    }
    const share = this.#losses.add(report, nowMs)
    if (share !== null) this.#estimator.onLoss(share, load, nowMs)
    return share
  }

  /** Call it often. Returns the bits per second of padding to send, which probe whether one more layer fits; mostly 0. */
  probe(layers: readonly CarriedLayer[], nowMs: number): number {
    return this.#estimator.probe(this.#loadOf(layers), nowMs)
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

  /** What is sent of video, and would be with the smallest layer that the link does not carry now. */
  #loadOf(layers: readonly CarriedLayer[]): LinkLoad {
    const carried = this.carries(layers)
    const shed = layers.filter((_, at) => carried[at] === false).map((layer) => withSmaller(layers, layer))
    const sent = layers.reduce((sum, { bitrate, isWanted }) => sum + (isWanted ? bitrate : 0), 0)
    return { sent, next: shed.length === 0 ? null : Math.min(...shed) }
  }

  /** The least round trip follows slowly, so that another route is no queue for long. */
  #isQueued(roundTripMs: number, nowMs: number): boolean {
    const least = this.#leastRttMs ?? roundTripMs
    this.#leastRttMs = leastTime(this.#leastRttMs, roundTripMs)
    if (roundTripMs <= least + QUEUED_MS) this.#queuedSinceMs = null
    else this.#queuedSinceMs ??= nowMs
    return this.#queuedSinceMs !== null && nowMs - this.#queuedSinceMs >= QUEUED_FOR_MS
  }
}

const withSmaller = (layers: readonly CarriedLayer[], { bitrate }: CarriedLayer): number =>
  layers.reduce((sum, other) => sum + (other.isWanted && other.bitrate < bitrate ? other.bitrate : 0), bitrate)
