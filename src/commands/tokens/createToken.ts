import type { TokenKind } from '../../core/tokens/types.ts'
import { invalid, type Failure } from '../../core/errors.ts'
import { readTokenCreate } from '../../core/tokens/create.ts'
import { refuseTargets } from '../../core/tokens/restream.ts'
import type { TokenRecord } from '../../core/tokens/record.ts'
import { err, ok, type Result } from '../../base/result.ts'
import { type AccessContext, type Actor, audit } from '../context.ts'
import { regionsFor } from '../regions/regions.ts'
import { sealTargetKeys } from './targetKeys.ts'
import { newTokenValue, shownWithDefaults } from './tokenValue.ts'
import { auditView } from './auditView.ts'

/** What an operator may choose for a new token, and a client of the API may not. */
export interface ChosenToken {
  /** By default the next one. */
  readonly id?: number | undefined
  /** By default a fresh one. */
  readonly value?: string | null
  readonly isActive?: boolean
  readonly expiresAtMs?: number | null
}

/** Creates a publish or subscribe token from an untrusted body. If any field is invalid, nothing is written. */
export async function createToken(
  ctx: AccessContext,
  actor: Actor,
  kind: TokenKind,
  body: unknown,
  chosen: ChosenToken = {},
): Promise<Result<TokenRecord, Failure>> {
  const read = readTokenCreate(kind, body, await regionsFor(ctx, body))
  if (!read.ok) return err(invalid(read.error))
  const { rules, restreamKeys, expiresSeconds } = read.value
  const refused = refuseTargets(rules.restream, ctx.targetPolicy)
  if (refused !== null) return err(invalid(refused))
  const nowMs = ctx.clock.now()
  const { valueHash, valueSealed } = newTokenValue(ctx, chosen.value ?? undefined)
  const draft = {
    ...rules,
    isActive: chosen.isActive ?? rules.isActive,
    kind,
    accountId: actor.accountId,
    addedAtMs: nowMs,
    expiresAtMs: expiresSeconds === null ? (chosen.expiresAtMs ?? null) : nowMs + expiresSeconds * 1000,
    revokedBeforeMs: null,
    valueHash,
    valueSealed,
  }
  const token = await ctx.store.transaction(async (tx) => {
    const stored = await tx.tokens.insert(draft, chosen.id)
    if (restreamKeys.length > 0) await tx.restreamKeys.replace(stored.id, sealTargetKeys(ctx, restreamKeys, []))
    await audit(tx, actor, nowMs, {
      action: `${kind}_token.create`,
      subject: String(stored.id),
      after: auditView(stored),
    })
    return stored
  })
  ctx.cache.secured.forget()
  return ok(await shownWithDefaults(ctx, token))
}
