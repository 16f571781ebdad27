import { invalid, type Failure } from '../../core/errors.ts'
import { readDisable } from '../../core/tokens/actions.ts'
import type { TokenKind } from '../../core/tokens/types.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { Actor, AccessContext } from '../context.ts'
import { auditView } from './auditView.ts'
import { changeToken } from './changeToken.ts'

export interface SwitchAnswer {
  successfulTokens: number[]
  failedTokens: { tokenId: number; errorMessage: string }[]
}

/** Which tokens are switched, and to what. */
export interface Switch {
  readonly kind: TokenKind
  readonly isActive: boolean
}

/** Switches tokens on or off, each by itself: an unknown id is reported and does not stop the others. */
export async function switchTokens(
  ctx: AccessContext,
  actor: Actor,
  to: Switch,
  body: unknown,
): Promise<Result<SwitchAnswer, Failure>> {
  const read = readDisable(body)
  if (!read.ok) return err(invalid(read.error))
  const answer: SwitchAnswer = { successfulTokens: [], failedTokens: [] }
  for (const id of read.value) {
    if ((await switchOne(ctx, actor, to, id)).ok) answer.successfulTokens.push(id)
    else answer.failedTokens.push({ tokenId: id, errorMessage: `No ${to.kind} token with id: ${id}` })
  }
  return ok(answer)
}

function switchOne(
  ctx: AccessContext,
  actor: Actor,
  { kind, isActive }: Switch,
  id: number,
): Promise<Result<true, Failure>> {
  return changeToken(ctx, actor, { kind, id }, async ({ before, tx }) => {
    if (before.isActive === isActive) return ok({ value: true, recorded: null })
    const after = await tx.tokens.replace({ ...before, isActive }, before)
    const verb = isActive ? 'enable' : 'disable'
    return ok({ value: true, recorded: { verb, before: auditView(before), after: auditView(after) } })
  })
}
