import type { TrackInfo } from '../../frame.ts'
import type { Fanout } from '../forward/fanout.ts'
import { RtpReceiver } from './rtpReceiver.ts'
import type { WebRtcTransport } from '../transport/webRtcTransport.ts'
import { type Layer, BitrateMeter, type Source } from '../forward/source.ts'
import { PublisherClock } from '../forward/timeline.ts'
import { RtpTrack } from '../forward/rtpTrack.ts'
import { videoReader } from '../../codecs/videoReader.ts'
import { middleOf, wallOf } from '../wire/ntp.ts'
import {
  type RtcpPacket,
  type SenderReport,
  writeNack,
  writePli,
  writeReceiverReport,
  writeRemb,
} from '../wire/rtcp.ts'
import { extensionOf, parseRtp, payloadOf, type RtpHeader } from '../wire/rtp.ts'
import { EXTENSION, extensionId } from '../wire/sdp/answer.ts'
import type { ChosenCodec } from '../wire/sdp/choose.ts'
import type { OfferedMedia } from '../wire/sdp/media.ts'
import { TransportFeedback } from '../wire/twcc.ts'

/** One m-line that a publisher sends on. */
interface Line {
  readonly media: OfferedMedia
  readonly chosen: ChosenCodec
  readonly layers: readonly Layer[]
  readonly midId: number | null
  readonly ridId: number | null
  readonly repairedRidId: number | null
  readonly transportId: number | null
}

export interface PublisherOptions {
  readonly sessionId: string
  readonly sourceId: string | null
  readonly lines: readonly { readonly media: OfferedMedia; readonly chosen: ChosenCodec }[]
  readonly createFanout: () => Fanout
  /** What the publisher is told that it may send, bits per second. */
  readonly maxBitrate: number
  /** Its tracks are known, or have changed. */
  readonly tracks: (tracks: readonly TrackInfo[]) => void
}

const OUR_SSRC = 1
const REPORT_MS = 1000
const TRANSPORT_MS = 60
/** Streams of one publisher: three layers with their retransmissions, and sound. */
const MAX_STREAMS = 16
const NO_CONFIG = new Uint8Array(0)

/** A publisher's media: from its packets to the tracks of a source, with the feedback that it needs (RFC 4585). */
export class Publisher {
  readonly source: Source
  readonly #options: PublisherOptions
  readonly #lines: readonly Line[]
  /** By payload type; 128 at most. */
  readonly #linesByType = new Map<number, readonly Line[]>()
  readonly #clock = new PublisherClock()
  readonly #inbound = new Map<number, RtpReceiver>()
  readonly #feedback = new TransportFeedback()
  #transport: WebRtcTransport | null = null
  #reportedAtMs = 0
  #transportAtMs = 0

  constructor(options: PublisherOptions, nowMs: number) {
    this.#options = options
    this.#lines = options.lines.map(({ media, chosen }) => this.#lineOf(media, chosen, nowMs))
    const ofKind = (kind: string): Line | undefined => this.#lines.find(({ media }) => media.kind === kind)
    this.source = {
      sessionId: options.sessionId,
      sourceId: options.sourceId,
      audio: ofKind('audio')?.layers[0]?.track ?? null,
      layers: ofKind('video')?.layers ?? [],
    }
  }

  /** The transport is up. */
  begin(transport: WebRtcTransport): void {
    this.#transport = transport
    this.#options.tracks(this.#lines.map(({ media, chosen }) => infoOf(media, chosen)))
  }

  rtp(packet: Buffer, index: number, nowMs: number): void {
    const header = parseRtp(packet)
    const line = header === null ? undefined : this.#lineFor(packet, header)
    if (header === null || line === undefined) return
    this.#noteTransport(packet, header, line, nowMs)
    const payload = payloadOf(packet, header)
    const arrival = { index, timestamp: header.timestamp, marker: header.marker, payload }
    if (header.payloadType === line.chosen.rtxPayloadType) {
      this.#repaired(packet, header, line)?.takeRetransmission(arrival, nowMs)
      return
    }
    const inbound = this.#inbound.get(header.ssrc) ?? this.#admit(packet, header, line)
    if (inbound === undefined) return
    line.layers.find(({ track }) => track === inbound.track)?.meter.add(packet.length)
    // A packet without payload only probes for bandwidth; its number has to be accounted for all the same.
    inbound.take(arrival, nowMs)
    this.#ask(inbound, nowMs)
  }

  rtcp(packets: readonly RtcpPacket[], nowMs: number): void {
    for (const packet of packets) if (packet.kind === 'sr') this.#senderReport(packet, nowMs)
  }

