import { err, ok, type Result } from '../../base/result.ts'
import type { Failure } from '../../core/errors.ts'
import type { TokenKind } from '../../core/tokens/types.ts'
import type { StoredToken, Tx } from '../../store/store.ts'
import { type AccessContext, type Actor, audit } from '../context.ts'
import { noToken } from './readTokens.ts'

/** What a change of a token may write to. */
export type TokenChangeTx = Pick<Tx, 'tokens' | 'bindings' | 'restreamKeys' | 'revocations' | 'sessions'>

interface LockedToken {
  readonly before: StoredToken
  readonly tx: TokenChangeTx
  readonly nowMs: number
}

interface TokenChange<T> {
  readonly value: T
  /** The last part of the action's name, and both states without secrets. Null: nothing was changed. */
  readonly recorded: { readonly verb: string; readonly before?: unknown; readonly after?: unknown } | null
}

/**
 * Every change of a stored token uses this. One transaction locks the row, runs `work`, notifies other nodes and writes
 * the audit row. This node drops its cached token before the caller continues, so that no decision after the answer uses
 * the token as it was before.
 *
 * @param work writes only after it can no longer refuse: a refusal does not undo what was written
 */
export async function changeToken<T>(
  ctx: AccessContext,
  actor: Actor,
  { kind, id }: { readonly kind: TokenKind; readonly id: number },
  work: (token: LockedToken) => Promise<Result<TokenChange<T>, Failure>>,
): Promise<Result<T, Failure>> {
  const nowMs = ctx.clock.now()
  const { accountId } = actor
  try {
    return await ctx.store.transaction(async (tx): Promise<Result<T, Failure>> => {
      const before = await tx.tokens.lock(accountId, kind, id)
      if (!before) return err(noToken(kind, id))
      const changed = await work({ before, tx, nowMs })
      if (!changed.ok) return changed
      const { value, recorded } = changed.value
      if (recorded === null) return ok(value)
      const { verb, ...states } = recorded
      await tx.changes.append({ kind: 'token', accountId, id, atMs: nowMs })
      await audit(tx, actor, nowMs, { action: `${kind}_token.${verb}`, subject: String(id), ...states })
      return ok(value)
    })
  } finally {
    // Also after a failure: if the answer to a commit was lost, the change may be on record.
    ctx.cache.forgetToken(id)
  }
}
