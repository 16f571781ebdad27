import { coded, type CodedSentence, say } from '../../../core/notices.ts'
import { CODECS } from '../../codecs/codecs.ts'
import type { Frame, FrameSink, TrackInfo } from '../../frame.ts'
import { SilenceWatch, SILENT_SECONDS, SLUICE_FAILED } from '../../pulling.ts'
import type { SenderEnd } from '../../publishing.ts'
import { createJsFanout } from '../forward/fanout.ts'
import { FrameFeed } from '../forward/frameFeed.ts'
import type { Source } from '../forward/source.ts'
import { negotiateView, type ViewAgreement } from '../negotiation.ts'
import { newDownTrack, newRtpNumbers, type RtpNumbers } from '../outbound/newDownTrack.ts'
import { Viewer } from '../outbound/viewer.ts'
import type { TransportEvents } from '../transport/transportEvents.ts'
import type { WebRtcTransport } from '../transport/webRtcTransport.ts'
import { h264Parameters, OPUS_FORMAT, type OfferLine, videoFormat } from '../wire/sdp/clientOffer.ts'
import { RtcClient, steadyNow } from './rtcClient.ts'
import type { OpenedSession, SessionOptions } from './session.ts'

const KINDS = ['audio', 'video'] as const
type Kind = (typeof KINDS)[number]
const VIDEO_TYPE = 96
/** Constrained baseline, for video that is not described yet. */
const USUAL_PROFILE = '42e01f'
/** How a stream is called in SDP. Both media are of one. */
const NAME = 'sluice'

export interface WhipSenderOptions extends SessionOptions<SenderEnd> {
  /** It takes media from now on; after the constructor has returned. */
  readonly ready: () => void
  /** The target takes media. */
  readonly accepted: () => void
  /** Called once, and not after `end`. */
  readonly ended: (how: SenderEnd) => void
}

/**
 * Publishes one feed to another server over WebRTC (WHIP): H.264 without B-frames, and Opus. The first tracks open the session. It
 * takes frames without ever waiting, and keeps those since the last keyframe for the moment in which the target is connected.
 */
export class WhipSender implements FrameSink {
  readonly #options: WhipSenderOptions
  readonly #now: () => number
  readonly #feed: FrameFeed
  readonly #numbers: Readonly<Record<Kind, RtpNumbers>>
  readonly #silence = new SilenceWatch()
  #source: Source | null = null
  #client: RtcClient | null = null
  #session: OpenedSession | null = null
  #transport: WebRtcTransport | null = null
  #viewer: Viewer | null = null
  /** Of the tracks; '' before the first. */
  #kinds = ''
  #isOver = false

  constructor(options: WhipSenderOptions) {
    this.#options = options
    const { random, clock } = options
    this.#now = steadyNow(clock)
    this.#feed = this.#newFeed()
    this.#numbers = { audio: newRtpNumbers(random), video: newRtpNumbers(random) }
    queueMicrotask(options.ready)
  }

  get bytes(): { readonly bytesIn: number; readonly bytesOut: number } {
    const { bytesIn = 0, bytesOut = 0 } = this.#transport ?? {}
    return { bytesIn, bytesOut }
  }

  takes({ codec }: TrackInfo): boolean {
    return codec === 'h264' || codec === 'opus'
  }

