import type { LateLooks } from '../../base/lateLooks.ts'
import type { EndReason, MediaEngineEvent, Patched } from '../engine.ts'
import type { Publisher } from './inbound/publisher.ts'
import type { Viewer } from './outbound/viewer.ts'
import { NO_PRECONDITION } from './refusals.ts'
import type { Credentials } from './transport/iceLite.ts'
import type { WebRtcServer } from './transport/webRtcServer.ts'
import type { WebRtcTransport } from './transport/webRtcTransport.ts'
import type { AnsweredMedia } from './wire/sdp/answer.ts'
import { buildFragment, parseFragment } from './wire/sdp/fragment.ts'
import type { SdpOffer } from './wire/sdp/offer.ts'

/** A transport that is not connected this long after the peer was answered never will be. */
const CONNECT_TIMEOUT_MS = 10_000
/** The answer is with the main process, which may be busy. It ends what it does not answer. */
const ANSWER_TIMEOUT_MS = 60_000
/** A publisher that sends nothing for this long is reported as silent. */
const SILENT_MS = 400
/** A viewer that is silent for this long is gone: its consent to receive anything lasts no longer (RFC 7675 section 5.1). */
const VIEWER_TIMEOUT_MS = 30_000

/** Whom a session serves. */
export type Role = { readonly publisher: Publisher } | { readonly viewer: Viewer }

export interface RelaySessionOptions {
  readonly id: string
  readonly room: string
  readonly transport: WebRtcTransport
  readonly role: Role
  readonly offer: SdpOffer
  readonly answers: readonly AnsweredMedia[]
  /** A publisher that is silent for this long is gone. */
  readonly publisherTimeoutMs: number
}

/** One publisher or viewer with its transport: what it negotiated, when it times out, and how many bytes it has moved. */
export class RelaySession {
  readonly id: string
  readonly room: string
  readonly transport: WebRtcTransport
  readonly publisher: Publisher | null
  readonly viewer: Viewer | null
  /** The first accepted m-line, whose transport all others share (RFC 9143). */
  readonly bundleLine: { readonly mid: string; readonly kind: 'audio' | 'video' }
  /** The peer's ICE user name fragment, which the ETag of the session shows (RFC 9725 section 4.3.1). */
  etag: string
  readonly #begunAtMs: number
  #answeredAtMs: number | null = null
  readonly #silenceTimeoutMs: number
  #reported = { bytesIn: 0, bytesOut: 0 }
  #isSilent = false
  #hasSent = false

  constructor(options: RelaySessionOptions, nowMs: number) {
    const { id, room, transport, role, offer, answers, publisherTimeoutMs } = options
    this.id = id
    this.room = room
    this.transport = transport
    this.publisher = 'publisher' in role ? role.publisher : null
    this.viewer = 'viewer' in role ? role.viewer : null
    const media = offer.media[answers.findIndex((answer) => answer !== null)]
    this.bundleLine = { mid: media?.mid ?? '0', kind: media?.kind === 'audio' ? 'audio' : 'video' }
    this.etag = offer.iceUfrag
    this.#begunAtMs = nowMs
    this.#silenceTimeoutMs = this.viewer === null ? publisherTimeoutMs : VIEWER_TIMEOUT_MS
  }

  /** The peer gets its answer now. */
  answered(nowMs: number): void {
    this.#answeredAtMs ??= nowMs
  }

  /**
   * Handles trickled candidates, which an ICE-lite agent does not need, and ICE restarts (RFC 9725 section 4.3).
   * @param restart restarts ICE with these credentials of the peer
   */
  patch(
    text: string,
    mayRestart: boolean,
    restart: (remote: Credentials) => ReturnType<WebRtcServer['restart']>,
  ): Patched {
    const fragment = parseFragment(text)
    if (!fragment.ok) return { ok: false, status: 400, problem: fragment.error.problem }
    const { iceUfrag, icePwd } = fragment.value
    if (!mayRestart && iceUfrag !== this.etag) return { ok: false, status: 428, problem: NO_PRECONDITION }
    if (iceUfrag === null || icePwd === null || iceUfrag === this.etag)
      return { ok: true, answer: null, etag: this.etag }
    this.etag = iceUfrag
    const restarted = restart({ ufrag: iceUfrag, pwd: icePwd })
    return { ok: true, answer: buildFragment({ ...restarted, ...this.bundleLine }), etag: iceUfrag }
  }

  /** Call it every few hundredths of a second. */
  pace(nowMs: number): void {
    this.publisher?.pace(nowMs)
    this.viewer?.pace(nowMs)
  }

  /** How long after its offer a viewer got its first packet, to one `pace`; null: it has none yet, or this was said before. */
  firstPacketMs(nowMs: number): number | null {
    if (this.#hasSent || this.viewer === null || this.transport.bytesOut === 0) return null
    this.#hasSent = true
    return nowMs - this.#begunAtMs
  }

  /** Call it several times a second. */
  tick(nowMs: number): void {
    this.viewer?.tick(nowMs)
    this.transport.tick(nowMs)
  }

  /** Why the session is over; null while it is not. */
  timedOut(nowMs: number, looks: Pick<LateLooks, 'lastedMs'>): EndReason | null {
    const { isConnected, seenAtMs } = this.transport
    if (isConnected) return looks.lastedMs(seenAtMs, nowMs) > this.#silenceTimeoutMs ? 'lost' : null
    const [sinceMs, mostMs] =
      this.#answeredAtMs === null ? [this.#begunAtMs, ANSWER_TIMEOUT_MS] : [this.#answeredAtMs, CONNECT_TIMEOUT_MS]
    return looks.lastedMs(sinceMs, nowMs) > mostMs ? 'never_connected' : null
  }

  /** Whether a publisher has fallen silent, or is heard again; null: neither. */
  silence(nowMs: number, looks: Pick<LateLooks, 'lastedMs'>): MediaEngineEvent | null {
    // Most sessions are of viewers, and each tick asks all of them.
    if (this.publisher === null) return null
    const { isConnected, mediaAtMs } = this.transport
    const isSilent = isConnected && looks.lastedMs(mediaAtMs, nowMs) > SILENT_MS
    if (isSilent === this.#isSilent) return null
    this.#isSilent = isSilent
    return { kind: 'silent', sessionId: this.id, isSilent }
  }

  /** The bytes so far; null when there are no more than in the last report. */
  reportBytes(nowMs: number): MediaEngineEvent | null {
    const { bytesIn, bytesOut, mediaAtMs } = this.transport
    if (bytesIn === this.#reported.bytesIn && bytesOut === this.#reported.bytesOut) return null
    this.#reported = { bytesIn, bytesOut }
    const totals = { kind: 'bytes', sessionId: this.id, bytesIn, bytesOut } as const
    if (this.publisher === null) return { ...totals, silentMs: 0 }
    return { ...totals, silentMs: nowMs - mediaAtMs, frames: this.publisher.frames, source: this.publisher.reading() }
  }
}
