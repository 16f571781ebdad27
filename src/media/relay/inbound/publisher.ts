import type { SourceReading } from '../../../core/streams/source.ts'
import { LaterFault } from '../../../base/walls.ts'
import { videoReader } from '../../codecs/videoReader.ts'
import { isVideoCodec } from '../../codecs/codecs.ts'
import { rtpAudioTrack, type TrackInfo } from '../../frame.ts'
import type { LevelFigures } from '../../measure/levelMeter.ts'
import type { LinkTotals } from '../../measure/linkMeter.ts'
import type { Fanout } from '../forward/fanout.ts'
import { RtpTrack } from '../forward/rtpTrack.ts'
import { BitrateMeter, type Layer, type Source } from '../forward/source.ts'
import { PublisherClock } from '../forward/timeline.ts'
import type { WebRtcTransport } from '../transport/webRtcTransport.ts'
import { middleOf, wallOf } from '../wire/ntp.ts'
import {
  type RtcpPacket,
  type SenderReport,
  writeNack,
  writePli,
  writeReceiverReport,
  writeRemb,
} from '../wire/rtcp/rtcp.ts'
import { extensionOf, parseRtp, payloadOf, type RtpHeader } from '../wire/rtp.ts'
import { EXTENSION, extensionId } from '../wire/sdp/answer.ts'
import type { ChosenCodec } from '../wire/sdp/choose.ts'
import { hevcProfileIdOf } from '../wire/sdp/format.ts'
import type { OfferedMedia } from '../wire/sdp/media.ts'
import { TransportFeedback } from '../wire/twcc.ts'
import { RtpReceiver } from './rtpReceiver.ts'
import { SentSource } from './sentSource.ts'
import { SentVideo } from './sentVideo.ts'

/** An accepted m-line of a publisher. */
export interface PublisherLine {
  readonly media: OfferedMedia
  readonly chosen: ChosenCodec
}

interface Line extends PublisherLine {
  readonly layers: readonly Layer[]
  readonly midId: number | null
  readonly ridId: number | null
  readonly repairedRidId: number | null
  readonly transportId: number | null
  readonly levelId: number | null
}

export interface PublisherOptions {
  readonly sessionId: string
  readonly sourceId: string | null
  readonly priority?: number | null
  readonly transport: Pick<WebRtcTransport, 'sendRtcp'>
  readonly lines: readonly PublisherLine[]
  readonly createFanout: () => Fanout
  /** The REMB that the publisher gets, bits per second. */
  readonly maxBitrate: number
  /** Its tracks are known, or have changed. */
  readonly tracks: (tracks: readonly TrackInfo[]) => void
}

const OUR_SSRC = 1
const REPORT_MS = 1000
const FEEDBACK_MS = 60
const NO_CONFIG = new Uint8Array(0)

/** One publisher: turns its packets into the tracks of a source, and sends it RTCP feedback (RFC 4585). */
export class Publisher {
  readonly source: Source
  readonly #options: PublisherOptions
  readonly #lines: readonly Line[]
  /** By payload type; 128 at most. */
  readonly #linesByType = new Map<number, readonly Line[]>()
  readonly #clock = new PublisherClock()
  /** By SSRC; one for each layer at most. */
  readonly #receivers = new Map<number, RtpReceiver>()
  readonly #feedback = new TransportFeedback()
  readonly #video: SentVideo | null
  readonly #sent: SentSource
  /** In the middle of the work for a viewer. */
  readonly #fault = new LaterFault()
  #tracks: readonly TrackInfo[]
  #reportedAtMs = 0
  #feedbackAtMs = 0

  constructor(options: PublisherOptions, nowMs: number) {
    this.#options = options
    this.#lines = options.lines.map(({ media, chosen }) => this.#lineOf(media, chosen, nowMs))
    const ofKind = (kind: string): Line | undefined => this.#lines.find(({ media }) => media.kind === kind)
    this.source = {
      sessionId: options.sessionId,
      sourceId: options.sourceId,
      priority: options.priority ?? null,
      audio: ofKind('audio')?.layers[0]?.track ?? null,
      layers: ofKind('video')?.layers ?? [],
      profile: profileOf(ofKind('video')?.chosen),
    }
    this.#tracks = this.#lines.map(({ chosen }) => infoOf(chosen))
    this.#sent = new SentSource(this.source.audio, this.source.layers)
    this.#sent.tracks(this.#tracks)
    const codec = ofKind('video')?.chosen.name
    this.#video =
      codec !== undefined && isVideoCodec(codec) ? new SentVideo(this.source.layers, videoReader(codec)) : null
  }

