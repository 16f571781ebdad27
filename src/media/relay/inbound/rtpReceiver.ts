import type { LinkTotals } from '../../measure/linkMeter.ts'
import { leastTime } from '../wire/leastTime.ts'
import type { RtpArrival, RtpTrack } from '../forward/rtpTrack.ts'
import { unwrapSequence } from '../wire/rtp.ts'
import type { ReportBlock } from '../wire/rtcp/rtcp.ts'
import type { VideoReader } from '../../codecs/codec.ts'

/** A larger gap gets no NACKs: a keyframe is cheaper. */
const MAX_GAP = 200
/** More than a fast stream loses: two of five in 5,000 packets. To ask for more of a flood would cost far more than its packets. */
const LOST_OF_SECOND = 2000
/** The packets in between add to the next request. */
const NACK_EVERY_MS = 2
/** NACKs per packet, and the time after which a keyframe is requested instead. */
const MAX_TRIES = 8
const GIVE_UP_MS = 600
/** Time between two NACKs of a packet: before the first retransmission has arrived, and its bounds. */
const FIRST_RETRY_MS = 40
const SHORTEST_RETRY_MS = 20
const LONGEST_RETRY_MS = 250
/**
 * A link asks this often before an answer to the first NACK can come. All viewers behind it wait for the packet, and another round
 * trip would freeze their picture; a request is small, and the answers have a budget.
 */
const HURRIED_TRIES = 2
const HURRY_MS = 20

interface Missing {
  firstNackAtMs: number
  nackAtMs: number
  tries: number
}

const NOTHING: readonly number[] = []

/** Receives one RTP stream of a publisher or a link: missing packets, receiver reports, and the track that it feeds. */
export class RtpReceiver {
  readonly ssrc: number
  readonly track: RtpTrack
  readonly #reader: VideoReader | null
  readonly #isRepaired: boolean
  readonly #isHurried: boolean
  readonly #missing = new Map<number, Missing>()
  readonly #reception: Reception
  readonly #nackTimer = new NackTimer()
  #nackedAtMs = Number.NEGATIVE_INFINITY
  #second = { fromMs: Number.NEGATIVE_INFINITY, lost: 0 }
  /** -1: none has come. */
  #highest = -1

  /**
   * `reader`: null for audio. What a publisher loses of video is asked for. Of a link audio is as well, and what comes before its
   * first packet: its streams begin at the index 0.
   */
  constructor(ssrc: number, track: RtpTrack, reader: VideoReader | null, from: 'publisher' | 'link' = 'publisher') {
    this.ssrc = ssrc
    this.track = track
    this.#reader = reader
    this.#isHurried = from === 'link'
    this.#isRepaired = reader !== null || from === 'link'
    this.#reception = new Reception(track.shape.rate, from === 'link' ? 0 : -1)
  }

  take(arrival: RtpArrival, nowMs: number): void {
    this.#reception.arrived(arrival.index, arrival.timestamp, nowMs)
    this.#put(arrival, nowMs)
  }

