import { sha256 } from '../../base/crypto.ts'
import { hashPassword } from '../../base/password.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { failure, type Failure } from '../../core/errors.ts'
import { SETUP_MS, SETUP_PROBLEMS, setupProblem } from '../../core/users/setup.ts'
import { Conflict, type SetupCode, type Tx, type User } from '../../store/store.ts'
import { audit, type Actor, type CommandContext } from '../context.ts'
import { beginSession, type FreshSession, type Visitor, visitorActor } from './sessions.ts'
import { emailTaken, noRoomForUser } from './users.ts'

/** Makes a one-time code for a new user, and returns it. The store has its SHA-256. */
export async function createSetupCode(
  ctx: CommandContext,
  actor: Actor,
  { role, firstOnly }: Pick<SetupCode, 'role' | 'firstOnly'>,
): Promise<string> {
  const code = ctx.random.bytes(32).toString('base64url')
  const nowMs = ctx.clock.now()
  const { accountId } = actor
  const stored = { accountId, role, firstOnly, createdAtMs: nowMs, expiresAtMs: nowMs + SETUP_MS }
  await ctx.store.transaction(async (tx) => {
    await tx.setupCodes.insert({ ...stored, hash: sha256(code) })
    await audit(tx, actor, nowMs, { action: 'setup_code.create', subject: role, after: { role, firstOnly } })
  })
  return code
}

/** A code for the first user, an admin of the first account; null when there is a user. */
export async function firstSetupCode(ctx: CommandContext, actor: Actor): Promise<string | null> {
  if (await ctx.store.read.users.exist()) return null
  return createSetupCode(ctx, actor, { role: 'admin', firstOnly: true })
}

interface NewUser {
  readonly code: string
  readonly email: string
  readonly password: string
}

/** Makes the user that a one-time code allows, and signs the user in. However many ask at once, a code makes one user. */
export async function redeemSetupCode(
  ctx: CommandContext,
  { code, email, password }: NewUser,
  visitor: Visitor,
): Promise<Result<FreshSession, Failure>> {
  const hash = sha256(code)
  const found = await ctx.store.read.setupCodes.find(hash)
  const problem = setupProblem(found, await ctx.store.read.users.exist(), ctx.clock.now())
  if (!found || problem !== null) return refused(problem ?? 'unknown')
  const draft = {
    accountId: found.accountId,
    role: found.role,
    email,
    passwordHash: await hashPassword(password, ctx),
  }
  try {
    return await ctx.store.transaction((tx) => redeem(ctx, tx, { ...found, hash }, draft, visitor))
  } catch (error) {
    if (error instanceof Conflict) return err(emailTaken(email))
    throw error
  }
}

async function redeem(
  ctx: CommandContext,
  tx: Tx,
  code: SetupCode & { hash: Uint8Array },
  draft: Omit<User, 'id' | 'createdAtMs'>,
  visitor: Visitor,
): Promise<Result<FreshSession, Failure>> {
  const nowMs = ctx.clock.now()
  await tx.accounts.lock(code.accountId)
  if (code.firstOnly && (await tx.users.exist())) return refused('not_first')
  const full = await noRoomForUser(tx, code.accountId)
  if (full !== null) return err(full)
  if (!(await tx.setupCodes.use(code.hash, nowMs))) return refused('used')
  const user = await tx.users.insert({ ...draft, createdAtMs: nowMs })
  const after = { email: user.email, role: user.role }
  await audit(tx, visitorActor(user, visitor), nowMs, { action: 'user.create', subject: String(user.id), after })
  return ok(await beginSession(ctx, tx, user, visitor))
}

const refused = (problem: keyof typeof SETUP_PROBLEMS): { ok: false; error: Failure } =>
  err(failure('forbidden', SETUP_PROBLEMS[problem]))