  /** Video frames so far, of the largest layer of simulcast. */
  get frames(): number {
    return this.#video?.frames ?? 0
  }

  /** What arrived of its packets. */
  get link(): LinkTotals {
    return totalsOf([...this.#receivers.values()].map((receiver) => receiver.totals()))
  }

  /** What its packets of audio say of their levels. */
  get levels(): LevelFigures {
    return this.#sent.levels
  }

  /** What was measured of its media. */
  reading(): SourceReading {
    return this.#sent.reading()
  }

  /** The transport is connected: reports the tracks. */
  start(): void {
    this.#options.tracks(this.#tracks)
  }

  /** `isLate`: the packet waited too long before it was read. */
  rtp(packet: Buffer, index: number, nowMs: number, isLate = false): void {
    const header = parseRtp(packet)
    const line = header === null ? undefined : this.#lineFor(packet, header)
    if (header === null || line === undefined) return
    this.#noteTransportSequence(packet, header, line, nowMs)
    const payload = payloadOf(packet, header)
    const arrival = { index, timestamp: header.timestamp, marker: header.marker, payload, isLate }
    if (header.payloadType === line.chosen.rtxPayloadType) {
      this.#repaired(packet, header, line)?.takeRetransmission(arrival, nowMs)
      return
    }
    const receiver = this.#receivers.get(header.ssrc) ?? this.#admit(packet, header, line)
    if (receiver === undefined) return
    line.layers.find(({ track }) => track === receiver.track)?.meter.add(packet.length)
    this.#noteLevel(packet, header, line)
    // A packet without payload is a bandwidth probe. Its sequence number still counts.
    receiver.take(arrival, nowMs)
    this.#sendNack(receiver, nowMs)
  }

  rtcp(packets: readonly RtcpPacket[], nowMs: number): void {
    for (const packet of packets) if (packet.kind === 'sr') this.#senderReport(packet, nowMs)
  }

  /**
   * Call it every few hundredths of a second.
   * @throws what went wrong when a viewer asked for a keyframe
   */
  pace(nowMs: number): void {
    this.#fault.raise()
    for (const receiver of this.#receivers.values()) this.#sendNack(receiver, nowMs)
    for (const { layers } of this.#lines) {
      for (const { track, meter } of layers) {
        track.tick(nowMs)
        meter.tick(nowMs)
      }
    }
    if (nowMs - this.#feedbackAtMs >= FEEDBACK_MS) this.#sendTransportFeedback(nowMs)
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
      levelId: media.kind === 'audio' ? extensionId(media, EXTENSION.audioLevel) : null,
    }
  }

  #layerOf(media: OfferedMedia, chosen: ChosenCodec, rid: string, nowMs: number): Layer {
    const kind = media.kind === 'audio' ? 'audio' : 'video'
    const shape = { kind, codec: chosen.name, rate: chosen.codec.clockRate } as const
    const track = new RtpTrack(
      shape,
      kind === 'audio' ? null : () => this.#fault.during(() => this.#sendPli(track)),
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

  /** Assigns a new SSRC to its layer, in place of an older SSRC of that layer. */
  #admit(packet: Buffer, header: RtpHeader, line: Line): RtpReceiver | undefined {
    const rid = textOf(packet, header, line.ridId) ?? ''
    const layer = line.layers.find((one) => one.rid === rid)
    if (layer === undefined) return undefined
    for (const [ssrc, receiver] of this.#receivers) if (receiver.track === layer.track) this.#receivers.delete(ssrc)
    const { name } = line.chosen
    const receiver = new RtpReceiver(header.ssrc, layer.track, isVideoCodec(name) ? videoReader(name) : null)
    this.#receivers.set(header.ssrc, receiver)
    return receiver
  }

  /** The stream that an RTX packet belongs to: by the FID groups of the offer, by its RID, or the only one of its m-line. */
  #repaired(packet: Buffer, header: RtpHeader, line: Line): RtpReceiver | undefined {
    const pair = line.media.rtxPairs.find(({ rtx }) => rtx === header.ssrc)
    if (pair !== undefined) return this.#receivers.get(pair.media)
    const rid = textOf(packet, header, line.repairedRidId)
    const layer = line.layers.length === 1 ? line.layers[0] : line.layers.find((one) => one.rid === rid)
    return [...this.#receivers.values()].find(({ track }) => track === layer?.track)
  }

  /** One with the time 0 is of a sender without a clock (RFC 3550 section 6.4.1). */
  #senderReport(report: SenderReport, nowMs: number): void {
    const receiver = this.#receivers.get(report.ssrc)
    if (receiver === undefined || (report.ntpSeconds === 0 && report.ntpFraction === 0)) return
    const wallMs = this.#clock.localize(wallOf(report), nowMs)
    receiver.track.timeline.reported(receiver.track.ownTimestamp(report.rtpTimestamp), wallMs)
    receiver.reported(middleOf(report), nowMs)
  }

  #noteTransportSequence(packet: Buffer, header: RtpHeader, { transportId }: Line, nowMs: number): void {
    const value = transportId === null ? null : extensionOf(packet, header, transportId)
    if (value !== null && value.length === 2) this.#feedback.arrived(value.readUInt16BE(0), nowMs * 1000)
  }

  /** RFC 6464 section 3: the lower seven bits, beside a flag for speech. */
  #noteLevel(packet: Buffer, header: RtpHeader, { levelId }: Line): void {
    const level = levelId === null ? undefined : extensionOf(packet, header, levelId)?.[0]
    if (level !== undefined) this.#sent.level(level & 0x7f)
  }

  #sendTransportFeedback(nowMs: number): void {
    this.#feedbackAtMs = nowMs
    const [first] = this.#receivers.keys()
    if (this.#feedback.pending === 0 || first === undefined) return
    for (const message of this.#feedback.build(OUR_SSRC, first)) this.#send(message)
  }

  #sendNack(receiver: RtpReceiver, nowMs: number): void {
    const missing = receiver.missing(nowMs)
    if (missing.length > 0) this.#send(writeNack(OUR_SSRC, receiver.ssrc, missing))
  }

  #sendPli(track: RtpTrack): void {
    for (const receiver of this.#receivers.values()) {
      if (receiver.track === track) this.#send(writePli(OUR_SSRC, receiver.ssrc))
    }
  }

