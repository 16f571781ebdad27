import type { TokenKind } from '../../core/tokens/types.ts'
import { invalid, type Failure } from '../../core/errors.ts'
import { applyPatch, readUpdate, toRecord, type PatchedToken, type TokenRecord } from '../../core/tokens/rules.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { StoredToken, Tx } from '../../store/store.ts'
import { audit, type Actor, type Context } from '../context.ts'
import { noToken } from './readTokens.ts'
import { newTokenValue, openTokenValue } from './tokenValue.ts'
import { auditView } from './auditView.ts'

/** Edits a token. The merged record is checked as a whole; nothing is written when any part of it is wrong. */
export async function updateToken(
  ctx: Context,
  actor: Actor,
  kind: TokenKind,
  id: number,
  body: unknown,
): Promise<Result<TokenRecord, Failure>> {
  const patch = readUpdate(kind, body)
  if (!patch.ok) return err(invalid(patch.error))
  const nowMs = ctx.clock.now()
  const outcome = await ctx.store.transaction(async (tx): Promise<Result<StoredToken, Failure>> => {
    const before = await tx.tokens.lock(actor.accountId, kind, id)
    if (!before) return err(noToken(kind, id))
    const applied = applyPatch(before, patch.value)
    if (!applied.ok) return err(invalid(applied.error))
    const after = await write(ctx, tx, before, applied.value)
    await tx.changes.append({ kind: 'token', accountId: actor.accountId, id, atMs: nowMs })
    await audit(tx, actor, nowMs, {
      action: `${kind}_token.update`,
      subject: String(id),
      before: auditView(before),
      after: { ...auditView(after), ...(applied.value.refreshToken ? { refreshToken: true } : {}) },
    })
    return ok(after)
  })
  ctx.cache.forgetToken(id)
  return outcome.ok ? ok(toRecord(outcome.value, openTokenValue(ctx, outcome.value))) : outcome
}

async function write(ctx: Context, tx: Tx, before: StoredToken, applied: PatchedToken): Promise<StoredToken> {
  const { value: _value, ...fresh } = applied.refreshToken ? newTokenValue(ctx) : { value: '' }
  const after = await tx.tokens.replace({ ...before, ...applied.rules, ...fresh })
  if (applied.rebind.kind === 'clear') await tx.bindings.clear(before.id)
  if (applied.rebind.kind === 'earliest') await tx.bindings.keepEarliest(before.id, applied.rebind.count)
  // A new value makes every child signed with the old one worthless, so the list of revoked ones can go.
  if (applied.refreshToken) await tx.revocations.clear(before.id)
  return after
}
