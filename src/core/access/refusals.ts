import type { RefusalCode, TraceStep } from './types.ts'

export interface Refusal {
  /** HTTP status on WHIP, WHEP and HLS. */
  readonly status: 401 | 409 | 503
  /** The public text: `text/plain` body over HTTP, status text over RTMP. */
  readonly text: string
}

/** The public form of each refusal. A revoked token looks like one that never existed, and so does none at all. */
export const REFUSALS: Readonly<Record<RefusalCode, Refusal>> = {
  token_missing: { status: 401, text: 'Unauthorized: Invalid token' },
  invalid_token: { status: 401, text: 'Unauthorized: Invalid token' },
  token_revoked: { status: 401, text: 'Unauthorized: Invalid token' },
  token_disabled: { status: 401, text: 'Unauthorized: Token disabled' },
  token_expired: { status: 401, text: 'Unauthorized: Token expired' },
  stream_name_not_allowed: { status: 401, text: 'Unauthorized: StreamName is not valid for token' },
  origin_not_allowed: { status: 401, text: 'Unauthorized: Origin not allowed' },
  address_not_allowed: { status: 401, text: 'Unauthorized: IP Address not allowed' },
  country_not_allowed: { status: 401, text: 'Unauthorized: Country not allowed' },
  ip_filters_not_supported: { status: 401, text: 'Unauthorized: IP filters are not supported with RTMP' },
  region_not_allowed: { status: 503, text: 'This token publishes only at servers of another region' },
  stream_not_published: { status: 409, text: 'Stream not being published' },
}

/**
 * Why an authorized client gets no session. 503: the node is full. 429: the address or the token has reached its number
 * of sessions, or the viewers their limit at all nodes. `text` reaches the client over every protocol.
 */
export const SESSION_LIMITS = {
  too_many_sessions: { status: 503, text: 'Too many sessions: try again later', retryAfterSeconds: 5 },
  node_full: { status: 503, text: 'The server is busy and takes no more: try again later', retryAfterSeconds: 10 },
  too_many_from_address: {
    status: 429,
    text: 'Too many sessions from this address: try again later',
    retryAfterSeconds: 5,
  },
  too_many_starts: {
    status: 429,
    text: 'Too many sessions have begun in the last ten minutes: try again later',
    retryAfterSeconds: 5,
  },
  too_many_connecting: {
    status: 429,
    text: 'Too many connections from this address are being set up: try again in a moment',
    retryAfterSeconds: 2,
  },
  too_many_with_token: {
    status: 429,
    text: 'Too many sessions with this token: try again later',
    retryAfterSeconds: 5,
  },
  too_many_without_token: {
    status: 429,
    text: 'Too many viewers without a token: try again later',
    retryAfterSeconds: 5,
  },
  viewer_limit: { status: 429, text: 'Too many viewers', retryAfterSeconds: 10 },
} as const

export type SessionLimitCode = keyof typeof SESSION_LIMITS

/** A limit that refuses a client who has access. */
export interface ReachedLimit {
  readonly code: SessionLimitCode
  /** What the trace says of it, after the checks of the decision. */
  readonly step?: TraceStep
}

/** Another node takes the client, which is sent on to it: that one has room, or is in the region of the token. */
export interface Redirection {
  readonly nodeUrl: string
  /** What the trace says of it, at its end. */
  readonly step: TraceStep
}

/** Why a client gets no session here, although it has access, or has it at another node. */
export type TurnedAway = ReachedLimit | Redirection

/** One that the trace explains. */
export type TracedLimit = ReachedLimit & Required<Pick<ReachedLimit, 'step'>>

/** Why a publisher over SRT is refused before the decision. It reads a code of SRT. */
export const ENCRYPTION_REFUSALS = {
  encryption_required: 'Encryption is required: set the passphrase of the token',
  wrong_passphrase: 'The passphrase is not that of the token',
} as const

export type EncryptionRefusal = keyof typeof ENCRYPTION_REFUSALS

/** Replaces the refusal of a client whom another node takes. */
export const NODE_REDIRECT = {
  code: 'redirected',
  status: 307,
  text: 'Another server takes this session',
} as const

/** The code and the text that it has in logs and for clients. */
export const publicAnswer = (why: TurnedAway): { code: SessionLimitCode | typeof NODE_REDIRECT.code; text: string } =>
  'nodeUrl' in why ? NODE_REDIRECT : { code: why.code, text: SESSION_LIMITS[why.code].text }

/** Ends a session that was admitted: its ticket is in use by several players. */
export const TICKET_SHARED = {
  code: 'ticket_shared',
  status: 403,
  text: 'Forbidden: More than one player uses this address. Request the master playlist again',
} as const

/** The code of a publisher whose address asks for what Sluice does not do. Its text names the parameter. */
export const INVALID_PARAMETER = 'invalid_parameter'

/** The code of a client that was admitted and is refused for the media: what it sends, or cannot decode. Its text says which. */
export const INVALID_MEDIA = 'invalid_media'

/** Of a protocol that cannot send an `Origin`. The plain text alone would mislead the publisher. */
export const noOriginText = (title: string): string => `${REFUSALS.origin_not_allowed.text} (${title} has no origin)`