  #report(nowMs: number): void {
    this.#reportedAtMs = nowMs
    this.#noteSize(nowMs)
    this.#sent.look(this.link, nowMs)
    if (this.#receivers.size === 0) return
    const reports = [...this.#receivers.values()].map((receiver) => receiver.report(nowMs))
    const remb = writeRemb(OUR_SSRC, this.#options.maxBitrate, [...this.#receivers.keys()])
    this.#options.transport.sendRtcp(writeReceiverReport(OUR_SSRC, reports), remb)
  }

  /** Reports the tracks again when the size of the video is known or has changed. */
  #noteSize(nowMs: number): void {
    const size = this.#video?.newSize(nowMs) ?? null
    if (size === null) return
    const config = this.#video?.format?.config ?? NO_CONFIG
    this.#sent.tracks(this.#tracks.map((track) => (track.kind === 'video' ? { ...track, config } : track)))
    this.#tracks = this.#tracks.map((track) => (track.kind === 'video' ? { ...track, ...size } : track))
    this.#options.tracks(this.#tracks)
  }

  /** Sends feedback after a receiver report: not every peer accepts it alone (RFC 5506). */
  #send(feedback: Buffer): void {
    this.#options.transport.sendRtcp(writeReceiverReport(OUR_SSRC), feedback)
  }
}

/** Of all streams. The jitter is that of the steadiest: video comes in bursts. */
function totalsOf(all: readonly LinkTotals[]): LinkTotals {
  const sum = (of: (totals: LinkTotals) => number): number => all.reduce((total, one) => total + of(one), 0)
  const [jitters, trips] = [all.flatMap((one) => one.jitterMs ?? []), all.flatMap((one) => one.roundTripMs ?? [])]
  return {
    packets: sum(({ packets }) => packets),
    lost: sum(({ lost }) => lost),
    ...(jitters.length > 0 && { jitterMs: Math.min(...jitters) }),
    ...(trips.length > 0 && { roundTripMs: Math.min(...trips) }),
  }
}

const textOf = (packet: Buffer, header: RtpHeader, id: number | null): string | undefined =>
  id === null ? undefined : extensionOf(packet, header, id)?.toString('latin1')

/** The negotiated one, in the form of `Source.profile`. An offer may have any text there, also one too long for a link. */
function profileOf(chosen: ChosenCodec | undefined): string | null {
  if (chosen?.name === 'hevc') return hevcProfileIdOf(chosen.codec)
  return (chosen?.name === 'h264' ? chosen.codec.fmtp.get('profile-level-id')?.slice(0, PROFILE_DIGITS) : null) ?? null
}

const PROFILE_DIGITS = 6

function infoOf({ name, codec }: ChosenCodec): TrackInfo {
  if (isVideoCodec(name)) return { kind: 'video', codec: name, width: 0, height: 0, config: NO_CONFIG }
  return rtpAudioTrack(name, codec.clockRate)
}
