import type { AccountDefaults } from '../core/tokens/accountDefaults.ts'
import type { UserRole } from '../core/users/types.ts'

// The store's interface for accounts, their users, and the sessions of these in the dashboard. Import it from `store.ts`.

export interface Account {
  /** 6 lower-case letters and digits. */
  id: string
  name: string
  createdAtMs: number
}

export interface User {
  id: number
  accountId: string
  /** Lower case; unique over all accounts. */
  email: string
  passwordHash: string
  role: UserRole
  createdAtMs: number
}

/** The session of one user in one browser. */
export interface DashboardSession {
  readonly id: number
  readonly userId: number
  readonly createdAtMs: number
  /** The last use; written with a delay of minutes. */
  readonly seenAtMs: number
  readonly expiresAtMs: number
  /** Where the user signed in. */
  readonly address: string
  readonly userAgent: string
}

/** Lets one person make one user. */
export interface SetupCode {
  readonly accountId: string
  readonly role: UserRole
  /** It makes the first user, and no other. */
  readonly firstOnly: boolean
  readonly createdAtMs: number
  readonly expiresAtMs: number
  readonly usedAtMs: number | null
}

/** Values are looked up by their SHA-256; the store never has them. */
type Hashed<T> = T & { readonly hash: Uint8Array }

interface UserReads {
  get(accountId: string, id: number): Promise<User | undefined>
  findByEmail(email: string): Promise<User | undefined>
  /** By id. */
  list(accountId: string): Promise<User[]>
  /** Whether any account has a user. */
  exist(): Promise<boolean>
}

interface UserTx {
  /** @throws Conflict when a user has this address */
  insert(user: Omit<User, 'id'>): Promise<User>
  /** Reads and locks a user until the transaction ends. */
  lock(accountId: string, id: number): Promise<User | undefined>
  lockById(id: number): Promise<User | undefined>
  list(accountId: string): Promise<User[]>
  exist(): Promise<boolean>
  setRole(id: number, role: UserRole): Promise<void>
  setPassword(id: number, passwordHash: string): Promise<void>
  /** Deletes the user with the sessions and passkeys. */
  delete(id: number): Promise<void>
}

interface DashboardSessionReads {
  /** The session and its user, whether it has expired or not; undefined for a deleted user too. */
  find(hash: Uint8Array): Promise<{ session: DashboardSession; user: User } | undefined>
  /** Of one user, newest first. */
  list(userId: number): Promise<DashboardSession[]>
}

interface DashboardSessionTx {
  find: DashboardSessionReads['find']
  insert(session: Hashed<Omit<DashboardSession, 'id'>>): Promise<DashboardSession>
  list(userId: number): Promise<DashboardSession[]>
  /** Raises the last use; never lowers it. */
  touch(id: number, atMs: number): Promise<void>
  /** Whether the user had this session. */
  delete(userId: number, id: number): Promise<boolean>
  /** Deletes all sessions of a user; returns how many. */
  deleteOf(userId: number): Promise<number>
  /** Deletes at most `limit` sessions without a use since `beforeMs`; returns how many. */
  prune(beforeMs: number, limit: number): Promise<number>
}

interface SetupCodeReads {
  find(hash: Uint8Array): Promise<SetupCode | undefined>
}

interface SetupCodeTx {
  insert(code: Hashed<Omit<SetupCode, 'usedAtMs'>>): Promise<void>
  /** Marks a code as used; false when it was used before, or does not exist. Exact under any concurrency. */
  use(hash: Uint8Array, atMs: number): Promise<boolean>
  /** Deletes at most `limit` codes that expired before; returns how many. */
  prune(beforeMs: number, limit: number): Promise<number>
}

/** A key pair of a user's device that signs in instead of a password (WebAuthn). */
export interface Passkey {
  /** As the authenticator names it, base64url. */
  readonly id: string
  readonly userId: number
  readonly name: string
  /** COSE. */
  readonly publicKey: Uint8Array
  /** How often it has signed, as the device says; 0: the device does not count. */
  readonly signCount: number
  readonly transports: readonly string[]
  /** The host name that it was made for. */
  readonly rpId: string
  readonly createdAtMs: number
  readonly usedAtMs: number | null
}

interface PasskeyReads {
  get(id: string): Promise<Passkey | undefined>
  /** Of one user, oldest first. */
  list(userId: number): Promise<Passkey[]>
}

interface PasskeyTx {
  list(userId: number): Promise<Passkey[]>
  /** @throws Conflict when a passkey has this id */
  insert(passkey: Passkey): Promise<void>
  /** Raises the counter if it is still as it was read; false: another use came first, or the passkey is deleted. */
  countUse(id: string, count: { from: number; to: number }, atMs: number): Promise<boolean>
  /** Whether the user had this passkey. */
  delete(userId: number, id: string): Promise<boolean>
  /** Records the use of a challenge; false when it was used before. Exact under any concurrency. */
  spend(challengeHash: Uint8Array, expiresAtMs: number): Promise<boolean>
  /** Deletes at most `limit` challenges that ended before; returns how many. */
  pruneChallenges(beforeMs: number, limit: number): Promise<number>
}

export interface PeopleReads {
  accounts: {
    get(id: string): Promise<Account | undefined>
    /** Ordered by creation, then id. */
    list(): Promise<Account[]>
    defaults(id: string): Promise<AccountDefaults | undefined>
  }
  users: UserReads
  dashboardSessions: DashboardSessionReads
  setupCodes: SetupCodeReads
  passkeys: PasskeyReads
}

export interface PeopleTx {
  accounts: {
    /** No other transaction adds or changes an account until this one ends. */
    lockAll(): Promise<void>
    insert(account: Account): Promise<void>
    list(): Promise<Account[]>
    defaults(id: string): Promise<AccountDefaults | undefined>
    /** Locks the account until the transaction ends, so that changes of one account that take its lock follow each other. */
    lock(id: string): Promise<void>
    /** The same. */
    lockDefaults(id: string): Promise<AccountDefaults | undefined>
    setDefaults(id: string, defaults: AccountDefaults): Promise<void>
  }
  users: UserTx
  dashboardSessions: DashboardSessionTx
  setupCodes: SetupCodeTx
  passkeys: PasskeyTx
}
