import type { UserRole } from '../core/users/types.ts'
import { BYTES, FLAG, NUMBER, NUMBER_OR_NULL, SERIAL, TEXT } from './columns.ts'

/** The tables of users and of their sessions, as both SQL dialects see them. */
export const USER_TABLES = {
  users: {
    id: SERIAL,
    account_id: TEXT,
    email: TEXT,
    password_hash: TEXT,
    role: TEXT as UserRole,
    created_at_ms: NUMBER,
  },
  dashboard_sessions: {
    id: SERIAL,
    /** SHA-256 of the value in the cookie. */
    hash: BYTES,
    user_id: NUMBER,
    created_at_ms: NUMBER,
    seen_at_ms: NUMBER,
    expires_at_ms: NUMBER,
    address: TEXT,
    user_agent: TEXT,
  },
  setup_codes: {
    /** SHA-256 of the code. */
    hash: BYTES,
    account_id: TEXT,
    role: TEXT as UserRole,
    /** 1: it makes the first user, and no other. */
    first_only: FLAG,
    created_at_ms: NUMBER,
    expires_at_ms: NUMBER,
    used_at_ms: NUMBER_OR_NULL,
  },
  passkeys: {
    /** As the authenticator names it, base64url. */
    id: TEXT,
    user_id: NUMBER,
    name: TEXT,
    public_key: BYTES,
    sign_count: NUMBER,
    /** JSON. */
    transports: TEXT,
    rp_id: TEXT,
    created_at_ms: NUMBER,
    used_at_ms: NUMBER_OR_NULL,
  },
  /** Those that were used, until they would have ended. */
  passkey_challenges: { hash: BYTES, expires_at_ms: NUMBER },
}
