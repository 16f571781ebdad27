import type { Peer } from './peer.ts'
import { Sink } from './sink.ts'
import { chooseLayer, type Source } from './source.ts'
import { type RtcpPacket, writeBye, writeSdes, writeSenderReport } from './wire/rtcp.ts'

const REPORT_MS = 1000
const CHOOSE_MS = 2000

/** What a viewer agreed to: a sink for each m-line, with the payload type of its codec. */
export interface ViewerOptions {
  readonly sinks: readonly Sink[]
  readonly cname: string
}

/** One viewer of a room: its sinks on the tracks of the room's source, and its feedback. */
export class Viewer {
  readonly #sinks: readonly Sink[]
  readonly #cname: string
  #peer: Peer | null = null
  #source: Source | null = null
  #available: number | null = null
  #reportedAtMs = 0
  #choseAtMs = 0

  constructor({ sinks, cname }: ViewerOptions) {
    this.#sinks = sinks
    this.#cname = cname
  }

  /** The transport is up. */
  begin(peer: Peer, nowMs: number): void {
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
      if (packet.kind === 'pli') this.#sinkOf(packet.mediaSsrc)?.requestKeyframe(nowMs)
      if (packet.kind === 'fir') {
        for (const { ssrc } of packet.requests) this.#sinkOf(ssrc)?.requestKeyframe(nowMs)
      }
      if (packet.kind === 'remb') this.#available = packet.bitrate
    }
  }

  /** Call it several times a second. */
  tick(nowMs: number): void {
    if (nowMs - this.#reportedAtMs >= REPORT_MS) this.#report(nowMs)
    if (nowMs - this.#choseAtMs < CHOOSE_MS || this.#source === null || this.#source.layers.length < 2) return
    this.#choseAtMs = nowMs
    this.show(this.#source, nowMs)
  }

  /** Says that its streams are over, and leaves the tracks. */
  end(): void {
    const ssrcs = this.#sinks.map(({ options }) => options.ssrc)
    this.show(null, 0)
    this.#peer?.sendRtcp(writeBye(ssrcs))
  }

  #suits({ layers, audio }: Source): boolean {
    const ofKind = (kind: string): Sink | undefined => this.#sinks.find(({ options }) => options.kind === kind)
    const [video, picture] = [ofKind('video'), layers[0]?.track]
    if (video !== undefined && picture !== undefined) return video.takes(picture)
    return audio !== null && ofKind('audio')?.takes(audio) === true
  }

  #attach(sink: Sink, source: Source, nowMs: number): void {
    const track =
      sink.options.kind === 'audio' ? source.audio : chooseLayer(source.layers, this.#available, sink.track)?.track
    if (track !== null && track !== undefined && sink.takes(track)) sink.attach(track, nowMs)
    else sink.detach()
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
