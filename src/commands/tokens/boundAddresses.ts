import { isoTime } from '../../base/time.ts'
import type { TokenKind } from '../../core/tokens/types.ts'
import type { Failure } from '../../core/errors.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { AccessContext, Actor } from '../context.ts'
import { changeToken } from './changeToken.ts'
import { noToken } from './readTokens.ts'

export interface BoundIp {
  address: string
  firstUsedOn: string
  lastUsedOn: string
}

/** The addresses that a token is bound to, in the order in which they were bound. */
export async function listBoundIps(
  ctx: AccessContext,
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
      firstUsedOn: isoTime(b.firstUsedAtMs),
      lastUsedOn: isoTime(b.lastUsedAtMs),
    })),
  )
}

/** Deletes every bound address. The token then binds the next addresses that use it. */
export function clearBoundIps(
  ctx: AccessContext,
  actor: Actor,
  kind: TokenKind,
  id: number,
): Promise<Result<true, Failure>> {
  return changeToken(ctx, actor, { kind, id }, async ({ tx }) => {
    const cleared = await tx.bindings.clear(id)
    return ok({ value: true, recorded: { verb: 'clear_bound_ips', before: { cleared } } })
  })
}
