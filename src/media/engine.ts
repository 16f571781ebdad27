import { fraction, type Random } from '../base/random.ts'
import type { SessionEndReason } from '../core/sessions/endReason.ts'
import type { SourceReading } from '../core/streams/source.ts'
import type { FrameSource, RestingSource, TrackInfo } from './frame.ts'

/**
 * Forwards media in real time. One engine serves every room of a node; the embedded one is `media/relay`. An engine makes
 * no access decisions: its callers admit each session first. `test/conformance/engine.ts` tests what each must do.
 */
export interface MediaEngine {
  /** Resolves when the engine accepts publishers. */
  start(): Promise<void>
  /** Ends every session, then its processes. Idempotent. */
  stop(): Promise<void>
  /** The most processes that serve at a time. */
  readonly processes: number
  /** Which process a newcomer in this room would get, from 0 on, and whether the room is there already. */
  processFor(room: string, part: PartInRoom): { readonly process: number; readonly hasRoom: boolean }
  /** How many viewers a process has now. */
  viewersOf(process: number): number
  /** Answers a publisher's SDP offer (RFC 9725 section 4.2). The engine accepts no media before this resolves. */
  publish(request: PublishOffer): Promise<Negotiated>
  /** Answers a viewer's SDP offer. The viewer gets the room's source, and its replacement when there is one. */
  view(request: ViewOffer): Promise<Negotiated>
  /**
   * Takes trickled candidates or restarts ICE, `application/trickle-ice-sdpfrag` (RFC 8840). Without `mayRestart` it takes
   * only candidates with the `a=ice-ufrag` of the current ICE session, and answers 428 to everything else.
   */
  patch(sessionId: string, fragment: string, mayRestart: boolean): Promise<Patched>
  /**
   * The layers of what a viewer watches, after its choice of one by `encodingId`, if there is any: null lets its bandwidth decide again,
   * undefined changes nothing. A layer that pauses is replaced by the one that fits until it is back.
   */
  layers(sessionId: string, choice?: string | null): Promise<LayersAnswer>
  /** Ends one session. Resolves after its last media byte, or at once when there is no such session. */
  end(sessionId: string): Promise<void>
  /**
   * Brings a source of another protocol into a room: video and Opus frames of `source`. The engine subscribes to it while
   * there are viewers, and for some seconds after the last one has left. `preferredTo`: another form of what this session sends,
   * for viewers who negotiate its codec. They get H.264 only if they take no other form. It is none while it has no video.
   */
  feed(request: {
    readonly sessionId: string
    readonly room: string
    readonly sourceId: string | null
    /** As in `PublishOffer`. */
    readonly priority?: number | null
    readonly preferredTo?: string | null
    readonly source: RestingSource
  }): Promise<void>
  /** Shares rooms with the engines of other nodes. Absent: this engine cannot. */
  readonly links?: EngineLinks
  /** Whether viewers get every other publisher of its source rather than this one. */
  setAside(sessionId: string, isAside: boolean): void
  /** The frames that the publisher `sessionId` sends, for packaging. */
  tap(sessionId: string): FrameSource
  /** Calls `listener` with every event. Returns the function that unsubscribes. */
  watch(listener: (event: MediaEngineEvent) => void): () => void
}

/** A room that engines of two nodes share, as both know it. */
export interface RoomShare {
  /** `accountId/streamName`. */
  readonly room: string
  /** 32 bytes, used once. */
  readonly key: Uint8Array
  /** 32 bits, which tell it from other shares of the engine that lends the room. */
  readonly ssrc: number
  /** Another engine can lend the room too, so one that falls silent is given up sooner. */
  readonly isReplaceable?: boolean
}

/** Those of shares begin here: the upper 8 bits of a lower one are the number of a process of the engine. */
const SHARE_SSRCS = 2 ** 31

/** The `ssrc` of a new share. It is random, since two nodes do not agree on them. */
export const newShareSsrc = (random: Random): number => SHARE_SSRCS + Math.floor(fraction(random) * SHARE_SSRCS)

/** Where an engine listens. */
export interface EngineAddress {
  readonly address: string
  readonly port: number
}

/** What a share has carried in the last second. */
export interface ShareFigures {
  /** Bits per second. */
  readonly bitrate: number
  /** The share of packets that was lost, 0 to 1; null: not known. */
  readonly loss: number | null
  /** Null: not known. Only the end that lends measures it. */
  readonly roundTripMs: number | null
}

export interface LentRoom {
  readonly addresses: readonly EngineAddress[]
  /** Null: it has carried nothing yet. */
  figures(): ShareFigures | null
  end(): void
}

export interface BorrowedRoom {
  /** True once a source of the room is there; false: the share has ended before. */
  readonly open: Promise<boolean>
  /** As of a `LentRoom`. */
  figures(): ShareFigures | null
  /** Whether the other engine has been heard by its media ports. */
  isReached(): boolean
  /** Lets the engine of a third node have what comes by this share, until it ends. Null: it has. `ended`: called once. */
  lend(share: RoomShare, ended: () => void): Promise<LentRoom | null>
  end(): void
}

