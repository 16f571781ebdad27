import { invalid, type Failure } from '../../core/errors.ts'
import { readDisable } from '../../core/tokens/rules.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { AccessContext, Actor } from '../context.ts'
import { auditView } from './auditView.ts'
import { changeToken } from './changeToken.ts'

export interface DisableAnswer {
  successfulTokens: number[]
  failedTokens: { tokenId: number; errorMessage: string }[]
}

/** Disables publish tokens, each in its own transaction. An unknown id is reported and does not stop the others. */
export async function disableTokens(
  ctx: AccessContext,
  actor: Actor,
  body: unknown,
): Promise<Result<DisableAnswer, Failure>> {
  const read = readDisable(body)
  if (!read.ok) return err(invalid(read.error))
  const answer: DisableAnswer = { successfulTokens: [], failedTokens: [] }
  for (const id of new Set(read.value)) {
    if ((await disableOne(ctx, actor, id)).ok) answer.successfulTokens.push(id)
    else answer.failedTokens.push({ tokenId: id, errorMessage: `No publish token with id: ${id}` })
  }
  return ok(answer)
}

function disableOne(ctx: AccessContext, actor: Actor, id: number): Promise<Result<true, Failure>> {
  return changeToken(ctx, actor, { kind: 'publish', id }, async ({ before, tx }) => {
    if (!before.isActive) return ok({ value: true, recorded: null })
    const after = await tx.tokens.replace({ ...before, isActive: false })
    return ok({ value: true, recorded: { verb: 'disable', before: auditView(before), after: auditView(after) } })
  })
}
