import { isVideoCodec } from '../../codecs/codecs.ts'
import { videoReader } from '../../codecs/videoReader.ts'
import { Allowance } from '../../../base/allowance.ts'
import { LaterFault } from '../../../base/walls.ts'
import type { Fanout } from '../forward/fanout.ts'
import { RtpTrack } from '../forward/rtpTrack.ts'
import { BitrateMeter, chooseLayer, type Source } from '../forward/source.ts'
import { PublisherClock } from '../forward/timeline.ts'
import { RtpReceiver } from '../inbound/rtpReceiver.ts'
import { noteSize } from '../forward/layerSize.ts'
import { LossWindow } from '../outbound/lossWindow.ts'
import { middleOf, wallOf } from '../wire/ntp.ts'
import { type RtcpPacket, type SenderReport, writeNack, writePli, writeReceiverReport } from '../wire/rtcp/rtcp.ts'
import { isRtcp } from '../wire/rtp.ts'
import { type CarriedFigures, LinkTally } from './linkTally.ts'
import type { LinkOffer, LinkRates, LinkTrack } from './linkOffer.ts'
import { type LinkTransport, TAG_BYTES } from './linkTransport.ts'

/** A track stays wanted for this long after its last use: a viewer may come back, or to a layer. */
const UNUSED_MS = 10_000

/** The counts of a report are sums, so the next one makes up for one that is lost. */
const REPORT_MS = 250

/** Requests that leave twice, since one that is lost costs a part of a round trip. */
const COPIES = { burst: 50, perSecond: 50 }

interface Received extends LinkTrack {
  readonly receiver: RtpReceiver
  usedAtMs: number
  /** Something came since the last report. */
  isReportDue: boolean
}

/** The parent sends packets with the fixed header alone (RFC 3550 section 5.1): no sources, no extensions, no padding. */
const HEADER = 12

export interface LinkReceiverOptions {
  readonly offer: LinkOffer
  readonly transport: LinkTransport
  readonly createFanout: () => Fanout
  /** Its viewers wait for a keyframe, perhaps of a track that the link does not carry yet. */
  readonly waiting: (nowMs: number) => void
}

/** What a child needs of a link. */
export interface Wanted {
  readonly isWatched: boolean
  readonly ssrcs: readonly number[]
}

/** The child's end of a link: a source as a publisher is one, out of the packets of the parent. */
export class LinkReceiver {
  readonly offer: LinkOffer
  readonly source: Source
  readonly #transport: LinkTransport
  /** By SSRC: audio, and one for each layer. */
  readonly #received: ReadonlyMap<number, Received>
  /** By the SSRC of their retransmissions. */
  readonly #repaired: ReadonlyMap<number, Received>
  readonly #clock = new PublisherClock()
  readonly #tally = new LinkTally()
  readonly #losses = new LossWindow()
  readonly #copies = new Allowance(COPIES)
  /** In the middle of the work for a viewer. */
  readonly #fault = new LaterFault()
  #reportedAtMs: number

