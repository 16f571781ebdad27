import { unmatchedHash, verifyPassword } from '../../base/password.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { failure, type Failure } from '../../core/errors.ts'
import { emailOf, emailProblem } from '../../core/users/rules.ts'
import type { CommandContext } from '../context.ts'
import { beginSession, type FreshSession, type Visitor } from './sessions.ts'

const WRONG = failure('unauthorized', 'Unauthorized: no user has this e-mail address and this password.')

/** Signs a user in with a password. The refusal is the same for an unknown address and a wrong password. */
export async function signIn(
  ctx: CommandContext,
  input: { email: string; password: string },
  visitor: Visitor,
): Promise<Result<FreshSession, Failure>> {
  const email = emailOf(input.email)
  // PostgreSQL refuses some text that is no address.
  const user = emailProblem(email) === null ? await ctx.store.read.users.findByEmail(email) : undefined
  // Checked without a user too, so that the time of an answer does not say which addresses have one.
  const isRight = await verifyPassword(input.password, user?.passwordHash ?? unmatchedHash(ctx.passwordCost))
  if (!user || !isRight) return err(WRONG)
  return ctx.store.transaction(async (tx) => {
    // The user may have been deleted, or have got another password, while this one was checked.
    const current = await tx.users.lock(user.accountId, user.id)
    const isStillRight = current !== undefined && current.passwordHash === user.passwordHash
    return isStillRight ? ok(await beginSession(ctx, tx, current, visitor)) : err(WRONG)
  })
}
