import { isoTime } from '../../base/time.ts'
import { viewerKey } from '../../base/viewerKey.ts'
import { err, ok } from '../../base/result.ts'
import type { SignedViewerToken } from '../../core/channels/distributionSchema.ts'
import { noSuch, refusal } from '../../core/channels/errors.ts'
import { viewerTokenClaims, readSignViewerToken } from '../../core/channels/viewerTokenRequest.ts'
import { type Actor, audit, type ChannelContext } from '../context.ts'
import { type ChannelResult, checked, withPart } from './channelCommand.ts'
import { openKey } from './distributionKey.ts'
import { distributionPart } from './distributions.ts'

const PUBLIC_KEY = 'This key is the public half of a pair: tokens are signed where the private half is'

/**
 * Signs a viewer token with a key of a distribution, for clients that do not hold the key. The audit row has its claims,
 * and not the token.
 */
export async function signViewerToken(
  ctx: ChannelContext,
  actor: Actor,
  { distributionId, keyId }: { distributionId: string; keyId: string },
  body: unknown,
): ChannelResult<SignedViewerToken> {
  const read = checked(readSignViewerToken(body))
  if (!read.ok) return read
  const nowMs = ctx.clock.now()
  const { viewerClaim: claim } = ctx.channelSettings
  return ctx.store.transaction((tx) =>
    withPart(tx, actor, distributionPart(tx, distributionId), async ({ channelId }) => {
      const key = (await tx.distributionKeys.list(distributionId)).find((one) => one.id === keyId)
      if (!key) return err(noSuch('key', keyId))
      const { claims, expiresAtMs } = viewerTokenClaims(read.value, { channelId, claim, nowMs })
      const token = viewerKey(openKey(ctx, key)).sign(claims)
      if (token === null) return err(refusal('key_cannot_sign', PUBLIC_KEY))
      const after = { keyId, claims }
      await audit(tx, actor, nowMs, { action: 'distribution.token.sign', subject: distributionId, after })
      return ok({ token, keyId, expiresAt: isoTime(expiresAtMs) })
    }),
  )
}
