import type { UserRole } from '../core/users/types.ts'

// The store's interface for users and for their sessions in the dashboard. Import it from `store.ts`.

export interface User {
  id: number
  accountId: string
  /** Lower case; unique over all accounts. */
  email: string
  passwordHash: string
  role: UserRole
  createdAtMs: number
}

/** Someone who is signed in to the dashboard with one browser. */
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

export interface UserReads {
  get(accountId: string, id: number): Promise<User | undefined>
  findByEmail(email: string): Promise<User | undefined>
  /** By id. */
  list(accountId: string): Promise<User[]>
  /** Whether any account has a user. */
  exist(): Promise<boolean>
}

export interface UserTx {
  /** @throws Conflict when a user has this address */
  insert(user: Omit<User, 'id'>): Promise<User>
  /** Reads and locks a user until the transaction ends. */
  lock(accountId: string, id: number): Promise<User | undefined>
  /** Lets the changes that add, remove or demote an admin of an account follow each other. */
  lockAccount(accountId: string): Promise<void>
  list(accountId: string): Promise<User[]>
  exist(): Promise<boolean>
  setRole(id: number, role: UserRole): Promise<void>
  setPassword(id: number, passwordHash: string): Promise<void>
  /** Deletes the user with the sessions. */
  delete(id: number): Promise<void>
}

export interface DashboardSessionReads {
  /** The session and its user, whether it has expired or not; undefined for a deleted user too. */
  find(hash: Uint8Array): Promise<{ session: DashboardSession; user: User } | undefined>
  /** Of one user, newest first. */
  list(userId: number): Promise<DashboardSession[]>
}

export interface DashboardSessionTx {
  find: DashboardSessionReads['find']
  insert(session: Hashed<Omit<DashboardSession, 'id'>>): Promise<DashboardSession>
  list(userId: number): Promise<DashboardSession[]>
  /** Raises the last use; never lowers it. */
  touch(id: number, atMs: number): Promise<void>
  /** Whether the user had this session. */
  delete(userId: number, id: number): Promise<boolean>
  /** Deletes all sessions of a user, except one; returns how many. */
  deleteOf(userId: number, exceptId: number | null): Promise<number>
  /** Deletes at most `limit` sessions without a use since `beforeMs`; returns how many. */
  prune(beforeMs: number, limit: number): Promise<number>
}

export interface SetupCodeReads {
  find(hash: Uint8Array): Promise<SetupCode | undefined>
}

export interface SetupCodeTx {
  insert(code: Hashed<Omit<SetupCode, 'usedAtMs'>>): Promise<void>
  /** Marks a code as used; false when it was used before, or does not exist. Exact under any concurrency. */
  use(hash: Uint8Array, atMs: number): Promise<boolean>
  /** Deletes at most `limit` codes that expired before; returns how many. */
  prune(beforeMs: number, limit: number): Promise<number>
}
