import type { TokenKind } from '../../core/tokens/types.ts'
import { invalid, type Failure } from '../../core/errors.ts'
import {
  applyPatch,
  readTokenUpdate,
  refuseTargets,
  type PatchedToken,
  type TokenRecord,
} from '../../core/tokens/rules.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { StoredToken } from '../../store/store.ts'
import type { AccessContext, Actor } from '../context.ts'
import { regionsFor } from '../regions/regions.ts'
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
  const updated = await changeToken(ctx, actor, { kind, id }, async ({ before, tx }) => {
    const applied = applyPatch(before, patch.value)
    if (!applied.ok) return err(invalid(applied.error))
    const refused = patch.value.restream && refuseTargets(applied.value.rules.restream, ctx.targetPolicy)
    if (refused) return err(invalid(refused))
    const after = await write(ctx, tx, before, { ...applied.value, chosen })
    const shown = { ...auditView(after), ...(applied.value.refreshToken ? { refreshToken: true } : {}) }
    return ok({ value: after, recorded: { verb: 'update', before: auditView(before), after: shown } })
  })
  return updated.ok ? ok(await shownWithDefaults(ctx, updated.value)) : updated
}

async function write(
  ctx: AccessContext,
  tx: TokenChangeTx,
  before: StoredToken,
  applied: PatchedToken & { readonly chosen: string | undefined },
): Promise<StoredToken> {
  const { value: _value, ...fresh } = applied.refreshToken ? newTokenValue(ctx, applied.chosen) : { value: '' }
  const after = await tx.tokens.replace({ ...before, ...applied.rules, ...fresh }, before)
  if (applied.restreamKeys !== null) {
    const keys = sealTargetKeys(ctx, applied.restreamKeys, await tx.restreamKeys.list(before.id))
    await tx.restreamKeys.replace(before.id, keys)
  }
  if (applied.rebind.kind === 'clear') await tx.bindings.clear(before.id)
  if (applied.rebind.kind === 'earliest') await tx.bindings.keepEarliest(before.id, applied.rebind.count)
  // A new value invalidates every child that the old one signed, so the list of revoked children can be deleted.
  if (applied.refreshToken) await tx.revocations.clear(before.id)
  return after
}
