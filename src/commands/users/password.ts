import { hashPassword, verifyPassword } from '../../base/password.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { failure, invalid, type Failure } from '../../core/errors.ts'
import { audit, type CommandContext } from '../context.ts'
import { beginSession, type FreshSession, type SignedIn, type Visitor, visitorActor } from './sessions.ts'

const ENDED = failure('unauthorized', 'Unauthorized: Your session has ended. Sign in.')

const WRONG_WORDS = ['is not your password']
const WRONG = invalid({ oldPassword: WRONG_WORDS })

/** Whether this is the password of a user who is signed in. */
export async function confirmPassword(
  ctx: CommandContext,
  { id, accountId }: SignedIn,
  password: string,
): Promise<Result<true, Failure>> {
  const user = await ctx.store.read.users.get(accountId, id)
  if (!user) return err(ENDED)
  return (await verifyPassword(password, user.passwordHash)) ? ok(true) : err(invalid({ password: WRONG_WORDS }))
}

/**
 * Gives a user another password. All sessions of the user end, because one of them may be why the password changes; the
 * browser that changed it gets a new one. Passkeys go too if the user says so: one of them may be a thief's.
 */
export async function changePassword(
  ctx: CommandContext,
  { id, accountId }: SignedIn,
  input: { oldPassword: string; newPassword: string; deletePasskeys?: boolean },
  visitor: Visitor,
): Promise<Result<FreshSession, Failure>> {
  const user = await ctx.store.read.users.get(accountId, id)
  if (!user) return err(ENDED)
  if (!(await verifyPassword(input.oldPassword, user.passwordHash))) return err(WRONG)
  const passwordHash = await hashPassword(input.newPassword, ctx)
  return ctx.store.transaction(async (tx) => {
    const current = await tx.users.lock(accountId, id)
    if (!current) return err(ENDED)
    if (current.passwordHash !== user.passwordHash) return err(WRONG)
    await tx.users.setPassword(id, passwordHash)
    await tx.dashboardSessions.deleteOf(id)
    const actor = visitorActor(user, visitor)
    const passkeys = input.deletePasskeys === true ? await tx.passkeys.list(id) : []
    for (const passkey of passkeys) await tx.passkeys.delete(id, passkey.id)
    const change = passkeys.length === 0 ? {} : { before: { passkeys: passkeys.length } }
    await audit(tx, actor, ctx.clock.now(), { action: 'user.change_password', subject: String(id), ...change })
    return ok(await beginSession(ctx, tx, { ...current, passwordHash }, visitor))
  })
}
