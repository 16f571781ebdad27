import type { TokenKind } from '../../core/tokens/types.ts'
import type { Failure } from '../../core/errors.ts'
import { ok, type Result } from '../../base/result.ts'
import type { AccessContext, Actor } from '../context.ts'
import { auditView } from './auditView.ts'
import { changeToken } from './changeToken.ts'

/** Deletes a token with its bindings and revocations. After the answer it admits no client. */
export function deleteToken(
  ctx: AccessContext,
  actor: Actor,
  kind: TokenKind,
  id: number,
): Promise<Result<true, Failure>> {
  return changeToken(ctx, actor, { kind, id }, async ({ before, tx }) => {
    await tx.tokens.delete(before)
    return ok({ value: true, recorded: { verb: 'delete', before: auditView(before) } })
  })
}
