import type { RtpTrack } from '../forward/rtpTrack.ts'
import type { LayersAnswer } from '../../engine.ts'
import { type Layer, nextBitrate, type Source } from '../forward/source.ts'
import { Allowance } from '../../../base/allowance.ts'
import { LaterFault } from '../../../base/walls.ts'
import type { WebRtcTransport } from '../transport/webRtcTransport.ts'
import { roundTripOf } from '../wire/ntp.ts'
import { type ReportBlock, type RtcpPacket, writeBye, writeSdes, writeSenderReport } from '../wire/rtcp/rtcp.ts'
import { BandwidthEstimator, type LinkLoad, ProbePadding } from './bandwidthEstimator.ts'
import type { DownTrack } from './downTrack.ts'
import type { FeedbackTally } from './feedbackTally.ts'
import { LayerChoice } from './layerChoice.ts'
import { LossWindow } from './lossWindow.ts'
import { copiesAt } from './retransmitter.ts'

const REPORT_MS = 1000
/** A REMB above this multiple of the largest layer only means that everything fits. */
const BEYOND_ALL = 1.5
/** Media that stood still for longer than this came unevenly. */
const PAUSE_MS = 200
/** A keyframe costs all viewers the bits of ten other frames, and each layer switch needs one. */
const KEYFRAMES = { burst: 5, perSecond: 0.5 }

export interface ViewerOptions {
  readonly transport: Pick<WebRtcTransport, 'isConnected' | 'sendRtcp'>
  /** One for each accepted m-line. */
  readonly downTracks: readonly DownTrack[]
  readonly cname: string
  /** Whether a new offer would get audio or video of a source that this one has no m-line for. Absent: it would not. */
  readonly gains?: ((source: Source) => boolean) | undefined
  /** Counts what the viewer reports, until the next look. */
  readonly feedback?: () => FeedbackTally
}

/** One viewer of a room: its down tracks on the tracks of the room's source, and its RTCP feedback. */
export class Viewer {
  readonly #transport: ViewerOptions['transport']
  readonly #downTracks: readonly DownTrack[]
  readonly #cname: string
  readonly #gains: ViewerOptions['gains']
  readonly #feedback: (() => FeedbackTally) | undefined
  #source: Source | null = null
  readonly #estimator = new BandwidthEstimator()
  readonly #choice = new LayerChoice()
  readonly #losses = new LossWindow()
  readonly #keyframes = new Allowance(KEYFRAMES)
  readonly #changes = new Allowance(KEYFRAMES)
  #reportedAtMs = 0
  #pacedAtMs = Number.POSITIVE_INFINITY
  readonly #padding = new ProbePadding()
  /** In the middle of the work for a publisher. */
  readonly #fault = new LaterFault()

  constructor({ transport, downTracks, cname, gains, feedback }: ViewerOptions) {
    this.#gains = gains
    this.#feedback = feedback
    this.#transport = transport
    this.#downTracks = downTracks
    this.#cname = cname
  }

  /** The transport is connected: starts to forward. */
  start(nowMs: number): void {
    if (this.#source !== null) this.show(this.#source, nowMs)
  }

  /** Shows a source, or nothing. Returns false if the viewer has to offer again for it: see `takes`. */
  show(source: Source | null, nowMs: number): boolean {
    this.#source = source
    this.#fault.during(() => {
      for (const downTrack of this.#downTracks) {
        if (source === null) downTrack.detach()
        else if (this.#transport.isConnected) this.#attach(downTrack, source, nowMs)
      }
    })
    return source === null || this.takes(source)
  }