  constructor({ offer, transport, createFanout, waiting }: LinkReceiverOptions, nowMs: number) {
    this.offer = offer
    this.#transport = transport
    this.#reportedAtMs = nowMs
    const all = offer.tracks.map((one): Received => {
      const { ssrc, shape, isAskable } = one
      const ask = (atMs: number): void =>
        this.#fault.during(() => {
          waiting(atMs)
          this.#send(writePli(offer.linkId, ssrc))
        })
      const track = new RtpTrack(shape, isAskable && shape.kind === 'video' ? ask : null, createFanout())
      const reader = isVideoCodec(shape.codec) ? videoReader(shape.codec) : null
      const receiver = new RtpReceiver(ssrc, track, reader, 'link')
      return { ...one, receiver, usedAtMs: Number.NEGATIVE_INFINITY, isReportDue: false }
    })
    this.#received = new Map(all.map((one) => [one.ssrc, one]))
    this.#repaired = new Map(all.map((one) => [one.rtxSsrc, one]))
    const { sessionId, sourceId, priority, profile } = offer
    const layers = all.filter(({ shape }) => shape.kind === 'video')
    this.source = {
      sessionId,
      sourceId,
      priority,
      profile,
      audio: all.find(({ shape }) => shape.kind === 'audio')?.receiver.track ?? null,
      layers: layers.map(({ rid, receiver }) => ({ rid, track: receiver.track, meter: new BitrateMeter(nowMs) })),
    }
  }

  /** A datagram of this link, which is decrypted in place. `isLate`: it waited too long before it was read. */
  receive(sealed: Buffer, nowMs: number, isLate: boolean): void {
    if (isRtcp(sealed)) this.#rtcp(this.#transport.openRtcp(sealed), nowMs)
    else this.#rtp(sealed, nowMs, isLate)
  }

  /** What the parent measured of each layer. */
  rates({ bitrates, sizes, roundTripMs }: LinkRates, nowMs: number): void {
    this.#tally.reported(null, roundTripMs)
    for (const [at, { meter, track }] of this.source.layers.entries()) {
      meter.bitrate = bitrates[at] ?? 0
      const size = sizes[at]
      if (size !== undefined) noteSize(track, size, nowMs)
    }
  }

  /**
   * What its viewers need. Before the first of them is connected: audio, and the layer that most get. `isWatched`: the room has
   * viewers of the source.
   */
  wanted(isWatched: boolean, nowMs: number): Wanted {
    for (const one of this.#received.values()) if (one.receiver.track.isUsed) one.usedAtMs = nowMs
    if (isWatched) this.#prepare(nowMs)
    const used = [...this.#received.values()].filter(
      (one) => nowMs - one.usedAtMs < UNUSED_MS && (one.receiver.track.isUsed || !this.#isShed(one)),
    )
    return { isWatched, ssrcs: used.map(({ ssrc }) => ssrc) }
  }

  /**
   * Call it every few hundredths of a second.
   * @throws what went wrong when a viewer asked for a keyframe
   */
  pace(nowMs: number): void {
    this.#fault.raise()
    for (const { receiver } of this.#received.values()) {
      this.#sendNack(receiver, nowMs)
      receiver.track.tick(nowMs)
    }
    if (nowMs - this.#reportedAtMs >= REPORT_MS) this.#report(nowMs)
  }

  /** What has come since the last call. The round trip is what the parent measured. */
  takeFigures(): CarriedFigures {
    return this.#tally.take()
  }

  close(): void {
    this.#transport.close()
  }

  #rtp(sealed: Buffer, nowMs: number, isLate: boolean): void {
    const index = this.#transport.openRtp(sealed)
    if (index === null) return
    const arrival = {
      index,
      timestamp: sealed.readUInt32BE(4),
      marker: sealed.readUInt8(1) >= 0x80,
      payload: sealed.subarray(HEADER, sealed.length - TAG_BYTES),
      isLate,
    }
    this.#tally.carried(arrival.payload.length)
    const ssrc = sealed.readUInt32BE(8)
    const received = this.#received.get(ssrc)
    if (received === undefined) return this.#repaired.get(ssrc)?.receiver.takeRetransmission(arrival, nowMs)
    received.isReportDue = true
    received.receiver.take(arrival, nowMs)
    this.#sendNack(received.receiver, nowMs)
  }

  #prepare(nowMs: number): void {
    const { audio, layers } = this.source
    const video = layers.some(({ track }) => track.isUsed) ? undefined : chooseLayer(layers, null, null)?.track
    for (const one of this.#received.values())
      if (one.receiver.track === audio || one.receiver.track === video) one.usedAtMs = nowMs
  }

  /** The link cannot carry this layer, or it pauses, and another does not. */
  #isShed({ receiver }: Received): boolean {
    const { layers } = this.source
    const own = layers.find(({ track }) => track === receiver.track)
    return own?.meter.bitrate === 0 && layers.some(({ meter }) => meter.bitrate > 0)
  }

  #rtcp(packets: readonly RtcpPacket[] | null, nowMs: number): void {
    for (const packet of packets ?? []) if (packet.kind === 'sr') this.#senderReport(packet, nowMs)
  }

  #senderReport(report: SenderReport, nowMs: number): void {
    const received = this.#received.get(report.ssrc)
    if (received === undefined) return
    const { track } = received.receiver
    const wallMs = this.#clock.localize(wallOf(report), nowMs)
    track.timeline.reported(track.ownTimestamp(report.rtpTimestamp), wallMs)
    received.receiver.reported(middleOf(report), nowMs)
    received.receiver.sentUpTo(report.packetCount - 1, nowMs)
    this.#sendNack(received.receiver, nowMs)
    received.isReportDue = true
  }

  /** Tells the parent the loss, and with it the round trip of its last report that came. */
  #report(nowMs: number): void {
    this.#reportedAtMs = nowMs
    const due = [...this.#received.values()].filter(({ isReportDue }) => isReportDue)
    if (due.length === 0) return
    const blocks = due.map(({ receiver }) => receiver.report(nowMs))
    for (const one of due) one.isReportDue = false
    for (const block of blocks) {
      const share = this.#losses.add(block, nowMs)
      if (share !== null) this.#tally.reported(share, null)
    }
    this.#transport.sendRtcp(writeReceiverReport(this.offer.linkId, blocks))
  }

  #sendNack(receiver: RtpReceiver, nowMs: number): void {
    const missing = receiver.missing(nowMs)
    if (missing.length === 0) return
    const nack = writeNack(this.offer.linkId, receiver.ssrc, missing)
    this.#send(nack)
    if (this.#copies.take(nowMs)) this.#send(nack)
  }

  #send(feedback: Buffer): void {
    this.#transport.sendRtcp(writeReceiverReport(this.offer.linkId), feedback)
  }
}
