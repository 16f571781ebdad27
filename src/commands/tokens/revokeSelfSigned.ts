import { failure, invalid, type Failure } from '../../core/errors.ts'
import { readRevoke, type Revocation } from '../../core/tokens/actions.ts'
import { TOKEN_LIMITS } from '../../core/tokens/types.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { StoredToken } from '../../store/store.ts'
import type { AccessContext, Actor } from '../context.ts'
import { changeToken, type TokenChangeTx } from './changeToken.ts'

/**
 * Refuses self-signed children of a subscribe token from now on: one by its `jti`, or all that were issued before a
 * time.
 */
export async function revokeSelfSigned(
  ctx: AccessContext,
  actor: Actor,
  id: number,
  body: unknown,
): Promise<Result<true, Failure>> {
  const read = readRevoke(body, ctx.clock.now())
  if (!read.ok) return err(invalid(read.error))
  const revocation = read.value
  return changeToken(ctx, actor, { kind: 'subscribe', id }, async ({ before, tx, nowMs }) => {
    const written = await write(tx, before, revocation, nowMs)
    return written.ok ? ok({ value: true, recorded: { verb: 'revoke', after: revocation } }) : written
  })
}

async function write(
  tx: TokenChangeTx,
  token: StoredToken,
  revocation: Revocation,
  nowMs: number,
): Promise<Result<true, Failure>> {
  const { jti, issuedBeforeMs } = revocation
  if (jti !== null) {
    if ((await tx.revocations.count(token.id)) >= TOKEN_LIMITS.revokedJtisMax) return err(tooMany())
    await tx.revocations.add(token.id, jti, nowMs)
  }
  // The later time wins: a second revocation never reverts the first.
  const revokedBeforeMs = Math.max(issuedBeforeMs ?? 0, token.revokedBeforeMs ?? 0) || null
  await tx.tokens.replace({ ...token, revokedBeforeMs }, token)
  return ok(true)
}

const tooMany = (): Failure =>
  failure(
    'conflict',
    `This token has ${TOKEN_LIMITS.revokedJtisMax} revoked jtis, the most that are kept; revoke by issuedBefore instead.`,
  )
