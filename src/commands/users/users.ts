import { hashPassword } from '../../base/password.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { failure, type Failure } from '../../core/errors.ts'
import { emailOf, emailProblem, passwordProblem } from '../../core/users/rules.ts'
import type { UserRole } from '../../core/users/types.ts'
import { Conflict, type User } from '../../store/store.ts'
import { audit, type Actor, type Context } from '../context.ts'

/** Creates a user who may sign in to the dashboard. The password is kept as a scrypt hash. */
export async function createUser(
  ctx: Context,
  actor: Actor,
  input: { email: string; password: string; role: UserRole },
): Promise<Result<User, Failure>> {
  const { role } = input
  const email = emailOf(input.email)
  const wrongEmail = emailProblem(email)
  if (wrongEmail !== null) return err(failure('bad_request', `email ${wrongEmail}`))
  const wrongPassword = passwordProblem(input.password)
  if (wrongPassword !== null) return err(failure('bad_request', `password ${wrongPassword}`))
  const passwordHash = await hashPassword(input.password, ctx.random)
  const nowMs = ctx.clock.now()
  const draft = { accountId: actor.accountId, email, passwordHash, role, createdAtMs: nowMs }
  try {
    const user = await ctx.store.transaction(async (tx) => {
      const stored = await tx.users.insert(draft)
      await audit(tx, actor, nowMs, { action: 'user.create', subject: String(stored.id), after: { email, role } })
      return stored
    })
    return ok(user)
  } catch (error) {
    if (error instanceof Conflict) return err(failure('conflict', `A user with the address ${email} exists already`))
    throw error
  }
}
