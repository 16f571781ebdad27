import { invalid, type Failure } from '../../core/errors.ts'
import { readDisable } from '../../core/tokens/rules.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { audit, type Actor, type Context } from '../context.ts'
import { auditView } from './auditView.ts'

export interface DisableAnswer {
  successfulTokens: number[]
  failedTokens: { tokenId: number; errorMessage: string }[]
}

/** Switches publish tokens off, each by itself: an unknown id is reported and does not stop the others. */
export async function disableTokens(
  ctx: Context,
  actor: Actor,
  body: unknown,
): Promise<Result<DisableAnswer, Failure>> {
  const read = readDisable(body)
  if (!read.ok) return err(invalid(read.error))
  const answer: DisableAnswer = { successfulTokens: [], failedTokens: [] }
  for (const id of new Set(read.value)) {
    if (await disableOne(ctx, actor, id)) answer.successfulTokens.push(id)
    else answer.failedTokens.push({ tokenId: id, errorMessage: `No publish token with id: ${id}` })
  }
  return ok(answer)
}

async function disableOne(ctx: Context, actor: Actor, id: number): Promise<boolean> {
  const nowMs = ctx.clock.now()
  const found = await ctx.store.transaction(async (tx) => {
    const before = await tx.tokens.lock(actor.accountId, 'publish', id)
    if (!before) return false
    if (!before.isActive) return true
    const after = await tx.tokens.replace({ ...before, isActive: false })
    await tx.changes.append({ kind: 'token', accountId: actor.accountId, id, atMs: nowMs })
    await audit(tx, actor, nowMs, {
      action: 'publish_token.disable',
      subject: String(id),
      before: auditView(before),
      after: auditView(after),
    })
    return true
  })
  ctx.cache.forgetToken(id)
  return found
}
