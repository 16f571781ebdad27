import { hashPassword } from '../../base/password.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { failure, type Failure } from '../../core/errors.ts'
import { Conflict, type User } from '../../store/store.ts'
import { audit, type Actor, type Context } from '../context.ts'

const PASSWORD_MIN = 10
const PASSWORD_MAX = 256

/** Makes a person who may sign in. The password is kept as a scrypt hash. Addresses are compared in lower case. */
export async function createUser(
  ctx: Context,
  actor: Actor,
  input: { email: string; password: string },
): Promise<Result<User, Failure>> {
  const email = input.email.trim().toLowerCase()
  if (email.length > 254 || !/^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(email)) {
    return err(failure('bad_request', 'email must be an address like name@example.com'))
  }
  if (input.password.length < PASSWORD_MIN || input.password.length > PASSWORD_MAX) {
    return err(failure('bad_request', `password must have ${PASSWORD_MIN} to ${PASSWORD_MAX} characters`))
  }
  const passwordHash = await hashPassword(input.password, ctx.random)
  const nowMs = ctx.clock.now()
  const draft = { accountId: actor.accountId, email, passwordHash, createdAtMs: nowMs }
  try {
    const user = await ctx.store.transaction(async (tx) => {
      const stored = await tx.users.insert(draft)
      await audit(tx, actor, nowMs, { action: 'user.create', subject: String(stored.id), after: { email } })
      return stored
    })
    return ok(user)
  } catch (error) {
    if (error instanceof Conflict) return err(failure('conflict', `A user with the address ${email} exists already`))
    throw error
  }
}