  /** Call it every few hundredths of a second. */
  pace(nowMs: number): void {
    for (const inbound of this.#inbound.values()) this.#ask(inbound, nowMs)
    for (const { layers } of this.#lines) {
      for (const { track, meter } of layers) {
        track.tick(nowMs)
        meter.tick(nowMs)
      }
    }
    if (nowMs - this.#transportAtMs >= TRANSPORT_MS) this.#reportTransport(nowMs)
    if (nowMs - this.#reportedAtMs >= REPORT_MS) this.#report(nowMs)
  }

  #lineOf(media: OfferedMedia, chosen: ChosenCodec, nowMs: number): Line {
    const rids = media.kind === 'video' && media.rids.length > 0 ? media.rids : ['']
    return {
      media,
      chosen,
      layers: rids.map((rid) => this.#layerOf(media, chosen, rid, nowMs)),
      midId: extensionId(media, EXTENSION.mid),
      ridId: extensionId(media, EXTENSION.rid),
      repairedRidId: extensionId(media, EXTENSION.repairedRid),
      transportId: extensionId(media, EXTENSION.transportCc),
    }
  }

  #layerOf(media: OfferedMedia, chosen: ChosenCodec, rid: string, nowMs: number): Layer {
    const kind = media.kind === 'audio' ? 'audio' : 'video'
    const shape = { kind, codec: chosen.name, rate: chosen.codec.clockRate } as const
    const track = new RtpTrack(
      shape,
      kind === 'audio' ? null : () => this.#askForKeyframe(track),
      this.#options.createFanout(),
    )
    return { rid, track, meter: new BitrateMeter(nowMs) }
  }

  #lineFor(packet: Buffer, header: RtpHeader): Line | undefined {
    const byType = this.#linesByType.get(header.payloadType) ?? this.#linesOf(header.payloadType)
    if (byType.length <= 1) return byType[0]
    return byType.find(({ media, midId }) => textOf(packet, header, midId) === media.mid)
  }

  #linesOf(type: number): readonly Line[] {
    const found = this.#lines.filter(
      ({ chosen }) => chosen.codec.payloadType === type || chosen.rtxPayloadType === type,
    )
    this.#linesByType.set(type, found)
    return found
  }

  /** A stream that was not seen before becomes that of a layer, in the place of an older one of the same layer. */
  #admit(packet: Buffer, header: RtpHeader, line: Line): RtpReceiver | undefined {
    if (this.#inbound.size >= MAX_STREAMS) return undefined
    const rid = textOf(packet, header, line.ridId) ?? ''
    const layer = line.layers.find((one) => one.rid === rid)
    if (layer === undefined) return undefined
    for (const [ssrc, inbound] of this.#inbound) if (inbound.track === layer.track) this.#inbound.delete(ssrc)
    const { name } = line.chosen
    const inbound = new RtpReceiver(header.ssrc, layer.track, name === 'opus' ? null : videoReader(name))
    this.#inbound.set(header.ssrc, inbound)
    return inbound
  }

  /** The stream that a retransmission repairs: by the offer's pairs, by its RID, or the only one of its line. */
  #repaired(packet: Buffer, header: RtpHeader, line: Line): RtpReceiver | undefined {
    const pair = line.media.rtxPairs.find(({ rtx }) => rtx === header.ssrc)
    if (pair !== undefined) return this.#inbound.get(pair.media)
    const rid = textOf(packet, header, line.repairedRidId)
    const layer = line.layers.length === 1 ? line.layers[0] : line.layers.find((one) => one.rid === rid)
    return [...this.#inbound.values()].find(({ track }) => track === layer?.track)
  }

  #senderReport(report: SenderReport, nowMs: number): void {
    const inbound = this.#inbound.get(report.ssrc)
    if (inbound === undefined) return
    const wallMs = this.#clock.localize(wallOf(report), nowMs)
    inbound.track.timeline.reported(inbound.track.ownTimestamp(report.rtpTimestamp), wallMs)
    inbound.reported(middleOf(report), nowMs)
  }

  #noteTransport(packet: Buffer, header: RtpHeader, { transportId }: Line, nowMs: number): void {
    const value = transportId === null ? null : extensionOf(packet, header, transportId)
    if (value !== null && value.length === 2) this.#feedback.arrived(value.readUInt16BE(0), nowMs * 1000)
  }

  #reportTransport(nowMs: number): void {
    this.#transportAtMs = nowMs
    const [first] = this.#inbound.keys()
    if (this.#feedback.pending === 0 || first === undefined) return
    for (const message of this.#feedback.build(OUR_SSRC, first)) this.#send(message)
  }

  #ask(inbound: RtpReceiver, nowMs: number): void {
    const missing = inbound.missing(nowMs)
    if (missing.length > 0) this.#send(writeNack(OUR_SSRC, inbound.ssrc, missing))
  }

  #askForKeyframe(track: RtpTrack): void {
    for (const inbound of this.#inbound.values()) {
      if (inbound.track === track) this.#send(writePli(OUR_SSRC, inbound.ssrc))
    }
  }

  #report(nowMs: number): void {
    this.#reportedAtMs = nowMs
    if (this.#inbound.size === 0) return
    const reports = [...this.#inbound.values()].map((inbound) => inbound.report(nowMs))
    const remb = writeRemb(OUR_SSRC, this.#options.maxBitrate, [...this.#inbound.keys()])
    this.#transport?.sendRtcp(writeReceiverReport(OUR_SSRC, reports), remb)
  }

  /** Feedback travels behind a receiver report, because not everybody takes it alone (RFC 5506). */
  #send(feedback: Buffer): void {
    this.#transport?.sendRtcp(writeReceiverReport(OUR_SSRC), feedback)
  }
}

const textOf = (packet: Buffer, header: RtpHeader, id: number | null): string | undefined =>
  id === null ? undefined : extensionOf(packet, header, id)?.toString('latin1')

function infoOf({ kind }: OfferedMedia, { name, codec }: ChosenCodec): TrackInfo {
  if (name === 'opus' || kind === 'audio')
    return { kind: 'audio', codec: 'opus', sampleRate: codec.clockRate, channels: 2, config: NO_CONFIG }
  return { kind: 'video', codec: name, width: 0, height: 0, config: NO_CONFIG }
}
