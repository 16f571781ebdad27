import { Allowance } from './allowance.ts'
import { Capacity, type Load } from './capacity.ts'
import { LossWindow } from './lossWindow.ts'
import type { Peer } from './peer.ts'
import { Sink } from './sink.ts'
import { chooseLayer, nextBitrate, type Source } from './source.ts'
import type { Track } from './track.ts'
import { roundTripOf } from './wire/ntp.ts'
import { type ReportBlock, type RtcpPacket, writeBye, writeSdes, writeSenderReport } from './wire/rtcp.ts'

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
  readonly sinks: readonly Sink[]
  readonly cname: string
}

/** One viewer of a room: its sinks on the tracks of the room's source, and its feedback. */
export class Viewer {
  readonly #sinks: readonly Sink[]
  readonly #cname: string
  #peer: Pick<Peer, 'sendRtcp'> | null = null
  #source: Source | null = null
  readonly #capacity = new Capacity()
  readonly #losses = new LossWindow()
  readonly #keyframes = new Allowance(KEYFRAMES)
  readonly #changes = new Allowance(KEYFRAMES)
  #reportedAtMs = 0
  #pacedAtMs = 0

  constructor({ sinks, cname }: ViewerOptions) {
    this.#sinks = sinks
    this.#cname = cname
  }

  /** The transport is up. */
  begin(peer: Pick<Peer, 'sendRtcp'>, nowMs: number): void {
    this.#peer = peer
    if (this.#source !== null) this.show(this.#source, nowMs)
  }

  /** Shows a source, or nothing. False when this viewer did not agree to the codec of what it is about: its video, else its sound. */
  show(source: Source | null, nowMs: number): boolean {
    this.#source = source
    if (source === null) {
      for (const sink of this.#sinks) sink.detach()
      return true
    }
    if (this.#peer !== null) for (const sink of this.#sinks) this.#attach(sink, source, nowMs)
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
    for (const sink of this.#sinks) sink.tick(nowMs)
    if (this.#source !== null && this.#source.layers.length > 1) this.show(this.#source, nowMs)
  }

  /** Call it every few hundredths of a second: sends on what waits, and finds out whether a larger layer fits. */
  pace(nowMs: number): void {
    for (const sink of this.#sinks) sink.pace(nowMs)
    if (this.#source === null || this.#source.layers.length < 2) return
    const elapsedMs = Math.min(nowMs - this.#pacedAtMs, MAX_PACE_MS)
    this.#pacedAtMs = nowMs
    const bitrate = this.#capacity.probe(this.#load(), nowMs)
    if (bitrate > 0) this.#video?.pad((bitrate * elapsedMs) / 8000)
  }

  /** Says that its streams are over, and leaves the tracks. */
  end(): void {
    const ssrcs = this.#sinks.map(({ options }) => options.ssrc)
    this.show(null, 0)
    this.#peer?.sendRtcp(writeBye(ssrcs))
  }

  get #video(): Sink | undefined {
    return this.#sinks.find(({ options }) => options.kind === 'video')
  }

  /** Nothing counts while a layer is waited for: what is sent then was found to be too much, or too little. */
  #load(): Load {
    const sink = this.#video
    const layers = this.#source?.layers ?? []
    const now = layers.find(({ track }) => track === sink?.track)
    if (now === undefined || sink?.waitsFor !== null) return { sent: 0, next: null }
    return { sent: now.meter.bitrate, next: nextBitrate(layers, now) }
  }

  #requestKeyframe(ssrc: number, nowMs: number): void {
    const sink = this.#sinkOf(ssrc)
    if (sink?.options.kind === 'video' && this.#keyframes.take(nowMs)) sink.requestKeyframe(nowMs)
  }

  /** A viewer may claim anything. No more can be true than that it could receive all that there is to send. */
  #noteEstimate(bitrate: number, nowMs: number): void {
    const largest = Math.max(0, ...(this.#source?.layers ?? []).map(({ meter }) => meter.bitrate))
    if (largest > 0) this.#capacity.said(Math.min(bitrate, largest * BEYOND_ALL), this.#load(), nowMs)
  }

  #noteReport(report: ReportBlock, nowMs: number): void {
    const way = roundTripOf(report, nowMs)
    if (way !== null) this.#capacity.delayed(way.roundTripMs, way.leftAtMs, nowMs)
    const { ssrc, rtx } = this.#video?.options ?? {}
    if (report.ssrc !== ssrc && report.ssrc !== rtx?.ssrc) return
    const share = this.#losses.add(report, nowMs)
    if (share === null) return
    this.#capacity.lost(share, this.#load(), nowMs)
    this.#video?.repeatResends(share > LOSSY ? 2 : 1)
  }

  #suits({ layers, audio }: Source): boolean {
    const ofKind = (kind: string): Sink | undefined => this.#sinks.find(({ options }) => options.kind === kind)
    const [video, picture] = [ofKind('video'), layers[0]?.track]
    if (video !== undefined && picture !== undefined) return video.takes(picture)
    return audio !== null && ofKind('audio')?.takes(audio) === true
  }

  #attach(sink: Sink, source: Source, nowMs: number): void {
    const track =
      sink.options.kind === 'audio'
        ? source.audio
        : chooseLayer(source.layers, this.#capacity.bitrate, sink.track)?.track
    if (track === null || track === undefined || !sink.takes(track)) sink.detach()
    else if (this.#mayShow(sink, track, source, nowMs)) sink.attach(track, nowMs)
  }

  /** Estimates that swing between two layers must not cost both a keyframe each time. */
  #mayShow(sink: Sink, track: Track, { layers }: Source, nowMs: number): boolean {
    if (sink.track === track || sink.waitsFor === track) return true
    const isChange = layers.some((layer) => layer.track === sink.track)
    return !isChange || this.#changes.take(nowMs)
  }

  #sinkOf(ssrc: number): Sink | undefined {
    return this.#sinks.find(({ options }) => options.ssrc === ssrc)
  }

  #report(nowMs: number): void {
    this.#reportedAtMs = nowMs
    for (const sink of this.#sinks) {
      const report = sink.report(nowMs)
      if (report !== null) this.#peer?.sendRtcp(writeSenderReport(report), writeSdes(report.ssrc, this.#cname))
    }
  }
}
