import type { RtpTrack } from '../forward/rtpTrack.ts'
import type { Source } from '../forward/source.ts'
import { DownTrack } from '../outbound/downTrack.ts'
import type { RtcpPacket } from '../wire/rtcp/rtcp.ts'
import { writeSenderReport } from '../wire/rtcp/rtcp.ts'
import type { LinkTrack } from './linkOffer.ts'
import type { LinkTransport } from './linkTransport.ts'

const REPORT_MS = 1000

interface Carried extends LinkTrack {
  readonly track: RtpTrack
  readonly down: DownTrack
  isWanted: boolean
}

/** The parent's end of a link: forwards the tracks of one source that the child wants, as to a viewer of each. */
export class LinkSender {
  readonly source: Source
  readonly transport: LinkTransport
  readonly tracks: readonly LinkTrack[]
  /** Whether the child has viewers of the source. */
  isWatched = false
  readonly #carried: readonly Carried[]
  #reportedAtMs = Number.NEGATIVE_INFINITY

  /** `ssrcs`: as many as `tracksOf(source)`. */
  constructor(source: Source, transport: LinkTransport, ssrcs: readonly number[]) {
    this.source = source
    this.transport = transport
    this.#carried = tracksOf(source).map(({ track, rid }, at) => {
      const ssrc = ssrcs[at] ?? 0
      const payloadTypes = new Map([[track.shape.codec, FIRST_TYPE + at]])
      const { kind } = track.shape
      const down = new DownTrack({ ssrc, kind, payloadTypes, rtx: null, transport, firstIndex: 0 })
      return { ssrc, shape: track.shape, rid, isAskable: track.isAskable, track, down, isWanted: false }
    })
    this.tracks = this.#carried.map(({ ssrc, shape, rid, isAskable }) => ({ ssrc, shape, rid, isAskable }))
  }

  /** The child needs these tracks from now on, and no others. */
  want(ssrcs: readonly number[], nowMs: number): void {
    for (const carried of this.#carried) {
      const isWanted = ssrcs.includes(carried.ssrc)
      if (isWanted === carried.isWanted) continue
      carried.isWanted = isWanted
      if (isWanted) carried.down.attach(carried.track, nowMs)
      else carried.down.detach()
      this.#reportedAtMs = Number.NEGATIVE_INFINITY
    }
  }

  rtcp(packets: readonly RtcpPacket[], nowMs: number): void {
    for (const packet of packets) {
      if (packet.kind === 'nack') this.#of(packet.mediaSsrc)?.down.resend(packet.sequences, nowMs)
      // The child merges the requests of its viewers, and the track those of all.
      if (packet.kind === 'pli') this.#of(packet.mediaSsrc)?.down.requestKeyframe(nowMs)
    }
  }

  /** Call it every few hundredths of a second: continues catch-ups, and reports the clock each second. */
  pace(nowMs: number): void {
    for (const { down } of this.#carried) down.pace(nowMs)
    if (nowMs - this.#reportedAtMs < REPORT_MS) return
    this.#reportedAtMs = nowMs
    for (const { down } of this.#carried) {
      down.tick(nowMs)
      const report = down.report(nowMs)
      if (report !== null) this.transport.sendRtcp(writeSenderReport(report))
    }
  }

  close(): void {
    for (const { down } of this.#carried) down.detach()
    this.transport.close()
  }

  #of(ssrc: number): Carried | undefined {
    return this.#carried.find((one) => one.ssrc === ssrc)
  }
}

/** Dynamic (RFC 3551). The child looks at SSRCs only. */
const FIRST_TYPE = 96

/** What a link carries of a source: audio first, then each layer. */
export function tracksOf({ audio, layers }: Source): { readonly track: RtpTrack; readonly rid: string }[] {
  return [...(audio === null ? [] : [{ track: audio, rid: '' }]), ...layers.map(({ track, rid }) => ({ track, rid }))]
}
