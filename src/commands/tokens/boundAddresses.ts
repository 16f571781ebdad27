import type { TokenKind } from '../../core/tokens/types.ts'
import type { Failure } from '../../core/errors.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { audit, type Actor, type Context } from '../context.ts'
import { noToken } from './readTokens.ts'

export interface BoundIp {
  address: string
  firstUsedOn: string
  lastUsedOn: string
}

/** The addresses that a token is bound to, in the order in which they were bound. */
export async function listBoundIps(
  ctx: Context,
  accountId: string,
  kind: TokenKind,
  id: number,
): Promise<Result<BoundIp[], Failure>> {
  const token = await ctx.store.read.tokens.get(id)
  if (!token || token.accountId !== accountId || token.kind !== kind) return err(noToken(kind, id))
  await ctx.lastUses.flush(ctx.store)
  const bound = await ctx.store.read.bindings.list(id)
  return ok(
    bound.map((b) => ({
      address: b.address,
      firstUsedOn: new Date(b.firstUsedAtMs).toISOString(),
      lastUsedOn: new Date(b.lastUsedAtMs).toISOString(),
    })),
  )
}

/** Forgets every bound address; the next distinct ones are bound anew. */
export async function clearBoundIps(
  ctx: Context,
  actor: Actor,
  kind: TokenKind,
  id: number,
): Promise<Result<true, Failure>> {
  const nowMs = ctx.clock.now()
  const found = await ctx.store.transaction(async (tx) => {
    const token = await tx.tokens.lock(actor.accountId, kind, id)
    if (!token) return false
    const cleared = await tx.bindings.clear(id)
    await tx.changes.append({ kind: 'token', accountId: actor.accountId, id, atMs: nowMs })
    await audit(tx, actor, nowMs, { action: `${kind}_token.clear_bound_ips`, subject: String(id), before: { cleared } })
    return true
  })
  ctx.cache.forgetToken(id)
  return found ? ok(true) : err(noToken(kind, id))
}
