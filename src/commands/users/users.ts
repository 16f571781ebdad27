import { hashPassword } from '../../base/password.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { failure, notFound, type Failure } from '../../core/errors.ts'
import { emailOf, emailProblem, passwordProblem } from '../../core/users/rules.ts'
import type { UserRole } from '../../core/users/types.ts'
import { Conflict, type Tx, type User } from '../../store/store.ts'
import { audit, type Actor, type CommandContext } from '../context.ts'

/** Lists of users are read whole. */
const USERS_MAX = 500

/** The refusal for an unknown user id. A user of another account gets exactly the same refusal. */
export const noUser = (id: number | string): Failure =>
  notFound('userId', `No user with id: ${String(id).slice(0, 32)}`)

export const emailTaken = (email: string): Failure =>
  failure('conflict', `A user with the address ${email} exists already`)

/** Why an account has no room for another user; null: it has. Its row is locked. */
export async function noRoomForUser(tx: Tx, accountId: string): Promise<Failure | null> {
  const others = await tx.users.list(accountId)
  return others.length < USERS_MAX ? null : failure('conflict', `There are ${USERS_MAX} users, the most`)
}

export const listUsers = (ctx: CommandContext, accountId: string): Promise<User[]> =>
  ctx.store.read.users.list(accountId)

/** Creates a user who may sign in to the dashboard. The password is kept as a scrypt hash. */
export async function createUser(
  ctx: CommandContext,
  actor: Actor,
  input: { email: string; password: string; role: UserRole },
): Promise<Result<User, Failure>> {
  const { role } = input
  const email = emailOf(input.email)
  const wrongEmail = emailProblem(email)
  if (wrongEmail !== null) return err(failure('bad_request', `email ${wrongEmail}`))
  const wrongPassword = passwordProblem(input.password)
  if (wrongPassword !== null) return err(failure('bad_request', `password ${wrongPassword}`))
  const passwordHash = await hashPassword(input.password, ctx)
  const nowMs = ctx.clock.now()
  const draft = { accountId: actor.accountId, email, passwordHash, role, createdAtMs: nowMs }
  try {
    return await ctx.store.transaction(async (tx): Promise<Result<User, Failure>> => {
      await tx.accounts.lock(actor.accountId)
      if (!(await isStillAdmin(tx, actor))) return err(NO_ADMIN)
      const full = await noRoomForUser(tx, actor.accountId)
      if (full !== null) return err(full)
      const stored = await tx.users.insert(draft)
      await audit(tx, actor, nowMs, { action: 'user.create', subject: String(stored.id), after: { email, role } })
      return ok(stored)
    })
  } catch (error) {
    if (error instanceof Conflict) return err(emailTaken(email))
    throw error
  }
}

const NO_ADMIN = failure('forbidden', 'Forbidden: you are no admin any more')

/** A user may have been deleted, or got another role, while the password of the new one was hashed. Others are checked by the edge. */
async function isStillAdmin(tx: Tx, actor: Actor): Promise<boolean> {
  return actor.kind !== 'user' || (await tx.users.lock(actor.accountId, actor.id))?.role === 'admin'
}

/** Gives a user another role, which counts with the user's next request. */
export async function changeRole(
  ctx: CommandContext,
  actor: Actor,
  id: number,
  role: UserRole,
): Promise<Result<User, Failure>> {
  return ctx.store.transaction((tx) =>
    withUser(tx, actor, id, async (user) => {
      if (user.role === role) return ok(user)
      if (role !== 'admin' && (await isLastAdmin(tx, user))) return err(lastAdmin('become a viewer'))
      await tx.users.setRole(id, role)
      const change = { before: { role: user.role }, after: { role } }
      await audit(tx, actor, ctx.clock.now(), { action: 'user.update', subject: String(id), ...change })
      return ok({ ...user, role })
    }),
  )
}

/** Deletes a user; the sessions of the user end at once. */
export async function deleteUser(ctx: CommandContext, actor: Actor, id: number): Promise<Result<true, Failure>> {
  return ctx.store.transaction((tx) =>
    withUser(tx, actor, id, async (user) => {
      if (await isLastAdmin(tx, user)) return err(lastAdmin('be deleted'))
      await tx.users.delete(id)
      const before = { email: user.email, role: user.role }
      await audit(tx, actor, ctx.clock.now(), { action: 'user.delete', subject: String(id), before })
      return ok(true)
    }),
  )
}

/** Runs `work` with a user of the account, while no other change can add or remove an admin there. */
async function withUser<T>(
  tx: Tx,
  { accountId }: Actor,
  id: number,
  work: (user: User) => Promise<Result<T, Failure>>,
): Promise<Result<T, Failure>> {
  await tx.accounts.lock(accountId)
  const user = await tx.users.lock(accountId, id)
  return user ? work(user) : err(noUser(id))
}

async function isLastAdmin(tx: Tx, { accountId, id, role }: User): Promise<boolean> {
  const admins = (await tx.users.list(accountId)).filter((user) => user.role === 'admin' && user.id !== id)
  return role === 'admin' && admins.length === 0
}

const lastAdmin = (what: string): Failure =>
  failure('conflict', `The last admin cannot ${what}: make another user an admin first`)
