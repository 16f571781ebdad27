import { HOUR_MS } from '../../base/time.ts'

/** Half a working day and a night: who closes the lid in the evening signs in in the morning. */
const SESSION_IDLE_MS = 12 * HOUR_MS

/** A stolen cookie that is used all the time opens nothing after this. */
export const SESSION_LIFETIME_MS = 30 * 24 * HOUR_MS

/** A browser in which a user signed in is known this long, also after months without a session. */
export const KNOWN_BROWSER_MS = 180 * 24 * HOUR_MS

/** The last use is written at most this often: often enough beside 12 hours, and one write instead of thousands. */
export const SESSION_SEEN_MS = 5 * 60_000

/** Sessions of one user; another one ends the one that was unused for longest. */
export const SESSIONS_MAX = 20

export const USER_AGENT_MAX = 256

/** Why a session opens nothing any more. */
export type SessionExpiry = 'unused' | 'expired'

/** Null: the session is valid. */
export function expiryOf(session: { seenAtMs: number; expiresAtMs: number }, nowMs: number): SessionExpiry | null {
  if (nowMs >= session.expiresAtMs) return 'expired'
  return nowMs >= session.seenAtMs + SESSION_IDLE_MS ? 'unused' : null
}
