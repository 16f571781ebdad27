import { sha256 } from '../../base/crypto.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { failure, notFound, type Failure } from '../../core/errors.ts'
import { Conflict, type ApiSecret } from '../../store/store.ts'
import { checkName, hasRoom } from './accounts.ts'
import { audit, type Actor, type AccessContext } from '../context.ts'

/** An API secret with its value, which is shown this once and kept only as SHA-256. */
export interface FreshSecret {
  secret: ApiSecret
  value: string
}

/** Lists of secrets are read whole. */
const SECRETS_MAX = 1000

export const noSecret = (id: number | string): Failure =>
  notFound('secretId', `No API secret with id: ${String(id).slice(0, 32)}`)

/** 32 random bytes; base64url so that it needs no quoting in a shell or a header. */
const newValue = (ctx: AccessContext): string => ctx.random.bytes(32).toString('base64url')

export async function createSecret(
  ctx: AccessContext,
  actor: Actor,
  name: string,
): Promise<Result<FreshSecret, Failure>> {
  const problem = checkName(name)
  if (problem !== null) return err(failure('bad_request', `name ${problem}`))
  const value = newValue(ctx)
  const nowMs = ctx.clock.now()
  const { accountId } = actor
  const draft = { accountId, name, hint: value.slice(-4), createdAtMs: nowMs, refreshedAtMs: null }
  try {
    return await ctx.store.transaction(async (tx): Promise<Result<FreshSecret, Failure>> => {
      const count = async () => (await tx.secrets.list(accountId)).length
      if (!(await hasRoom(tx, accountId, SECRETS_MAX, count)))
        return err(failure('conflict', `There are ${SECRETS_MAX} API secrets, the most`))
      const secret = await tx.secrets.insert({ ...draft, hash: sha256(value) })
      await audit(tx, actor, nowMs, { action: 'secret.create', subject: String(secret.id), after: { name } })
      return ok({ secret, value })
    })
  } catch (error) {
    if (error instanceof Conflict) return err(failure('conflict', `An API secret named ${name} exists already`))
    throw error
  }
}

/** Gives a secret a new value. Requests with the old one are refused from the answer on. */
export async function refreshSecret(
  ctx: AccessContext,
  actor: Actor,
  id: number,
): Promise<Result<FreshSecret, Failure>> {
  const value = newValue(ctx)
  const nowMs = ctx.clock.now()
  const hint = value.slice(-4)
  const secret = await ctx.store.transaction(async (tx) => {
    const before = await tx.secrets.lock(actor.accountId, id)
    if (!before) return undefined
    // Links to recordings know a value by its time: two values never have the same.
    const refreshedAtMs = Math.max(nowMs, (before.refreshedAtMs ?? before.createdAtMs) + 1)
    await tx.secrets.replace(id, sha256(value), hint, refreshedAtMs)
    await tx.changes.append({ kind: 'secret', accountId: actor.accountId, id, atMs: nowMs })
    await audit(tx, actor, nowMs, { action: 'secret.refresh', subject: String(id) })
    return { ...before, hint, refreshedAtMs }
  })
  ctx.cache.forgetSecrets()
  return secret ? ok({ secret, value }) : err(noSecret(id))
}

export async function deleteSecret(ctx: AccessContext, actor: Actor, id: number): Promise<Result<true, Failure>> {
  const nowMs = ctx.clock.now()
  const found = await ctx.store.transaction(async (tx) => {
    const before = await tx.secrets.lock(actor.accountId, id)
    if (!before) return false
    await tx.secrets.delete(id)
    await tx.changes.append({ kind: 'secret', accountId: actor.accountId, id, atMs: nowMs })
    await audit(tx, actor, nowMs, { action: 'secret.delete', subject: String(id), before: { name: before.name } })
    return true
  })
  ctx.cache.forgetSecrets()
  return found ? ok(true) : err(noSecret(id))
}

export const listSecrets = (ctx: AccessContext, accountId: string): Promise<ApiSecret[]> =>
  ctx.store.read.secrets.list(accountId)
