import type { TokenKind } from '../../core/tokens/types.ts'
import { invalid, type Failure } from '../../core/errors.ts'
import { applyPatch, type PatchedToken } from '../../core/tokens/patch.ts'
import { readTokenUpdate } from '../../core/tokens/update.ts'
import { refuseTargets } from '../../core/tokens/restream.ts'
import type { TokenRecord } from '../../core/tokens/record.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { StoredToken } from '../../store/store.ts'
import type { AccessContext, Actor } from '../context.ts'
import type { AccountDefaults } from '../../core/tokens/accountDefaults.ts'
import { regionsFor } from '../regions/regions.ts'
import { bindUsers } from './bindUsers.ts'
import { changeToken, type TokenChangeTx } from './changeToken.ts'
import { sealTargetKeys } from './targetKeys.ts'
import { newTokenValue, shownWithDefaults } from './tokenValue.ts'
import { auditView } from './auditView.ts'

/**
 * Edits a token. Checks the merged record as a whole. If any part is invalid, nothing is written.
 * @param chosen the value in place of a fresh one, when the body refreshes it
 */
export async function updateToken(
  ctx: AccessContext,
  actor: Actor,
  { kind, id }: { readonly kind: TokenKind; readonly id: number },
  body: unknown,
  chosen?: string,
): Promise<Result<TokenRecord, Failure>> {
  const patch = readTokenUpdate(kind, body, await regionsFor(ctx, body))
  if (!patch.ok) return err(invalid(patch.error))
  const account = await ctx.cache.accountDefaults(actor.accountId)
  const updated = await changeToken(ctx, actor, { kind, id }, async ({ before, tx }) => {
    const applied = applyPatch(before, patch.value)
    if (!applied.ok) return err(invalid(applied.error))
    const refused = patch.value.restream && refuseTargets(applied.value.rules.restream, ctx.targetPolicy)
    if (refused) return err(invalid(refused))
    const after = await write(ctx, tx, before, { ...applied.value, chosen, account })
    const shown = { ...auditView(after), ...(applied.value.refreshToken ? { refreshToken: true } : {}) }
    return ok({ value: after, recorded: { verb: 'update', before: auditView(before), after: shown } })
  })
  return updated.ok ? ok(await shownWithDefaults(ctx, updated.value)) : updated
}

async function write(
  ctx: AccessContext,
  tx: TokenChangeTx,
  before: StoredToken,
  applied: PatchedToken & { readonly chosen: string | undefined; readonly account: AccountDefaults },
): Promise<StoredToken> {
  const { value: _value, ...fresh } = applied.refreshToken ? newTokenValue(ctx, applied.chosen) : { value: '' }
  const after = await tx.tokens.replace({ ...before, ...applied.rules, ...fresh }, before)
  if (applied.restreamKeys !== null) {
    const keys = sealTargetKeys(ctx, applied.restreamKeys, await tx.restreamKeys.list(before.id))
    await tx.restreamKeys.replace(before.id, keys)
  }
  const { rebind, account } = applied
  if (rebind.kind === 'clear' || rebind.kind === 'users') await tx.bindings.clear(before.id)
  if (rebind.kind === 'earliest') await tx.bindings.keepEarliest(before.id, rebind.count)
  // With another value, the sessions end.
  if (rebind.kind === 'users' && !applied.refreshToken)
    await bindUsers(ctx, tx, { token: after, account, most: rebind.count })
  // A new value invalidates every child that the old one signed, so the list of revoked children can be deleted.
  if (applied.refreshToken) await tx.revocations.clear(before.id)
  return after
}
