import { isVideoCodec } from '../../codecs/codecs.ts'
import { videoReader } from '../../codecs/videoReader.ts'
import type { Fanout } from '../forward/fanout.ts'
import { RtpTrack } from '../forward/rtpTrack.ts'
import { BitrateMeter, chooseLayer, type Source } from '../forward/source.ts'
import { PublisherClock } from '../forward/timeline.ts'
import { RtpReceiver } from '../inbound/rtpReceiver.ts'
import type { OpenedRtp } from '../srtp/reader.ts'
import { wallOf } from '../wire/ntp.ts'
import { type RtcpPacket, type SenderReport, writeNack, writePli, writeReceiverReport } from '../wire/rtcp/rtcp.ts'
import { parseRtp, payloadOf } from '../wire/rtp.ts'
import type { LinkOffer, LinkTrack } from './linkOffer.ts'
import type { LinkTransport } from './linkTransport.ts'

/** A track stays wanted for this long after its last use: a viewer may come back, or to a layer. */
const UNUSED_MS = 10_000

interface Received extends LinkTrack {
  readonly receiver: RtpReceiver
  usedAtMs: number
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
  readonly #clock = new PublisherClock()

  constructor(offer: LinkOffer, transport: LinkTransport, createFanout: () => Fanout, nowMs: number) {
    this.offer = offer
    this.#transport = transport
    const all = offer.tracks.map((one): Received => {
      const { ssrc, shape, isAskable } = one
      const ask = isAskable && shape.kind === 'video' ? () => this.#send(writePli(offer.linkId, ssrc)) : null
      const reader = isVideoCodec(shape.codec) ? videoReader(shape.codec) : null
      const receiver = new RtpReceiver(ssrc, new RtpTrack(shape, ask, createFanout()), reader)
      return { ...one, receiver, usedAtMs: Number.NEGATIVE_INFINITY }
    })
    this.#received = new Map(all.map((one) => [one.ssrc, one]))
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

  /** `isLate`: the packet waited too long before it was read. */
  rtp({ packet, index }: OpenedRtp, nowMs: number, isLate: boolean): void {
    const header = parseRtp(packet)
    const receiver = header === null ? undefined : this.#received.get(header.ssrc)?.receiver
    if (header === null || receiver === undefined) return
    const { timestamp, marker } = header
    receiver.take({ index, timestamp, marker, payload: payloadOf(packet, header), isLate }, nowMs)
    this.#sendNack(receiver, nowMs)
  }

  rtcp(packets: readonly RtcpPacket[], nowMs: number): void {
    for (const packet of packets) if (packet.kind === 'sr') this.#senderReport(packet, nowMs)
  }

  /** What the parent measured of each layer. */
  rates(bitrates: readonly number[]): void {
    for (const [at, { meter }] of this.source.layers.entries()) meter.bitrate = bitrates[at] ?? 0
  }

  /**
   * What its viewers need. Before the first of them is connected: audio, and the layer that most get. `isWatched`: the room has
   * viewers of the source.
   */
  wanted(isWatched: boolean, nowMs: number): Wanted {
    for (const one of this.#received.values()) if (one.receiver.track.isUsed) one.usedAtMs = nowMs
    if (isWatched) this.#prepare(nowMs)
    const used = [...this.#received.values()].filter(({ usedAtMs }) => nowMs - usedAtMs < UNUSED_MS)
    return { isWatched, ssrcs: used.map(({ ssrc }) => ssrc) }
  }

  /** Call it every few hundredths of a second. */
  pace(nowMs: number): void {
    for (const { receiver } of this.#received.values()) {
      this.#sendNack(receiver, nowMs)
      receiver.track.tick(nowMs)
    }
  }

  close(): void {
    this.#transport.close()
  }

  /** The packets of a datagram that belongs to this link. */
  open(sealed: Buffer): ReturnType<LinkTransport['open']> {
    return this.#transport.open(sealed)
  }

  #prepare(nowMs: number): void {
    const { audio, layers } = this.source
    const video = layers.some(({ track }) => track.isUsed) ? undefined : chooseLayer(layers, null, null)?.track
    for (const one of this.#received.values())
      if (one.receiver.track === audio || one.receiver.track === video) one.usedAtMs = nowMs
  }

  #senderReport(report: SenderReport, nowMs: number): void {
    const receiver = this.#received.get(report.ssrc)?.receiver
    if (receiver === undefined) return
    const wallMs = this.#clock.localize(wallOf(report), nowMs)
    receiver.track.timeline.reported(receiver.track.ownTimestamp(report.rtpTimestamp), wallMs)
  }

  #sendNack(receiver: RtpReceiver, nowMs: number): void {
    const missing = receiver.missing(nowMs)
    if (missing.length > 0) this.#send(writeNack(this.offer.linkId, receiver.ssrc, missing))
  }

  #send(feedback: Buffer): void {
    this.#transport.sendRtcp(writeReceiverReport(this.offer.linkId), feedback)
  }
}
