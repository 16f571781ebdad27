import type { Generated } from 'kysely'
import type { UserRole } from '../core/users/types.ts'
import type { DbBoolean } from './columns.ts'

/** The tables of users and of their sessions, as both SQL dialects see them. */
export interface UserTables {
  users: UserTable
  dashboard_sessions: DashboardSessionTable
  setup_codes: SetupCodeTable
  passkeys: PasskeyTable
  /** Those that were used, until they would have ended. */
  passkey_challenges: { hash: Uint8Array; expires_at_ms: number }
}

interface UserTable {
  id: Generated<number>
  account_id: string
  email: string
  password_hash: string
  role: UserRole
  created_at_ms: number
}

interface DashboardSessionTable {
  id: Generated<number>
  /** SHA-256 of the value in the cookie. */
  hash: Uint8Array
  user_id: number
  created_at_ms: number
  seen_at_ms: number
  expires_at_ms: number
  address: string
  user_agent: string
}

interface SetupCodeTable {
  /** SHA-256 of the code. */
  hash: Uint8Array
  account_id: string
  role: UserRole
  /** 1: it makes the first user, and no other. */
  first_only: DbBoolean
  created_at_ms: number
  expires_at_ms: number
  used_at_ms: number | null
}

interface PasskeyTable {
  /** As the authenticator names it, base64url. */
  id: string
  user_id: number
  name: string
  public_key: Uint8Array
  sign_count: number
  /** JSON. */
  transports: string
  rp_id: string
  created_at_ms: number
  used_at_ms: number | null
}
