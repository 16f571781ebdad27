import type { RtpTrackShape } from '../forward/rtpTrack.ts'
import type { LayerSize } from '../forward/layerSize.ts'
import type { LinkSecrets } from './linkTransport.ts'

/** A track of a link. */
export interface LinkTrack {
  readonly ssrc: number
  /** Of its retransmissions (RFC 4588). */
  readonly rtxSsrc: number
  readonly shape: RtpTrackShape
  /** Of a layer of video; '' for audio. */
  readonly rid: string
  /** Whether its source answers keyframe requests. */
  readonly isAskable: boolean
}

/** What the parent says of a link before the first packet: the source, its tracks, and the secrets. */
export interface LinkOffer {
  readonly kind: 'open'
  /** The SSRC of its first track. Used once. */
  readonly linkId: number
  readonly room: string
  /** Of the source. */
  readonly sessionId: string
  readonly sourceId: string | null
  readonly priority: number | null
  readonly profile: string | null
  /** See `Room.prefer`; null: it is a source, and no other form of one. */
  readonly preferredTo: string | null
  readonly tracks: readonly LinkTrack[]
  readonly secrets: LinkSecrets
  /** The UDP port of the loopback where the parent sends from and listens. */
  readonly port: number
}

/** What the parent says of each layer, also of those that the child does not need now. */
export interface LinkRates {
  /** Bits per second; 0: the link cannot carry it, or it pauses. */
  readonly bitrates: readonly number[]
  readonly sizes: readonly LayerSize[]
  /** Milliseconds, as the parent measured it last; null: not yet. */
  readonly roundTripMs: number | null
}

/** What the two ends of links say to each other, by way of the main process. */
export type LinkMessage =
  | LinkOffer
  /** The source is gone, or the parent ends the link. */
  | { readonly kind: 'close'; readonly linkId: number }
  | ({ readonly kind: 'rates'; readonly linkId: number } & LinkRates)
  /** See `Room.setAside`. */
  | { readonly kind: 'aside'; readonly room: string; readonly sessionId: string; readonly isAside: boolean }
  /** From the child: whether it has viewers of the source, and the SSRCs of the tracks that they need. */
  | { readonly kind: 'want'; readonly linkId: number; readonly isWatched: boolean; readonly ssrcs: readonly number[] }
