import type {
  EngineAddress,
  LayersAnswer,
  MediaEngineEvent,
  Negotiated,
  Patched,
  PublishOffer,
  RoomFeedback,
  ViewOffer,
} from '../../engine.ts'
import type { Frame, TrackInfo } from '../../frame.ts'
import type { LinkMessage } from '../link/linkOffer.ts'
import type { PeerFigures } from '../link/links.ts'
import type { NodeShare, ShareState } from '../link/nodeShares.ts'
import type { FeedRequest } from '../relay.ts'
import type { Waits } from '../transport/lateness.ts'

/** The settings of a relay process. */
export interface RelaySettings {
  /** Address to listen on; '' for all of both families. */
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
  /** Addresses for our candidates, instead of those of this machine. */
  readonly publicAddresses: readonly string[]
  /** Bits per second of one publisher. */
  readonly maxBitrate: number
  readonly maxSessions: number
  /** A publisher that is silent for this long is gone. */
  readonly publisherSilentMs: number
  /** False: forwards in JavaScript even if the native back end is there. */
  readonly native?: boolean
  /** Its number, where there are processes that it may share rooms with. */
  readonly process?: number
}

/** Where processes listen and what they announce, as it is now. */
export interface RelayHosts {
  readonly kind: 'hosts'
  /** The addresses to listen at; null: those of the start. */
  readonly listen: readonly string[] | null
  /** As `RelaySettings.publicAddresses`. */
  readonly publicAddresses: readonly string[]
}

/** Requests with their arguments and results. */
export interface RelayCalls {
  publish: { readonly takes: PublishOffer; readonly gives: Negotiated }
  view: { readonly takes: ViewOffer; readonly gives: Negotiated }
  patch: {
    readonly takes: { readonly sessionId: string; readonly fragment: string; readonly mayRestart: boolean }
    readonly gives: Patched
  }
  layers: {
    /** `choice` undefined: nothing changes. */
    readonly takes: { readonly sessionId: string; readonly choice?: string | null }
    readonly gives: LayersAnswer
  }
  /** Another process has viewers of a room from now on. The links of its sources are open when this is answered. */
  share: {
    readonly takes: { readonly room: string; readonly process: number; readonly port: number }
    readonly gives: null
  }
  /** Null: the share cannot be. Else where the process listens. */
  shareWithNode: { readonly takes: NodeShare; readonly gives: readonly EngineAddress[] | null }
  end: { readonly takes: { readonly sessionIds: readonly string[] }; readonly gives: null }
}

export type RelayCall = {
  [M in keyof RelayCalls]: {
    readonly kind: 'call'
    readonly id: number
    readonly method: M
    readonly takes: RelayCalls[M]['takes']
  }
}[keyof RelayCalls]

/** The media of one session, in either direction. */
export type Media =
  | { readonly kind: 'tracks'; readonly sessionId: string; readonly tracks: readonly TrackInfo[] }
  | { readonly kind: 'frame'; readonly sessionId: string; readonly frame: Frame }
  | { readonly kind: 'end'; readonly sessionId: string }

/** From the main process to a relay process. */
export type ToRelay =
  | { readonly kind: 'start'; readonly settings: RelaySettings }
  | RelayCall
  | RelayHosts
  | ({ readonly kind: 'feed' } & FeedRequest)
  | { readonly kind: 'aside'; readonly sessionId: string; readonly isAside: boolean }
  /** The frames of a feed stop until it is wanted again. Cached frames are outdated then. */
  | { readonly kind: 'rest'; readonly sessionId: string }
  | { readonly kind: 'tap' | 'untap'; readonly sessionId: string }
  /** The main process has the answer to the offer of this session. */
  | { readonly kind: 'answered'; readonly sessionId: string }
  /** Another process has no viewers of this room any more. */
  | { readonly kind: 'unshare'; readonly room: string; readonly process: number }
  /** See `NodeShares.end`. */
  | { readonly kind: 'endShare'; readonly peer: number }
  /** Another process has ended. */
  | { readonly kind: 'gone'; readonly process: number }
  /** The end of a link in another process says something. */
  | { readonly kind: 'link'; readonly process: number; readonly message: LinkMessage }
  | Media

export const BEAT_MS = 1000

/** From a relay process to the main process. */
export type FromRelay =
  /** `note`: why it forwards in JavaScript, if it does. `linkPort`: where links come in; null: it has none. */
  | { readonly kind: 'ready'; readonly port: number; readonly linkPort: number | null; readonly note: string | null }
  /** It cannot listen. */
  | { readonly kind: 'failed'; readonly problem: string }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  /**
   * It works through its messages. Every `BEAT_MS` once it is ready. All figures are of the time since the last beat; `load` is
   * the share of it in which the thread had work.
   */
  | {
      readonly kind: 'beat'
      readonly waits: Waits
      readonly load: number
      readonly feedback: readonly RoomFeedback[]
      readonly links: readonly PeerFigures[]
      /** Of sessions that a fault of ours has ended; null: there was none. */
      readonly faults: { readonly count: number; readonly latest: string } | null
    }
  /** In order; the events of one turn are one message. */
  | { readonly kind: 'events'; readonly events: readonly MediaEngineEvent[] }
  /** The feed has viewers now, or has had none for a while. */
  | { readonly kind: 'want'; readonly sessionId: string; readonly isWanted: boolean }
  /** See `NodeSharesOptions.tell`. */
  | { readonly kind: 'nodeShare'; readonly peer: number; readonly state: ShareState }
  /** For the end of a link in another process. */
  | { readonly kind: 'link'; readonly process: number; readonly message: LinkMessage }
  | Media
