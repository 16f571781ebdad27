import type { RtpTrack } from '../forward/rtpTrack.ts'
import type { Layer, Source } from '../forward/source.ts'
import { ProbePadding } from '../outbound/bandwidthEstimator.ts'
import { DownTrack } from '../outbound/downTrack.ts'
import { sizeOf } from '../forward/layerSize.ts'
import { type ReportBlock, type RtcpPacket, writeSenderReport } from '../wire/rtcp/rtcp.ts'
import { isRtcp } from '../wire/rtp.ts'
import { type CarriedLayer, LinkCapacity } from './linkCapacity.ts'
import { type CarriedFigures, LinkTally } from './linkTally.ts'
import type { LinkRates, LinkTrack } from './linkOffer.ts'
import type { LinkTransport } from './linkTransport.ts'

const REPORT_MS = 250
const RATES_MS = 1000
/** A layer that the link cannot carry leaves it at the latest this long after that is known, if its source takes requests. */
const LEAVE_MS = 1000
/**
 * For so long after a loss, reports follow each frame: they show that its last packet is missing before the next frame does, which
 * may be lost too.
 */
const LOSSY_MS = 10_000
/** What is lost leaves twice, as often as the child asks for it before the first answer can come. */
const HURRIED = { copies: 2, intervalMs: 15 } as const
/**
 * Into a queue it leaves once, and seldom for the second request. Not as seldom as the round trip is long: that of busy machines is
 * long as well, and what is lost there would come later than the child asks for it.
 */
const QUEUED = { copies: 1, intervalMs: 30 } as const

interface Carried {
  /** As the child knows it. */
  readonly offered: LinkTrack
  readonly track: RtpTrack
  /** Of a layer of video; null: audio. */
  readonly meter: Layer['meter'] | null
  readonly down: DownTrack
  isWanted: boolean
  /** The link cannot carry it since then; null: it can. */
  shedAtMs: number | null
  /** It is not sent although it is wanted. */
  isStopped: boolean
  /** The index of its next packet at the last report. */
  reportedIndex: number
}

/** The parent's end of a link: forwards the tracks of one source that the child wants, as to a viewer of each. */
export class LinkSender {
  readonly source: Source
  readonly tracks: readonly LinkTrack[]
  /** Whether the child has viewers of the source. */
  isWatched = false
  readonly #transport: LinkTransport
  readonly #carried: readonly Carried[]
  readonly #capacity = new LinkCapacity()
  readonly #padding = new ProbePadding()
  readonly #tally = new LinkTally()
  #octets = 0
  #reportedAtMs = Number.NEGATIVE_INFINITY
  #lossyUntilMs = Number.NEGATIVE_INFINITY
  #rates: readonly number[] = []
  #ratesAtMs = Number.NEGATIVE_INFINITY

