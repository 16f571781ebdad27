import { coded, type Said, say } from '../../../core/notices.ts'
import type { LinkTotals } from '../../measure/linkMeter.ts'
import {
  NO_ANSWER,
  NO_MEDIA,
  type PulledSource,
  type PulledSourceOptions,
  type PullProblem,
  SilenceWatch,
} from '../../pulling.ts'
import { createJsFanout } from '../forward/fanout.ts'
import { tap } from '../forward/tap.ts'
import { Publisher, type PublisherLine } from '../inbound/publisher.ts'
import { negotiatePublish } from '../negotiation.ts'
import type { TransportEvents } from '../transport/transportEvents.ts'
import type { WebRtcTransport } from '../transport/webRtcTransport.ts'
import { RECEIVED_LINES } from '../wire/sdp/clientOffer.ts'
import { RtcClient, steadyNow } from './rtcClient.ts'
import type { OpenedSession, SessionOptions } from './session.ts'

export interface WhepPullOptions extends Pick<PulledSourceOptions, 'sink' | 'ended'>, SessionOptions<PullProblem> {
  /** The most that the source shall send, bits per second. */
  readonly maxBitrate: number
}

/**
 * Watches a stream of another server over WebRTC (WHEP), and passes it on as frames. Lost packets are asked for again, and
 * keyframes where one is missing.
 */
export class WhepPull implements PulledSource {
  readonly #options: WhepPullOptions
  readonly #now: () => number
  readonly #silence = new SilenceWatch()
  #client: RtcClient | null = null
  #session: OpenedSession | null = null
  #transport: WebRtcTransport | null = null
  #publisher: Publisher | null = null
  #stopTap = (): void => undefined
  /** Grows with each packet of media. */
  #packets = 0
  #isOver = false

  constructor(options: WhepPullOptions) {
    this.#options = options
    this.#now = steadyNow(options.clock)
  }

  get bytesIn(): number {
    return this.#transport?.bytesIn ?? 0
  }

  get link(): LinkTotals | undefined {
    const publisher = this.#publisher
    return publisher === null ? undefined : { ...publisher.link, levels: publisher.levels }
  }

  async start(): Promise<void> {
    const client = await RtcClient.open({
      ...this.#options,
      now: this.#now,
      pace: (nowMs) => this.#publisher?.pace(nowMs),
      failed: (why) => this.#lose(why),
    })
    this.#client = client
    if (this.#isOver) return client.close()
    const opened = await this.#options.openSession(client.offer(RECEIVED_LINES))
    if (!opened.ok) return this.#over(opened.error)
    this.#session = opened.value
    if (this.#isOver) opened.value.leave()
    else this.#connect(client, opened.value.answer)
  }

  tick(): void {
    if (this.#isOver || !this.#silence.look(this.#packets)) return
    const isPlaying = this.#transport?.isConnected === true
    this.#lose(isPlaying ? NO_MEDIA : NO_ANSWER)
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#stopTap()
    this.#client?.close()
    this.#session?.leave()
  }

  /** An answer has the form of an offer: it says what its side sends. */
  #connect(client: RtcClient, answer: string): void {
    const agreed = negotiatePublish(answer, null)
    if (!agreed.ok) return this.#refuseAnswer(agreed.error.problem.replaceAll(/the offer/gi, 'it'))
    const { offer, lines } = agreed.value
    const connecting = client.connect(offer, (transport) => this.#receiveOver(transport, lines))
    if (!connecting.ok) this.#refuseAnswer(`it ${connecting.error}`)
  }

  #receiveOver(transport: WebRtcTransport, lines: readonly PublisherLine[]): TransportEvents {
    const { maxBitrate, sink } = this.#options
    const ids = { sessionId: '', sourceId: null }
    const createFanout = createJsFanout
    const publisher = new Publisher(
      { ...ids, transport, lines, createFanout, maxBitrate, tracks: () => undefined },
      this.#now(),
    )
    this.#transport = transport
    this.#publisher = publisher
    return {
      connected: () => (this.#stopTap = tap(publisher.source, sink, this.#now())),
      rtp: (packet, index, nowMs) => {
        this.#packets += 1
        publisher.rtp(packet, index, nowMs)
      },
      rtcp: (packets, nowMs) => publisher.rtcp(packets, nowMs),
      closed: () =>
        this.#lose(transport.isConnected ? say(coded('source_ended_session')) : say(coded('source_unproved'))),
    }
  }

  #refuseAnswer(why: string): void {
    this.#lose(say(coded('source_answer_unusable', { text: why })))
  }

  #lose(why: Said): void {
    this.#over({ kind: 'lost', ...why })
  }

  #over(problem: PullProblem): void {
    if (this.#isOver) return
    this.end()
    this.#options.ended(problem)
  }
}