  tracks(tracks: readonly TrackInfo[]): void {
    if (this.#isOver || tracks.length === 0) return
    const refused = tracks.find((track) => !this.takes(track))
    if (refused !== undefined) {
      const why = coded(`${refused.kind}_not_for_whip`, { codec: CODECS[refused.codec].title })
      return this.#over({ kind: 'unsuitable', ...say(why) })
    }
    const kinds = KINDS.filter((kind) => tracks.some((track) => track.kind === kind)).join()
    if (this.#kinds === '') this.#begin(kinds, tracks)
    else if (this.#kinds === kinds) this.#feed.tracks(tracks)
    else this.#lose(coded('target_other_offer'))
  }

  frame(frame: Frame): void {
    if (!this.#isOver && this.#kinds !== '') this.#feed.frame(frame)
  }

  /** Called every second. */
  tick(): void {
    if (this.#isOver || this.#kinds === '' || !this.#silence.look(this.#transport?.seenAtMs ?? 0)) return
    const isConnected = this.#transport?.isConnected === true
    this.#lose(isConnected ? coded('target_silent', { seconds: SILENT_SECONDS }) : coded('target_no_answer'))
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#viewer?.end()
    this.#client?.close()
    this.#session?.leave()
  }

  #begin(kinds: string, tracks: readonly TrackInfo[]): void {
    this.#kinds = kinds
    this.#feed.tracks(tracks)
    this.#open(tracks).catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'a target over WHIP failed')
      this.#over({ kind: 'lost', ...SLUICE_FAILED })
    })
  }

  async #open(tracks: readonly TrackInfo[]): Promise<void> {
    const client = await RtcClient.open({
      ...this.#options,
      now: this.#now,
      pace: (nowMs) => this.#pace(nowMs),
      failed: (why) => this.#over({ kind: 'lost', ...why }),
    })
    this.#client = client
    if (this.#isOver) return client.close()
    const opened = await this.#options.openSession(client.offer(this.#linesOf(tracks)))
    if (!opened.ok) return this.#over(opened.error)
    this.#session = opened.value
    if (this.#isOver) opened.value.leave()
    else this.#connect(client, opened.value.answer)
  }

  #newFeed(): FrameFeed {
    const ready = (source: Source): void => {
      this.#source = source
      this.#viewer?.show(source, this.#now())
    }
    const ids = { sessionId: '', sourceId: null }
    return new FrameFeed({ ...ids, createFanout: createJsFanout, ready, ended: () => undefined, now: this.#now })
  }

  #linesOf(tracks: readonly TrackInfo[]): OfferLine[] {
    return tracks.map(({ kind, config }) => ({
      kind,
      formats: [kind === 'audio' ? OPUS_FORMAT : videoFormat('h264', VIDEO_TYPE, h264Parameters(profileOf(config)))],
      sends: { ...this.#numbers[kind], cname: NAME, streamId: NAME, trackId: kind },
    }))
  }

  /** An answer has the form of an offer: it says what its side takes. */
  #connect(client: RtcClient, answer: string): void {
    const agreed = negotiateView(answer, this.#source === null ? [] : [this.#source])
    if (!agreed.ok) return this.#refuseAnswer(agreed.error.problem.replaceAll(/the offer/gi, 'it'))
    const connecting = client.connect(agreed.value.offer, (transport) => this.#sendOver(transport, agreed.value))
    if (!connecting.ok) this.#refuseAnswer(`it ${connecting.error}`)
  }

  #sendOver(transport: WebRtcTransport, { plan, offer }: ViewAgreement): TransportEvents {
    const downTracks = plan.flatMap((chosen, at) => {
      const kind = offer.media[at]?.kind === 'audio' ? 'audio' : 'video'
      return chosen === null ? [] : newDownTrack(chosen, this.#numbers[kind], transport)
    })
    const viewer = new Viewer({ transport, downTracks, cname: NAME })
    viewer.show(this.#source, this.#now())
    this.#transport = transport
    this.#viewer = viewer
    return {
      connected: () => {
        viewer.start(this.#now())
        this.#options.accepted()
      },
      rtp: null,
      rtcp: (packets, nowMs) => viewer.rtcp(packets, nowMs),
      closed: () => this.#lose(coded(transport.isConnected ? 'target_ended_session' : 'target_unproved')),
    }
  }

  #pace(nowMs: number): void {
    this.#feed.pace(nowMs)
    this.#viewer?.pace(nowMs)
    this.#viewer?.tick(nowMs)
  }

  #refuseAnswer(why: string): void {
    this.#lose(coded('target_answer_unusable', { text: why }))
  }

  #lose(why: CodedSentence): void {
    this.#over({ kind: 'lost', ...say(why) })
  }

  #over(how: SenderEnd): void {
    if (this.#isOver) return
    this.end()
    this.#options.ended(how)
  }
}

/** `profile-level-id` (RFC 6184 section 8.1) of a decoder configuration record. */
const profileOf = (config: Uint8Array): string =>
  config.length < 4 ? USUAL_PROFILE : Buffer.from(config.subarray(1, 4)).toString('hex')
