import type { TokenKind } from '../../core/tokens/types.ts'
import type { Failure } from '../../core/errors.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { audit, type Actor, type Context } from '../context.ts'
import { noToken } from './readTokens.ts'
import { auditView } from './auditView.ts'

/** Deletes a token with its bindings and revocations. From the answer on it admits nobody. */
export async function deleteToken(
  ctx: Context,
  actor: Actor,
  kind: TokenKind,
  id: number,
): Promise<Result<true, Failure>> {
  const nowMs = ctx.clock.now()
  const found = await ctx.store.transaction(async (tx) => {
    const before = await tx.tokens.lock(actor.accountId, kind, id)
    if (!before) return false
    await tx.tokens.delete(before)
    await tx.changes.append({ kind: 'token', accountId: actor.accountId, id, atMs: nowMs })
    await audit(tx, actor, nowMs, { action: `${kind}_token.delete`, subject: String(id), before: auditView(before) })
    return true
  })
  ctx.cache.forgetToken(id)
  return found ? ok(true) : err(noToken(kind, id))
}