  /** `newSsrc` gives one that no other stream of the link has. */
  constructor(source: Source, transport: LinkTransport, newSsrc: () => number) {
    this.source = source
    this.#transport = transport
    this.#carried = tracksOf(source).map(({ track, rid, meter }, at) => {
      const [ssrc, rtxSsrc, payloadType] = [newSsrc(), newSsrc(), FIRST_TYPE + at]
      const payloadTypes = new Map([[track.shape.codec, payloadType]])
      const rtx = { ssrc: rtxSsrc, payloadTypes: new Map([[payloadType, payloadType]]) }
      const { kind } = track.shape
      const down = new DownTrack({ ssrc, kind, payloadTypes, rtx, transport, isFirst: true, firstIndex: 0 })
      down.repeatResends(HURRIED)
      const offered = { ssrc, rtxSsrc, shape: track.shape, rid, isAskable: track.isAskable }
      const state = { isWanted: false, shedAtMs: null, isStopped: false, reportedIndex: 0 }
      return { offered, track, meter, down, ...state }
    })
    this.tracks = this.#carried.map(({ offered }) => offered)
  }

  /** The child needs these tracks from now on, and no others. */
  want(ssrcs: readonly number[], nowMs: number): void {
    for (const carried of this.#carried) {
      const isWanted = ssrcs.includes(carried.offered.ssrc)
      if (isWanted === carried.isWanted) continue
      carried.isWanted = isWanted
      this.#follow(carried, nowMs)
    }
  }

  /** A datagram of the child. */
  receive(sealed: Buffer, nowMs: number): void {
    if (isRtcp(sealed)) for (const packet of this.#transport.openRtcp(sealed) ?? []) this.#rtcp(packet, nowMs)
  }

  /** Call it every few hundredths of a second: continues catch-ups, sheds layers, probes, and reports the clock. */
  pace(nowMs: number): void {
    for (const { down } of this.#carried) down.pace(nowMs)
    if (this.source.layers.length > 1) {
      this.#shed(nowMs)
      this.#probe(nowMs)
    }
    if (nowMs - this.#reportedAtMs >= REPORT_MS) {
      this.#reportedAtMs = nowMs
      for (const { down } of this.#carried) down.tick(nowMs)
      this.#report(this.#carried, nowMs)
    } else if (nowMs < this.#lossyUntilMs)
      this.#report(
        this.#carried.filter(({ meter, down, reportedIndex }) => meter !== null && down.nextIndex > reportedIndex),
        nowMs,
      )
  }

  /** Packets of a link are numbered from 0, so that the count says which is the last. */
  #report(all: readonly Carried[], nowMs: number): void {
    const reports = all.flatMap((one) => {
      const report = one.down.report(nowMs)
      one.reportedIndex = one.down.nextIndex
      return report === null ? [] : [writeSenderReport({ ...report, packetCount: one.down.nextIndex >>> 0 })]
    })
    if (reports.length > 0) this.#transport.sendRtcp(...reports)
  }

  /** What the child has to know of the layers now. Null: it knows, or knew a second ago. */
  newRates(nowMs: number): LinkRates | null {
    const isDue = nowMs - this.#ratesAtMs >= RATES_MS
    if (this.source.layers.length < (isDue ? 1 : 2)) return null
    const layers = this.#layers()
    const carried = this.#capacity.carries(layers)
    const rates = layers.map(({ bitrate }, at) => (carried[at] === true ? bitrate : 0))
    const isChoiceNew = rates.some((rate, at) => rate > 0 !== (this.#rates[at] ?? 0) > 0)
    if (!isChoiceNew && !isDue) return null
    this.#rates = rates
    this.#ratesAtMs = nowMs
    const { roundTripMs } = this.#capacity
    return {
      bitrates: rates,
      sizes: this.source.layers.map(({ track }) => sizeOf(track, nowMs)),
      roundTripMs: roundTripMs === null ? null : Math.round(roundTripMs),
    }
  }

  /** What it has carried since the last call. */
  takeFigures(): CarriedFigures {
    const octets = this.#carried.reduce((sum, { down }) => sum + down.octets, 0)
    this.#tally.carried(octets - this.#octets)
    this.#octets = octets
    return this.#tally.take()
  }

  close(): void {
    for (const { down } of this.#carried) down.detach()
    this.#transport.close()
  }

  /** Whether the child has another layer now: its viewers change from that one. */
  #sendsLayerBeside(carried: Carried): boolean {
    const isOther = ({ meter, down }: Carried): boolean =>
      meter !== null && down !== carried.down && down.track !== null
    return carried.meter !== null && this.#carried.some(isOther)
  }

  /**
   * A layer that the link cannot carry leaves it when another one begins. Sooner if that one comes when it is asked for: at once
   * if packets wait in a queue, which would hold up that one and the messages, or drop them.
   */
  #shed(nowMs: number): void {
    const carries = this.#capacity.carries(this.#layers())
    const layers = this.#carried.filter(({ meter }) => meter !== null)
    for (const [at, one] of layers.entries()) {
      one.shedAtMs = carries[at] === true ? null : (one.shedAtMs ?? nowMs)
      const { shedAtMs, isStopped } = one
      const isOver = (sinceMs: number): boolean =>
        this.#sendsLayerBeside(one) || (one.track.isAskable && (this.#capacity.isQueued || nowMs - sinceMs >= LEAVE_MS))
      one.isStopped = shedAtMs !== null && (isStopped || isOver(shedAtMs))
      if (one.isStopped !== isStopped) this.#follow(one, nowMs)
    }
  }

  /** Sends a track, or no longer. */
  #follow(carried: Carried, nowMs: number): void {
    const { isWanted, isStopped, track, down } = carried
    if (isWanted && !isStopped) down.attach(track, nowMs, this.#sendsLayerBeside(carried))
    else down.detach()
    this.#reportedAtMs = Number.NEGATIVE_INFINITY
  }

  #rtcp(packet: RtcpPacket, nowMs: number): void {
    if (packet.kind === 'nack') this.#resend(packet.mediaSsrc, packet.sequences, nowMs)
    // The child merges the requests of its viewers, and the track those of all.
    if (packet.kind === 'pli') this.#of(packet.mediaSsrc)?.down.requestKeyframe(nowMs)
    if (packet.kind === 'rr') this.#noteReports(packet.reports, nowMs)
  }

  #resend(ssrc: number, sequences: readonly number[], nowMs: number): void {
    this.#lossyUntilMs = nowMs + LOSSY_MS
    const carried = this.#of(ssrc)
    if (carried?.isStopped === false) carried.down.resend(sequences, nowMs)
  }

  #noteReports(reports: readonly ReportBlock[], nowMs: number): void {
    const capacity = this.#capacity
    const losses = reports.map((report) => capacity.reported(report, this.#layers(), nowMs))
    this.#tally.reported(losses.find((loss) => loss !== null) ?? null, capacity.roundTripMs)
    for (const { down } of this.#carried) down.repeatResends(capacity.isQueued ? QUEUED : HURRIED)
  }

  #probe(nowMs: number): void {
    const padded = this.#carried.find(({ meter, isWanted }) => meter !== null && isWanted)
    const padding = this.#capacity.probe(this.#layers(), nowMs)
    this.#padding.send(padding, nowMs, (octets) => padded?.down.pad(octets) ?? 0)
  }

  #layers(): CarriedLayer[] {
    return this.#carried.flatMap(({ meter, isWanted, down }) =>
      meter === null ? [] : [{ bitrate: meter.bitrate, isWanted, isSent: down.track !== null }],
    )
  }

  #of(ssrc: number): Carried | undefined {
    return this.#carried.find(({ offered }) => offered.ssrc === ssrc)
  }
}

/** Dynamic (RFC 3551). The child looks at SSRCs only. */
const FIRST_TYPE = 96

/** What a link carries of a source: audio first, then each layer. */
function tracksOf({ audio, layers }: Source): (Pick<Carried, 'track' | 'meter'> & Pick<LinkTrack, 'rid'>)[] {
  return [...(audio === null ? [] : [{ track: audio, rid: '', meter: null }]), ...layers]
}
