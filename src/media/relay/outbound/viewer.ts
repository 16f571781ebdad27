import { Allowance } from '../transport/allowance.ts'
import { BandwidthEstimator, type LinkLoad } from './bandwidthEstimator.ts'
import { LossWindow } from './lossWindow.ts'
import type { WebRtcTransport } from '../transport/webRtcTransport.ts'
import { DownTrack } from './downTrack.ts'
import { chooseLayer, nextBitrate, type Source } from '../forward/source.ts'
import type { RtpTrack } from '../forward/rtpTrack.ts'
import { roundTripOf } from '../wire/ntp.ts'
import { type ReportBlock, type RtcpPacket, writeBye, writeSdes, writeSenderReport } from '../wire/rtcp.ts'

const REPORT_MS = 1000
/** An estimate beyond this part of the largest layer says no more than that everything fits. */
const BEYOND_ALL = 1.5
/** Each keyframe costs all viewers the bits of ten other pictures, and each change of layer asks for one. */
const KEYFRAMES = { burst: 5, perSecond: 0.5 }
/** From this share of lost packets on, a repair that is lost as well is so frequent that two copies are worth their price. */
const LOSSY = 0.04
/** What a probe sends is spread over time; a timer that was late makes up for no more than this. */
const MAX_PACE_MS = 60

/** What a viewer agreed to: a sink for each m-line, with the payload type of its codec. */
export interface ViewerOptions {
  readonly downTracks: readonly DownTrack[]
  readonly cname: string
}

/** One viewer of a room: its sinks on the tracks of the room's source, and its feedback. */
export class Viewer {
  readonly #downTracks: readonly DownTrack[]
  readonly #cname: string
  #transport: Pick<WebRtcTransport, 'sendRtcp'> | null = null
  #source: Source | null = null
  readonly #capacity = new BandwidthEstimator()
  readonly #losses = new LossWindow()
  readonly #keyframes = new Allowance(KEYFRAMES)
  readonly #changes = new Allowance(KEYFRAMES)
  #reportedAtMs = 0
  #pacedAtMs = 0

  constructor({ downTracks: sinks, cname }: ViewerOptions) {
    this.#downTracks = sinks
    this.#cname = cname
  }