/** How engines of different nodes bring a stream from one to the other. No session is part of that, and no byte is counted. */
export interface EngineLinks {
  /** Lets the engine of another node have the sources of a room. Null: nothing of this room is here. `ended`: called once. */
  lend(share: RoomShare, ended: () => void): Promise<LentRoom | null>
  /** Gets the sources of a room from the engine that listens at `addresses`, until 10 s after the last viewer here. */
  borrow(share: RoomShare, addresses: readonly EngineAddress[], ended: () => void): BorrowedRoom
  /** How many rooms are lent and borrowed now. */
  readonly counts: { readonly lent: number; readonly borrowed: number }
}

/** What a session is to its room. */
export type PartInRoom = 'source' | 'viewer'

export interface PublishOffer {
  /** Unique; the caller creates it. */
  readonly sessionId: string
  /**
   * `accountId/streamName`. A room shows one publisher of each `sourceId`: the one of the highest priority that is not set aside.
   * A second one of the same priority replaces the first when it is connected.
   */
  readonly room: string
  readonly sourceId: string | null
  /** SDP. */
  readonly offer: string
  /** Preferred video codec, in lower case (`?codec=` of WHIP); null: the first supported one of the offer. */
  readonly codec: string | null
  /** The medium that is not taken: its m-line gets `inactive`. Null or absent: both are. */
  readonly without?: 'audio' | 'video' | null
  /** Null or absent: the lowest. */
  readonly priority?: number | null
}

export interface ViewOffer {
  readonly sessionId: string
  readonly room: string
  /** Null: the room's main source, the one without an id or else the first. */
  readonly sourceId: string | null
  readonly offer: string
}

/** `problem` is a sentence for the sender of the offer: 400 when it is malformed, 406 when the engine supports none of it. */
export type Negotiated =
  | { readonly ok: true; readonly answer: string; readonly etag: string }
  | { readonly ok: false; readonly status: 400 | 406 | 409 | 503; readonly problem: string }

/** `answer` is a fragment, present after an ICE restart. */
export type Patched =
  | { readonly ok: true; readonly answer: string | null; readonly etag: string }
  | { readonly ok: false; readonly status: 400 | 404 | 422 | 428 | 503; readonly problem: string }

/** One layer of simulcast; a source without simulcast has one, with the `encodingId` ''. */
export interface ViewerLayer {
  /** The RID of the publisher (RFC 8851). */
  readonly encodingId: string
  /** In pixels; 0: not known yet. */
  readonly width: number
  readonly height: number
  /** Bits per second of the last second; 0: the layer pauses. */
  readonly bitrate: number
}

/** The layers of a viewer's source, the largest first. `chosen` null: by bandwidth. `sent` null: no video is sent now. */
export interface ViewerLayers {
  readonly layers: readonly ViewerLayer[]
  readonly chosen: string | null
  readonly sent: string | null
}

export type LayersAnswer =
  | ({ readonly ok: true } & ViewerLayers)
  | { readonly ok: false; readonly status: 400 | 404; readonly problem: string }

/** What the WebRTC viewers of a room reported by RTCP in the last second. */
export interface RoomFeedback {
  /** `accountId/streamName`. */
  readonly room: string
  /** Packets that they asked for again. */
  readonly nacks: number
  /** Keyframes that they asked for. */
  readonly keyframeRequests: number
  /** Mean of their shares of lost packets, from 0 to 1; null: no viewer said one. */
  readonly lossShare: number | null
  /** Mean of their round trips; null: none was measured. */
  readonly roundTripMs: number | null
  /** For each viewer that began: the time from its offer to its first packet. */
  readonly firstPacketsMs: readonly number[]
}

/** Why a media engine ends a session; `kicked`: `end` was called. */
export type EndReason = Extract<
  SessionEndReason,
  'left' | 'lost' | 'never_connected' | 'replaced' | 'source_gone' | 'kicked' | 'engine_died'
>

export type MediaEngineEvent =
  /** The transport is up: media flows from here on. */
  | { readonly kind: 'connected'; readonly sessionId: string; readonly address: string }
  /** What a publisher or a feed sends; again when a size is known or has changed. */
  | { readonly kind: 'tracks'; readonly sessionId: string; readonly tracks: readonly TrackInfo[] }
  /**
   * Totals since the session began, at least every second while they grow, and once more before `ended`. `silentMs`: how long
   * ago its last media came; 0 for viewers. `frames`: video frames of a publisher, of the largest layer of simulcast. `source`: what
   * was measured of its media.
   */
  | {
      readonly kind: 'bytes'
      readonly sessionId: string
      readonly bytesIn: number
      readonly bytesOut: number
      readonly silentMs: number
      readonly frames?: number
      readonly source?: SourceReading
    }
  /** A publisher sends nothing, or something again. */
  | { readonly kind: 'silent'; readonly sessionId: string; readonly isSilent: boolean }
  /** Exactly once for each session. */
  | { readonly kind: 'ended'; readonly sessionId: string; readonly reason: EndReason }
  /**
   * Of the last second of a process: how long datagrams waited before it read them, media packets that were too late, and the
   * share of the time in which its thread had work.
   */
  | {
      readonly kind: 'waits'
      readonly process: number
      readonly meanMs: number
      readonly mostMs: number
      readonly late: number
      readonly load: number
    }
  /** What WebRTC viewers reported in the last second, by room. */
  | { readonly kind: 'feedback'; readonly rooms: readonly RoomFeedback[] }
  /**
   * A process of the engine ended by itself, or hung and was killed. The engine has reported its `sessions` as `ended` before.
   */
  | {
      readonly kind: 'died'
      readonly process: number
      readonly detail: string
      readonly isHung: boolean
      readonly sessions: number
    }
