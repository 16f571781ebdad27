import { err, ok, type Result } from '../../base/result.ts'
import { compileStreams, covers } from '../../core/access/streamName.ts'
import { failure, invalid, type Failure } from '../../core/errors.ts'
import { readSign, type SignRequest } from '../../core/tokens/rules.ts'
import { signSubscribeToken } from '../../sign.ts'
import type { StoredToken } from '../../store/store.ts'
import { audit, type Actor, type CommandContext } from '../context.ts'
import { noToken } from './readTokens.ts'
import { openTokenValue } from './tokenValue.ts'

export interface SignedAnswer {
  readonly token: string
  readonly tokenId: number
  readonly streamName: string
  readonly jti: string
  readonly expiresOn: string
}

/**
 * Signs a token with a subscribe token, for clients that do not hold its value. The audit row has everything but the signed
 * token. A token that no client could use is refused: the parent must be active and cover the stream.
 */
export async function signToken(
  ctx: CommandContext,
  actor: Actor,
  id: number,
  body: unknown,
): Promise<Result<SignedAnswer, Failure>> {
  const read = readSign(body)
  if (!read.ok) return err(invalid(read.error))
  const parent = await ctx.store.read.tokens.get(id)
  if (!parent || parent.accountId !== actor.accountId || parent.kind !== 'subscribe')
    return err(noToken('subscribe', id))
  const nowMs = ctx.clock.now()
  const refusal = whyUseless(parent, read.value, nowMs)
  if (refusal !== null) return err(refusal)
  const answer = sign(ctx, parent, read.value, nowMs)
  const { token: _token, ...recorded } = answer
  const { allowedOrigins, allowedIpAddresses } = read.value
  const after = { ...recorded, allowedOrigins, allowedIpAddresses }
  await ctx.store.transaction((tx) =>
    audit(tx, actor, nowMs, { action: 'subscribe_token.sign', subject: String(id), after }),
  )
  return ok(answer)
}

/** Why the signed token would admit no client; null when it would. */
function whyUseless(parent: StoredToken, { streamName }: SignRequest, nowMs: number): Failure | null {
  if (!parent.isActive) return failure('conflict', 'This token is not active, so that what it signs admits no client.')
  if (parent.expiresAtMs !== null && parent.expiresAtMs <= nowMs)
    return failure('conflict', 'This token has expired, so that what it signs admits no client.')
  const streams = compileStreams(parent.streams)
  if (streams.ok && covers(streams.value, streamName)) return null
  return invalid({ streamName: ['must be a stream that this token covers'] })
}

function sign(ctx: CommandContext, parent: StoredToken, request: SignRequest, nowMs: number): SignedAnswer {
  const { streamName, expiresInSeconds, allowedOrigins, allowedIpAddresses } = request
  const jti = request.jti ?? ctx.random.bytes(16).toString('base64url')
  const token = signSubscribeToken({
    token: openTokenValue(ctx, parent),
    tokenId: parent.id,
    streamName,
    expiresInSeconds,
    jti,
    ...(allowedOrigins.length > 0 ? { allowedOrigins } : {}),
    ...(allowedIpAddresses.length > 0 ? { allowedIpAddresses } : {}),
    now: new Date(nowMs),
  })
  const expiresAtMs = (Math.floor(nowMs / 1000) + expiresInSeconds) * 1000
  const endMs = Math.min(expiresAtMs, parent.expiresAtMs ?? expiresAtMs)
  return { token, tokenId: parent.id, streamName, jti, expiresOn: new Date(endMs).toISOString() }
}
