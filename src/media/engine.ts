import type { SessionEndReason } from '../core/sessions/endReason.ts'
import type { FrameSource, RestingSource, TrackInfo } from './frame.ts'

/**
 * What forwards media in real time. One engine serves every room of a node; the embedded one is `media/relay`. An engine
 * decides nothing: whoever is given to it was admitted before. `test/conformance/engine.ts` holds what each must do.
 */
export interface MediaEngine {
  /** Resolves when it takes publishers. */
  start(): Promise<void>
  /** Ends every session, then its processes. Idempotent. */
  stop(): Promise<void>
  /** Answers a publisher's SDP offer (RFC 9725 section 4.2). No media is taken in before this resolves. */
  publish(request: PublishOffer): Promise<Negotiated>
  /** Answers a viewer's SDP offer. The viewer gets the room's source, and the next one when that is replaced. */
  view(request: ViewOffer): Promise<Negotiated>
  /**
   * Trickled candidates or an ICE restart, `application/trickle-ice-sdpfrag` (RFC 8840). Without `mayRestart` only candidates
   * with the `a=ice-ufrag` of the current ICE session are taken; everything else is 428.
   */
  patch(sessionId: string, fragment: string, mayRestart: boolean): Promise<Patched>
  /** Ends one session. Resolves after its last media byte; resolves too when there is no such session. */
  end(sessionId: string): Promise<void>
  /**
   * Brings a source that is no WebRTC publisher into a room: H.264 and Opus frames of `source`. It is listened to from the
   * first viewer on, and until some seconds after the last one has left.
   */
  feed(request: {
    readonly sessionId: string
    readonly room: string
    readonly sourceId: string | null
    readonly source: RestingSource
  }): Promise<void>
  /** The frames that the publisher `sessionId` sends, for packaging. */
  tap(sessionId: string): FrameSource
  /** Calls `listener` with whatever happens. Returns the function that stops it. */
  watch(listener: (event: MediaEngineEvent) => void): () => void
}

export interface PublishOffer {
  /** Made by the caller; unique. */
  readonly sessionId: string
  /** `accountId/streamName`. A room holds one source per `sourceId`; a second publisher replaces the first when it is connected. */
  readonly room: string
  readonly sourceId: string | null
  /** SDP. */
  readonly offer: string
  /** Wanted video codec, in lower case (`?codec=` of WHIP); null: the first of the offer that is known. */
  readonly codec: string | null
}

export interface ViewOffer {
  readonly sessionId: string
  readonly room: string
  /** Null: the room's main source, the one without an id or else the first. */
  readonly sourceId: string | null
  readonly offer: string
}

/** `problem` is a sentence for whoever sent the offer: 400 when it is malformed, 406 when nothing in it can be served. */
export type Negotiated =
  | { readonly ok: true; readonly answer: string; readonly etag: string }
  | { readonly ok: false; readonly status: 400 | 406 | 409 | 503; readonly problem: string }

/** `answer` is a fragment, present after an ICE restart. */
export type Patched =
  | { readonly ok: true; readonly answer: string | null; readonly etag: string }
  | { readonly ok: false; readonly status: 400 | 404 | 422 | 428; readonly problem: string }

/** Why a media engine ends a session; `kicked`: `end` was called. */
export type EndReason = Extract<
  SessionEndReason,
  'left' | 'lost' | 'never_connected' | 'replaced' | 'source_gone' | 'kicked' | 'engine_died'
>

export type MediaEngineEvent =
  /** The transport is up: media flows from here on. */
  | { readonly kind: 'connected'; readonly sessionId: string; readonly address: string }
  | { readonly kind: 'tracks'; readonly sessionId: string; readonly tracks: readonly TrackInfo[] }
  /**
   * Totals since the session began, at least every second while they grow, and once more before `ended`. `silentMs`: how long
   * ago its last media came; 0 for viewers.
   */
  | {
      readonly kind: 'bytes'
      readonly sessionId: string
      readonly bytesIn: number
      readonly bytesOut: number
      readonly silentMs: number
    }
  /** Exactly once for each session that was begun. */
  | { readonly kind: 'ended'; readonly sessionId: string; readonly reason: EndReason }
  /** A process of the engine ended by itself; its sessions were reported `ended` before. */
  | { readonly kind: 'died'; readonly detail: string }