  /** A retransmission (RFC 4588): the original sequence number is in front of the payload. */
  takeRetransmission(arrival: RtpArrival, nowMs: number): void {
    const { payload } = arrival
    if (payload.length < 2) return
    const index = unwrapSequence(this.#highest, payload.readUInt16BE(0))
    const missing = this.#missing.get(index)
    if (missing === undefined) return
    if (missing.tries > 0) this.#nackTimer.onRetransmission(nowMs - missing.firstNackAtMs)
    this.#put({ ...arrival, index, payload: payload.subarray(2) }, nowMs)
  }

  /** The sequence numbers to NACK now, in order. Gives up on packets after too many NACKs. */
  missing(nowMs: number): readonly number[] {
    if (this.#missing.size === 0 || nowMs - this.#nackedAtMs < NACK_EVERY_MS) return NOTHING
    const sequences: number[] = []
    for (const [index, one] of this.#missing) {
      if (nowMs < this.#dueAtMs(one)) continue
      if (one.tries === MAX_TRIES) {
        this.#giveUp(index, one, nowMs)
        continue
      }
      one.tries += 1
      if (one.tries === 1) one.firstNackAtMs = nowMs
      one.nackAtMs = nowMs
      sequences.push(index & 0xffff)
    }
    if (sequences.length > 0) this.#nackedAtMs = nowMs
    return sequences
  }

  /** Packets up to this index were sent. What has not come of them is missing, before a later one shows it. */
  sentUpTo(index: number, nowMs: number): void {
    if (index > this.#highest) this.#noteGap(index + 1, nowMs)
  }

  /** A sender report of this stream arrived. `ntp`: the middle 32 bits of its NTP time. */
  reported(ntp: number, nowMs: number): void {
    this.#reception.reported(ntp, nowMs)
  }

  report(nowMs: number): ReportBlock {
    return { ssrc: this.ssrc, ...this.#reception.report(nowMs) }
  }

  /** Packets so far, jitter, and the round trip once a retransmission has come. */
  totals(): LinkTotals {
    const { delayMs } = this.#nackTimer
    return { ...this.#reception.totals(), ...(delayMs !== null && { roundTripMs: delayMs }) }
  }

  #dueAtMs({ firstNackAtMs, nackAtMs, tries }: Missing): number {
    const { retryMs } = this.#nackTimer
    if (!this.#isHurried || tries > HURRIED_TRIES) return nackAtMs + retryMs
    const hurriedAtMs = nackAtMs + Math.min(HURRY_MS, retryMs)
    return tries < HURRIED_TRIES ? hurriedAtMs : Math.max(hurriedAtMs, firstNackAtMs + retryMs)
  }

  #put(arrival: RtpArrival, nowMs: number): void {
    this.#missing.delete(arrival.index)
    this.#noteGap(arrival.index, nowMs)
    this.#highest = Math.max(this.#highest, arrival.index)
    const isKeyStart = this.#reader === null || this.#reader.isKeyStart(arrival.payload)
    const { index, timestamp, marker, payload, isLate = false } = arrival
    this.track.take({ ssrc: this.ssrc, index, timestamp, marker, payload, isLate, isKeyStart }, nowMs)
  }

  #giveUp(index: number, { firstNackAtMs }: Missing, nowMs: number): void {
    if (nowMs - firstNackAtMs < GIVE_UP_MS) return
    this.#missing.delete(index)
    this.track.requestKeyframe(nowMs)
  }

  #mayAskFor(lost: number, nowMs: number): boolean {
    if (nowMs - this.#second.fromMs >= 1000) this.#second = { fromMs: nowMs, lost: 0 }
    this.#second.lost += lost
    return this.#second.lost <= LOST_OF_SECOND
  }

  /** All before `index` were sent. */
  #noteGap(index: number, nowMs: number): void {
    const gap = this.#highest < 0 && !this.#isHurried ? 0 : index - this.#highest - 1
    if (gap > MAX_GAP || (gap > 0 && !this.#mayAskFor(gap, nowMs))) {
      this.#missing.clear()
      if (this.#isRepaired) this.track.requestKeyframe(nowMs)
    } else if (this.#isRepaired) {
      for (let lost = index - gap; lost < index; lost++)
        this.#missing.set(lost, { firstNackAtMs: 0, nackAtMs: 0, tries: 0 })
    }
    this.#highest = Math.max(this.#highest, index - 1)
    while (this.#missing.size > MAX_GAP * 2) {
      const [oldest] = this.#missing.keys()
      if (oldest === undefined) return
      this.#missing.delete(oldest)
    }
  }
}

/** Estimates the delay from a NACK to its retransmission. A second NACK before that yields a duplicate. */
class NackTimer {
  delayMs: number | null = null

  /** `elapsedMs`: since the first NACK. If a NACK or an answer was lost, it is too long, so a longer delay counts little. */
  onRetransmission(elapsedMs: number): void {
    this.delayMs = leastTime(this.delayMs, elapsedMs)
  }

  get retryMs(): number {
    if (this.delayMs === null) return FIRST_RETRY_MS
    return Math.min(LONGEST_RETRY_MS, Math.max(SHORTEST_RETRY_MS, this.delayMs * 1.25))
  }
}

/** The statistics of receiver reports (RFC 3550 section 6.4.1, appendices A.3 and A.8). */
class Reception {
  readonly #rate: number
  #first: number
  #highest = -1
  #received = 0
  #expectedBefore = 0
  #receivedBefore = 0
  #transit: number | null = null
  #jitter = 0
  #lastReport = 0
  #lastReportAtMs = 0

  /** `first`: the index of its first packet; -1: that of the first that comes. */
  constructor(rate: number, first: number) {
    this.#rate = rate
    this.#first = first
  }

  arrived(index: number, timestamp: number, nowMs: number): void {
    if (this.#first < 0) this.#first = index
    this.#highest = Math.max(this.#highest, index)
    this.#received += 1
    const transit = Math.round((nowMs * this.#rate) / 1000 - timestamp)
    const change = this.#transit === null ? 0 : Math.abs((transit - this.#transit) | 0)
    this.#transit = transit
    this.#jitter += (change - this.#jitter) / 16
  }

  totals(): { packets: number; lost: number; jitterMs: number } {
    const packets = this.#first < 0 ? 0 : this.#highest - this.#first + 1
    return { packets, lost: packets - this.#received, jitterMs: (this.#jitter * 1000) / this.#rate }
  }

  reported(ntp: number, nowMs: number): void {
    this.#lastReport = ntp
    this.#lastReportAtMs = nowMs
  }

  report(nowMs: number): Omit<ReportBlock, 'ssrc'> {
    const expected = this.#highest - this.#first + 1
    const expectedNow = expected - this.#expectedBefore
    const lostNow = expectedNow - (this.#received - this.#receivedBefore)
    this.#expectedBefore = expected
    this.#receivedBefore = this.#received
    const delay = this.#lastReport === 0 ? 0 : Math.round(((nowMs - this.#lastReportAtMs) * 65_536) / 1000)
    return {
      fractionLost: expectedNow > 0 && lostNow > 0 ? Math.min(255, Math.floor((lostNow * 256) / expectedNow)) : 0,
      packetsLost: expected - this.#received,
      highestSequence: Math.max(0, this.#highest) % 2 ** 32,
      jitter: Math.floor(this.#jitter),
      lastReport: this.#lastReport,
      delaySinceLastReport: delay,
    }
  }
}
