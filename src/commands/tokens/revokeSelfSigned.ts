import { failure, invalid, type Failure } from '../../core/errors.ts'
import { readRevoke, type Revocation } from '../../core/tokens/rules.ts'
import { TOKEN_LIMITS } from '../../core/tokens/types.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { StoredToken, Tx } from '../../store/store.ts'
import { audit, type Actor, type Context } from '../context.ts'
import { noToken } from './readTokens.ts'

/**
 * Refuses self-signed children of a subscribe token from now on: one by its `jti`, or all that were issued before a
 * time.
 */
export async function revokeSelfSigned(
  ctx: Context,
  actor: Actor,
  id: number,
  body: unknown,
): Promise<Result<true, Failure>> {
  const nowMs = ctx.clock.now()
  const read = readRevoke(body, nowMs)
  if (!read.ok) return err(invalid(read.error))
  const outcome = await ctx.store.transaction(async (tx): Promise<Result<true, Failure>> => {
    const token = await tx.tokens.lock(actor.accountId, 'subscribe', id)
    if (!token) return err(noToken('subscribe', id))
    const written = await write(tx, token, read.value, nowMs)
    if (!written.ok) return written
    await tx.changes.append({ kind: 'token', accountId: actor.accountId, id, atMs: nowMs })
    await audit(tx, actor, nowMs, { action: 'subscribe_token.revoke', subject: String(id), after: read.value })
    return written
  })
  ctx.cache.forgetToken(id)
  return outcome
}

async function write(
  tx: Tx,
  token: StoredToken,
  revocation: Revocation,
  nowMs: number,
): Promise<Result<true, Failure>> {
  const { jti, issuedBeforeMs } = revocation
  if (jti !== null) {
    if ((await tx.revocations.count(token.id)) >= TOKEN_LIMITS.revokedJtisMax) return err(tooMany())
    await tx.revocations.add(token.id, jti, nowMs)
  }
  // The later time wins: a revocation is never taken back by a second one.
  const revokedBeforeMs = Math.max(issuedBeforeMs ?? 0, token.revokedBeforeMs ?? 0) || null
  await tx.tokens.replace({ ...token, revokedBeforeMs })
  return ok(true)
}

const tooMany = (): Failure =>
  failure(
    'conflict',
    `This token has ${TOKEN_LIMITS.revokedJtisMax} revoked jtis, the most that are kept; revoke by issuedBefore instead.`,
  )
