import type { RtpTrack } from '../forward/rtpTrack.ts'
import type { Layer, Source } from '../forward/source.ts'
import { ProbePadding } from '../outbound/bandwidthEstimator.ts'
import { DownTrack } from '../outbound/downTrack.ts'
import { sizeOf } from '../outbound/layerSize.ts'
import { copiesAt } from '../outbound/retransmitter.ts'
import { roundTripOf } from '../wire/ntp.ts'
import { type ReportBlock, type RtcpPacket, writeSenderReport } from '../wire/rtcp/rtcp.ts'
import { isRtcp } from '../wire/rtp.ts'
import { type CarriedLayer, LinkCapacity } from './linkCapacity.ts'
import { type CarriedFigures, LinkTally } from './linkTally.ts'
import type { LinkRates, LinkTrack } from './linkOffer.ts'
import type { LinkTransport } from './linkTransport.ts'

const REPORT_MS = 1000
const RATES_MS = 1000

interface Carried extends LinkTrack {
  readonly track: RtpTrack
  /** Of a layer of video; null: audio. */
  readonly meter: Layer['meter'] | null
  readonly down: DownTrack
  isWanted: boolean
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
      return { ssrc, rtxSsrc, shape: track.shape, rid, isAskable: track.isAskable, track, meter, down, isWanted: false }
    })
    this.tracks = this.#carried.map(({ ssrc, rtxSsrc, shape, rid, isAskable }) => ({
      ssrc,
      rtxSsrc,
      shape,
      rid,
      isAskable,
    }))
  }

  /** The child needs these tracks from now on, and no others. */
  want(ssrcs: readonly number[], nowMs: number): void {
    for (const carried of this.#carried) {
      const isWanted = ssrcs.includes(carried.ssrc)
      if (isWanted === carried.isWanted) continue
      carried.isWanted = isWanted
      if (isWanted) carried.down.attach(carried.track, nowMs, this.#sendsLayerBeside(carried))
      else carried.down.detach()
      this.#reportedAtMs = Number.NEGATIVE_INFINITY
    }
  }

  /** A datagram of the child. */
  receive(sealed: Buffer, nowMs: number): void {
    if (isRtcp(sealed)) for (const packet of this.#transport.openRtcp(sealed) ?? []) this.#rtcp(packet, nowMs)
  }

  /** Call it every few hundredths of a second: continues catch-ups, probes, and reports the clock each second. */
  pace(nowMs: number): void {
    for (const { down } of this.#carried) down.pace(nowMs)
    if (this.source.layers.length > 1) this.#probe(nowMs)
    if (nowMs - this.#reportedAtMs < REPORT_MS) return
    this.#reportedAtMs = nowMs
    for (const { down } of this.#carried) {
      down.tick(nowMs)
      const report = down.report(nowMs)
      if (report !== null) this.#transport.sendRtcp(writeSenderReport(report))
    }
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
    return { bitrates: rates, sizes: this.source.layers.map(({ track }) => sizeOf(track, nowMs)) }
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

  #rtcp(packet: RtcpPacket, nowMs: number): void {
    if (packet.kind === 'nack') this.#of(packet.mediaSsrc)?.down.resend(packet.sequences, nowMs)
    // The child merges the requests of its viewers, and the track those of all.
    if (packet.kind === 'pli') this.#of(packet.mediaSsrc)?.down.requestKeyframe(nowMs)
    if (packet.kind === 'rr') for (const report of packet.reports) this.#noteReport(report, nowMs)
  }

  #noteReport(report: ReportBlock, nowMs: number): void {
    this.#tally.reported(report.fractionLost / 256, roundTripOf(report, nowMs)?.roundTripMs ?? null)
    const share = this.#capacity.reported(report, this.#layers(), nowMs)
    if (share !== null) for (const { down } of this.#carried) down.repeatResends(copiesAt(share))
  }

  #probe(nowMs: number): void {
    const octets = this.#padding.due(this.#capacity.probe(this.#layers(), nowMs), nowMs)
    if (octets > 0) this.#carried.find(({ meter, isWanted }) => meter !== null && isWanted)?.down.pad(octets)
  }

  #layers(): CarriedLayer[] {
    return this.#carried.flatMap(({ meter, isWanted }) =>
      meter === null ? [] : [{ bitrate: meter.bitrate, isWanted }],
    )
  }

  #of(ssrc: number): Carried | undefined {
    return this.#carried.find((one) => one.ssrc === ssrc)
  }
}

/** Dynamic (RFC 3551). The child looks at SSRCs only. */
const FIRST_TYPE = 96

/** What a link carries of a source: audio first, then each layer. */
function tracksOf({ audio, layers }: Source): Pick<Carried, 'track' | 'rid' | 'meter'>[] {
  return [...(audio === null ? [] : [{ track: audio, rid: '', meter: null }]), ...layers]
}
