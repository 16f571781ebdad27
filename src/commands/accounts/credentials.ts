import { sha256 } from '../../base/crypto.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { failure, notFound, type Failure } from '../../core/errors.ts'
import type { StoredCredential } from '../../store/store.ts'
import { checkName, hasRoom } from './accounts.ts'
import { audit, type Actor, type CommandContext } from '../context.ts'

/** A Basic credential of the channels API with its secret, which is shown this once and kept only as SHA-256. */
export interface FreshCredential {
  credential: StoredCredential
  /** `key:secret`, as it goes base64-encoded into `Authorization: Basic`. */
  value: string
}

/** Lists of credentials are read whole. */
const CREDENTIALS_MAX = 1000

export const noCredential = (id: number | string): Failure =>
  notFound('credentialId', `No credential with id: ${String(id).slice(0, 32)}`)

export async function createCredential(
  ctx: CommandContext,
  actor: Actor,
  name: string,
  scope: StoredCredential['scope'],
): Promise<Result<FreshCredential, Failure>> {
  const problem = checkName(name)
  if (problem !== null) return err(failure('bad_request', `name ${problem}`))
  const { accountId } = actor
  const nowMs = ctx.clock.now()
  const key = `sk${ctx.random.bytes(12).toString('hex')}`
  const secret = ctx.random.bytes(32).toString('base64url')
  const draft = { accountId, name, key, scope, createdAtMs: nowMs }
  return ctx.store.transaction(async (tx): Promise<Result<FreshCredential, Failure>> => {
    const count = async () => (await tx.credentials.list(accountId)).length
    if (!(await hasRoom(tx, accountId, CREDENTIALS_MAX, count)))
      return err(failure('conflict', `There are ${CREDENTIALS_MAX} credentials, the most`))
    const credential = await tx.credentials.insert({ ...draft, secretHash: sha256(secret) })
    const subject = String(credential.id)
    await audit(tx, actor, nowMs, { action: 'credential.create', subject, after: { name, scope } })
    return ok({ credential, value: `${key}:${secret}` })
  })
}

export async function deleteCredential(ctx: CommandContext, actor: Actor, id: number): Promise<Result<true, Failure>> {
  const nowMs = ctx.clock.now()
  const found = await ctx.store.transaction(async (tx) => {
    const before = await tx.credentials.lock(actor.accountId, id)
    if (!before) return false
    await tx.credentials.delete(id)
    await audit(tx, actor, nowMs, { action: 'credential.delete', subject: String(id), before: { name: before.name } })
    return true
  })
  return found ? ok(true) : err(noCredential(id))
}

export const listCredentials = (ctx: CommandContext, accountId: string): Promise<StoredCredential[]> =>
  ctx.store.read.credentials.list(accountId)