  /** The transport is up. */
  begin(transport: Pick<WebRtcTransport, 'sendRtcp'>, nowMs: number): void {
    this.#transport = transport
    if (this.#source !== null) this.show(this.#source, nowMs)
  }

  /** Shows a source, or nothing. False when this viewer did not agree to the codec of what it is about: its video, else its sound. */
  show(source: Source | null, nowMs: number): boolean {
    this.#source = source
    if (source === null) {
      for (const downTrack of this.#downTracks) downTrack.detach()
      return true
    }
    if (this.#transport !== null) for (const downTrack of this.#downTracks) this.#attach(downTrack, source, nowMs)
    return this.#suits(source)
  }

  rtcp(packets: readonly RtcpPacket[], nowMs: number): void {
    for (const packet of packets) {
      if (packet.kind === 'nack') this.#sinkOf(packet.mediaSsrc)?.resend(packet.sequences, nowMs)
      if (packet.kind === 'pli') this.#requestKeyframe(packet.mediaSsrc, nowMs)
      if (packet.kind === 'fir') for (const { ssrc } of packet.requests) this.#requestKeyframe(ssrc, nowMs)
      if (packet.kind === 'remb') this.#noteEstimate(packet.bitrate, nowMs)
      if (packet.kind === 'rr') for (const report of packet.reports) this.#noteReport(report, nowMs)
    }
  }

  /** Call it several times a second. */
  tick(nowMs: number): void {
    if (nowMs - this.#reportedAtMs >= REPORT_MS) this.#report(nowMs)
    for (const downTrack of this.#downTracks) downTrack.tick(nowMs)
    if (this.#source !== null && this.#source.layers.length > 1) this.show(this.#source, nowMs)
  }

  /** Call it every few hundredths of a second: sends on what waits, and finds out whether a larger layer fits. */
  pace(nowMs: number): void {
    for (const downTrack of this.#downTracks) downTrack.pace(nowMs)
    if (this.#source === null || this.#source.layers.length < 2) return
    const elapsedMs = Math.min(nowMs - this.#pacedAtMs, MAX_PACE_MS)
    this.#pacedAtMs = nowMs
    const bitrate = this.#capacity.probe(this.#load(), nowMs)
    if (bitrate > 0) this.#video?.pad((bitrate * elapsedMs) / 8000)
  }

  /** Says that its streams are over, and leaves the tracks. */
  end(): void {
    const ssrcs = this.#downTracks.map(({ options }) => options.ssrc)
    this.show(null, 0)
    this.#transport?.sendRtcp(writeBye(ssrcs))
  }

  get #video(): DownTrack | undefined {
    return this.#downTracks.find(({ options }) => options.kind === 'video')
  }

  /** Nothing counts while a layer is waited for: what is sent then was found to be too much, or too little. */
  #load(): LinkLoad {
    const downTrack = this.#video
    const layers = this.#source?.layers ?? []
    const now = layers.find(({ track }) => track === downTrack?.track)
    if (now === undefined || downTrack?.waitsFor !== null) return { sent: 0, next: null }
    return { sent: now.meter.bitrate, next: nextBitrate(layers, now) }
  }

  #requestKeyframe(ssrc: number, nowMs: number): void {
    const downTrack = this.#sinkOf(ssrc)
    if (downTrack?.options.kind === 'video' && this.#keyframes.take(nowMs)) downTrack.requestKeyframe(nowMs)
  }

  /** A viewer may claim anything. No more can be true than that it could receive all that there is to send. */
  #noteEstimate(bitrate: number, nowMs: number): void {
    const largest = Math.max(0, ...(this.#source?.layers ?? []).map(({ meter }) => meter.bitrate))
    if (largest > 0) this.#capacity.onRemb(Math.min(bitrate, largest * BEYOND_ALL), this.#load(), nowMs)
  }

  #noteReport(report: ReportBlock, nowMs: number): void {
    const way = roundTripOf(report, nowMs)
    if (way !== null) this.#capacity.onRtt(way.roundTripMs, way.leftAtMs, nowMs)
    const { ssrc, rtx } = this.#video?.options ?? {}
    if (report.ssrc !== ssrc && report.ssrc !== rtx?.ssrc) return
    const share = this.#losses.add(report, nowMs)
    if (share === null) return
    this.#capacity.onLoss(share, this.#load(), nowMs)
    this.#video?.repeatResends(share > LOSSY ? 2 : 1)
  }

  #suits({ layers, audio }: Source): boolean {
    const ofKind = (kind: string): DownTrack | undefined =>
      this.#downTracks.find(({ options }) => options.kind === kind)
    const [video, picture] = [ofKind('video'), layers[0]?.track]
    if (video !== undefined && picture !== undefined) return video.takes(picture)
    return audio !== null && ofKind('audio')?.takes(audio) === true
  }

  #attach(downTrack: DownTrack, source: Source, nowMs: number): void {
    const track =
      downTrack.options.kind === 'audio'
        ? source.audio
        : chooseLayer(source.layers, this.#capacity.bitrate, downTrack.track)?.track
    if (track === null || track === undefined || !downTrack.takes(track)) downTrack.detach()
    else if (this.#mayShow(downTrack, track, source, nowMs)) downTrack.attach(track, nowMs)
  }

  /** Estimates that swing between two layers must not cost both a keyframe each time. */
  #mayShow(downTrack: DownTrack, track: RtpTrack, { layers }: Source, nowMs: number): boolean {
    if (downTrack.track === track || downTrack.waitsFor === track) return true
    const isChange = layers.some((layer) => layer.track === downTrack.track)
    return !isChange || this.#changes.take(nowMs)
  }

  #sinkOf(ssrc: number): DownTrack | undefined {
    return this.#downTracks.find(({ options }) => options.ssrc === ssrc)
  }

  #report(nowMs: number): void {
    this.#reportedAtMs = nowMs
    for (const downTrack of this.#downTracks) {
      const report = downTrack.report(nowMs)
      if (report !== null) this.#transport?.sendRtcp(writeSenderReport(report), writeSdes(report.ssrc, this.#cname))
    }
  }
}