  /** Whether the viewer negotiated the codecs of a source, and its audio and video if it wants both. */
  takes(source: Source): boolean {
    const { layers, audio } = source
    if (this.#gains?.(source)) return false
    const ofKind = (kind: string): DownTrack | undefined =>
      this.#downTracks.find(({ options }) => options.kind === kind)
    const [video, track] = [ofKind('video'), layers[0]?.track]
    if (video !== undefined && track !== undefined) return video.accepts(track)
    return audio !== null && ofKind('audio')?.accepts(audio) === true
  }

  /** See `MediaEngine.layers`. Switches are limited, so the viewer may get its layer some seconds later. */
  layers(choice: string | null | undefined, nowMs: number): LayersAnswer {
    const layers = this.#source?.layers ?? []
    if (choice !== undefined && !this.#choice.choose(choice, layers)) {
      const names = layers.map(({ rid }) => `"${rid}"`).join(', ')
      const problem = `encodingId names no layer: the stream has ${names || 'none now'}`
      return { ok: false, status: 400, problem }
    }
    if (choice !== undefined && this.#source !== null) this.show(this.#source, nowMs)
    return { ok: true, ...this.#choice.describe(this.#source, this.#video?.track ?? null, nowMs) }
  }

  rtcp(packets: readonly RtcpPacket[], nowMs: number): void {
    for (const packet of packets) {
      if (packet.kind === 'nack') this.#resend(packet.mediaSsrc, packet.sequences, nowMs)
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

  /**
   * Call it every few hundredths of a second: continues catch-ups, and probes whether a larger layer fits.
   * @throws what went wrong when its source changed, or a packet came
   */
  pace(nowMs: number): void {
    this.#fault.raise()
    for (const downTrack of this.#downTracks) downTrack.pace(nowMs)
    if (this.#source === null || this.#source.layers.length < 2) return
    this.#notePause(nowMs)
    if (!this.#choice.isAutomatic(this.#source.layers)) return
    const padding = this.#estimator.probe(this.#load(), nowMs)
    this.#padding.send(padding, nowMs, (octets) => this.#video?.pad(octets) ?? 0)
  }

  /** This process or its machine was stopped, nothing comes from the publisher, or nothing of it is forwarded. */
  #notePause(nowMs: number): void {
    const missedMs = nowMs - this.#pacedAtMs
    const stillMs = nowMs - (this.#video?.track?.latestAtMs ?? 0)
    this.#pacedAtMs = nowMs
    if (missedMs > PAUSE_MS) this.#estimator.onPause(missedMs, nowMs)
    else if (stillMs > PAUSE_MS) this.#estimator.onPause(0, nowMs)
  }

  /** Leaves the tracks and sends a BYE. */
  end(): void {
    const ssrcs = this.#downTracks.map(({ options }) => options.ssrc)
    this.show(null, 0)
    this.#transport.sendRtcp(writeBye(ssrcs))
  }

  get #video(): DownTrack | undefined {
    return this.#downTracks.find(({ options }) => options.kind === 'video')
  }

  /** Zero during a layer switch: the bitrate of the old layer is known not to be the right one. */
  #load(): LinkLoad {
    const downTrack = this.#video
    const layers = this.#source?.layers ?? []
    const now = layers.find(({ track }) => track === downTrack?.track)
    if (now === undefined || downTrack?.nextTrack !== null) return { sent: 0, next: null }
    return { sent: now.meter.bitrate, next: nextBitrate(layers, now) }
  }

  #resend(ssrc: number, sequences: readonly number[], nowMs: number): void {
    const tally = this.#feedback?.()
    if (tally) tally.nacks += sequences.length
    this.#downTrackOf(ssrc)?.resend(sequences, nowMs)
  }

  #requestKeyframe(ssrc: number, nowMs: number): void {
    const tally = this.#feedback?.()
    if (tally) tally.keyframeRequests += 1
    const downTrack = this.#downTrackOf(ssrc)
    if (downTrack?.options.kind === 'video' && this.#keyframes.take(nowMs)) downTrack.requestKeyframe(nowMs)
  }

  /** A viewer may claim any REMB. Bounded by what it would take to receive everything. */
  #noteEstimate(bitrate: number, nowMs: number): void {
    const largest = Math.max(0, ...(this.#source?.layers ?? []).map(({ meter }) => meter.bitrate))
    if (largest > 0) this.#estimator.onRemb(Math.min(bitrate, largest * BEYOND_ALL), this.#load(), nowMs)
  }

  #noteReport(report: ReportBlock, nowMs: number): void {
    const measured = roundTripOf(report, nowMs)
    if (measured !== null) {
      this.#feedback?.().roundTrip(measured.roundTripMs)
      this.#estimator.onRtt(measured.roundTripMs, measured.leftAtMs, nowMs)
    }
    const { ssrc, rtx } = this.#video?.options ?? {}
    if (report.ssrc !== ssrc && report.ssrc !== rtx?.ssrc) return
    const share = this.#losses.add(report, nowMs)
    if (share === null) return
    this.#feedback?.().lost(share)
    this.#estimator.onLoss(share, this.#load(), nowMs)
    this.#video?.repeatResends({ copies: copiesAt(share) })
  }

  #attach(downTrack: DownTrack, source: Source, nowMs: number): void {
    const track =
      downTrack.options.kind === 'audio'
        ? source.audio
        : this.#choice.layerOf(source.layers, this.#estimator.bitrate, downTrack.track)?.track
    if (track === null || track === undefined || !downTrack.accepts(track)) downTrack.detach()
    else if (this.#mayShow(downTrack, track, source, nowMs))
      downTrack.attach(track, nowMs, isComing(downTrack.track, source.layers))
  }

  /** Limits layer switches: an estimate that swings between two layers must not cost a keyframe each time. */
  #mayShow(downTrack: DownTrack, track: RtpTrack, { layers }: Source, nowMs: number): boolean {
    if (downTrack.track === track || downTrack.nextTrack === track) return true
    const isChange = layers.some((layer) => layer.track === downTrack.track)
    return !isChange || this.#changes.take(nowMs)
  }

  #downTrackOf(ssrc: number): DownTrack | undefined {
    return this.#downTracks.find(({ options }) => options.ssrc === ssrc)
  }

  #report(nowMs: number): void {
    this.#reportedAtMs = nowMs
    for (const downTrack of this.#downTracks) {
      const report = downTrack.report(nowMs)
      if (report !== null) this.#transport.sendRtcp(writeSenderReport(report), writeSdes(report.ssrc, this.#cname))
    }
  }
}

/** Whether a track is a layer that has packets now. */
const isComing = (track: RtpTrack | null, layers: readonly Layer[]): boolean =>
  layers.some((layer) => layer.track === track && layer.meter.bitrate > 0)
