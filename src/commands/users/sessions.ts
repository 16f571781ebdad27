import { sha256 } from '../../base/crypto.ts'
import { err, ok, type Result } from '../../base/result.ts'
import {
  expiryOf,
  SESSION_LIFETIME_MS,
  SESSION_SEEN_MS,
  type SessionExpiry,
  SESSIONS_MAX,
  USER_AGENT_MAX,
} from '../../core/users/session.ts'
import { notFound, type Failure } from '../../core/errors.ts'
import type { UserRole } from '../../core/users/types.ts'
import type { DashboardSession, Tx, User } from '../../store/store.ts'
import { audit, type Actor, type CommandContext, type SessionContext } from '../context.ts'

/** A signed-in user, with the session of this browser. */
export interface SignedIn {
  readonly id: number
  readonly accountId: string
  readonly role: UserRole
  readonly email: string
  readonly session: DashboardSession
}

/** Where a user signs in from. */
export interface Visitor {
  /** Canonical peer address. */
  readonly address: string
  readonly requestId: string
  readonly userAgent: string
  /** The session value that the browser has already; null: none. It ends. */
  readonly value: string | null
}

/** A session with its value, which only the browser keeps. The store has its SHA-256. */
export interface FreshSession {
  readonly signedIn: SignedIn
  readonly value: string
}

/** 32 random bytes in base64url. */
const isValue = (text: string): boolean => /^[\w-]{43}$/.test(text)

/**
 * The user of a session value. Every call reads the store: a session that ended, a deleted user and another role count
 * at once, on every node.
 */
export async function findSignedIn(
  ctx: SessionContext,
  value: string,
): Promise<Result<SignedIn, SessionExpiry | 'unknown'>> {
  const found = isValue(value) ? await ctx.store.read.dashboardSessions.find(sha256(value)) : undefined
  if (!found) return err('unknown')
  const nowMs = ctx.clock.now()
  const end = expiryOf(found.session, nowMs)
  if (end !== null) return err(end)
  await noteUse(ctx, found.session, nowMs)
  return ok(signedInOf(found.user, found.session))
}

/** Whether the session of this value is still open, and its user has this role. To ask is no use of it. */
export async function isSignedIn(ctx: CommandContext, value: string, role: UserRole): Promise<boolean> {
  const found = isValue(value) ? await ctx.store.read.dashboardSessions.find(sha256(value)) : undefined
  return found?.user.role === role && expiryOf(found.session, ctx.clock.now()) === null
}

/** A store that cannot write now still lets users look. */
async function noteUse(ctx: SessionContext, { id, seenAtMs }: DashboardSession, nowMs: number): Promise<void> {
  if (nowMs < seenAtMs + SESSION_SEEN_MS) return
  try {
    await ctx.store.transaction((tx) => tx.dashboardSessions.touch(id, nowMs))
  } catch (error) {
    ctx.sampled.answers.warn({ err: error }, 'the last use of a session in the dashboard was not written')
  }
}

/** Begins a session with a value that was never used before, in the transaction that admits the user. */
export async function beginSession(ctx: CommandContext, tx: Tx, user: User, visitor: Visitor): Promise<FreshSession> {
  const nowMs = ctx.clock.now()
  const value = ctx.random.bytes(32).toString('base64url')
  await endPrevious(tx, visitor)
  await makeRoom(tx, user.id)
  const session = await tx.dashboardSessions.insert({
    hash: sha256(value),
    userId: user.id,
    createdAtMs: nowMs,
    seenAtMs: nowMs,
    expiresAtMs: nowMs + SESSION_LIFETIME_MS,
    address: visitor.address,
    userAgent: visitor.userAgent.slice(0, USER_AGENT_MAX),
  })
  const after = { sessionId: session.id }
  await audit(tx, visitorActor(user, visitor), nowMs, { action: 'session.create', subject: String(user.id), after })
  return { signedIn: signedInOf(user, session), value }
}

async function endPrevious(tx: Tx, { value }: Visitor): Promise<void> {
  const found = value !== null && isValue(value) ? await tx.dashboardSessions.find(sha256(value)) : undefined
  if (found) await tx.dashboardSessions.delete(found.session.userId, found.session.id)
}

async function makeRoom(tx: Tx, userId: number): Promise<void> {
  const byUse = (await tx.dashboardSessions.list(userId)).toSorted((a, b) => b.seenAtMs - a.seenAtMs || b.id - a.id)
  for (const { id } of byUse.slice(SESSIONS_MAX - 1)) await tx.dashboardSessions.delete(userId, id)
}

/** Ends this session. */
export async function signOut(ctx: CommandContext, actor: Actor, { id, session }: SignedIn): Promise<void> {
  await ctx.store.transaction(async (tx) => {
    if (await tx.dashboardSessions.delete(id, session.id)) await auditEnd(ctx, tx, actor, id, session.id)
  })
}

/** Ends all sessions of a user, this one too. Returns how many there were. */
export async function signOutEverywhere(ctx: CommandContext, actor: Actor, { id }: SignedIn): Promise<number> {
  return ctx.store.transaction(async (tx) => {
    const count = await tx.dashboardSessions.deleteOf(id)
    const before = { sessions: count }
    await audit(tx, actor, ctx.clock.now(), { action: 'session.delete_all', subject: String(id), before })
    return count
  })
}

/** The sessions of a user that are valid, newest first. */
export async function listOwnSessions(ctx: CommandContext, { id }: SignedIn): Promise<DashboardSession[]> {
  const nowMs = ctx.clock.now()
  return (await ctx.store.read.dashboardSessions.list(id)).filter((session) => expiryOf(session, nowMs) === null)
}

/** Ends one of the user's own sessions. */
export async function endOwnSession(
  ctx: CommandContext,
  actor: Actor,
  { id }: SignedIn,
  sessionId: number,
): Promise<Result<true, Failure>> {
  return ctx.store.transaction(async (tx) => {
    if (!(await tx.dashboardSessions.delete(id, sessionId))) return err(noOwnSession(sessionId))
    await auditEnd(ctx, tx, actor, id, sessionId)
    return ok(true)
  })
}

/** The refusal for a session that does not exist, or is another user's. */
export const noOwnSession = (id: number | string): Failure =>
  notFound('sessionId', `You have no session with id: ${String(id).slice(0, 32)}`)

function auditEnd(ctx: CommandContext, tx: Tx, actor: Actor, userId: number, sessionId: number): Promise<void> {
  const before = { sessionId }
  return audit(tx, actor, ctx.clock.now(), { action: 'session.delete', subject: String(userId), before })
}

const signedInOf = ({ id, accountId, role, email }: User, session: DashboardSession): SignedIn => ({
  id,
  accountId,
  role,
  email,
  session,
})

/** The actor of the audit row when a session begins. */
export const visitorActor = ({ id, accountId }: User, { address, requestId }: Visitor): Actor => ({
  kind: 'user',
  id,
  accountId,
  address,
  requestId,
})
