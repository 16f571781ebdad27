import type { FastifyRequest } from 'fastify'
import type { AccessAttempt } from '../../../commands/access/authorize.ts'
import type { Context } from '../../../commands/context.ts'
import type { Protocol } from '../../../core/access/protocols.ts'
import type { MediaEngine, Negotiated } from '../../../media/engine.ts'
import type { Session } from '../../../core/sessions/types.ts'
import type { Handover } from '../media/handover.ts'
import type { HttpRefusal } from '../media/refusal.ts'
import type { PeerOf } from '../peer.ts'
import type { SignalingOffer } from './offer.ts'
import type { PendingOffers } from './pendingOffers.ts'
import type { Resources } from './resources.ts'

/** Read at each use, so they may change. */
export interface WebRtcLimits {
  /** STUN and TURN servers for clients: `URL` or `URL username credential`. */
  readonly iceServers: readonly string[]
  /** How many offers may be under way at a time. */
  readonly maxPending: number
}

export interface WebRtcOptions {
  readonly engine: MediaEngine
  readonly limits: WebRtcLimits
  /** The public URL of this node if it differs from the one that clients connect to; else ''. */
  readonly nodeUrl: string
  /** What precedes the path of a resource in `Location`; it may change. */
  readonly resourceBase: () => string
  readonly handover: Handover
  /** Why a viewer who lacks the codec of a stream gets no other one, as a sentence; null: there is no more to say. */
  readonly encodingRefusalOf: (accountId: string, streamName: string, sourceId: string | null) => string | null
}

export interface WebRtcParts extends WebRtcOptions {
  readonly ctx: Context
  readonly peerOf: PeerOf
  readonly resources: Resources
  readonly pending: PendingOffers
}

export interface AdmittedOffer {
  readonly session: Session
  readonly attempt: AccessAttempt
}

/** Admission and negotiation: everything in which WHIP and WHEP differ. */
export interface SignalingEndpoint {
  readonly protocol: Protocol
  /** `/api/whip` or `/api/whep`. */
  readonly prefix: string
  /** The path of the stream below the prefix, with its parameters. */
  readonly stream: string
  /** 0 to 1: the share of concurrent offers that this endpoint may take. */
  readonly pendingShare: number
  /** Decides on admission. The media engine is not involved until this has succeeded. */
  admit(
    request: FastifyRequest,
    offer: SignalingOffer,
  ): Promise<({ ok: true } & AdmittedOffer) | ({ ok: false } & HttpRefusal)>
  negotiate(session: Session, offer: SignalingOffer): Promise<Negotiated>
}

export interface SignalingParts {
  readonly ctx: Context
  readonly engine: MediaEngine
  readonly resources: Resources
  readonly limits: Pick<WebRtcLimits, 'iceServers'>
  readonly resourceBase: WebRtcOptions['resourceBase']
  readonly pending: PendingOffers
}
