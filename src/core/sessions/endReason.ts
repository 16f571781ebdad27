/** Why a session is over: on record, in logs and as a label of metrics. */
export const SESSION_END_REASONS = [
  'left', // the client said goodbye, or closed its connection over WebRTC
  'lost', // nothing came from it any more, its connection closed without a goodbye, or its node died
  'never_connected', // it was admitted, and its transport never came up
  'not_negotiated', // the media engine refused its offer
  'invalid_media', // what it sent cannot be served
  'replaced', // another publisher took its place
  'source_gone', // what it was watching ended, and no publisher followed in time
  'kicked', // ended through the API
  'reprioritized', // its token got another priority
  'stopped', // its stream or its whole account was stopped
  'token_deleted',
  'token_refreshed',
  'token_edited',
  'token_revoked',
  'token_expired', // its token has `endAtExpiry`
  'ticket_shared', // several players used its ticket
  'engine_died', // a media process ended by itself
  'moved', // its node drains, and another one continues
  'shutdown', // its node stops
  'unknown', // the store holds a word of another version
] as const

export type SessionEndReason = (typeof SESSION_END_REASONS)[number]

const REASONS: ReadonlySet<string> = new Set(SESSION_END_REASONS)

const isReason = (text: string): text is SessionEndReason => REASONS.has(text)

/** Reads a stored reason. While nodes are upgraded one by one, another node may write a reason that this one does not know. */
export const readEndReason = (text: string): SessionEndReason => (isReason(text) ? text : 'unknown')
