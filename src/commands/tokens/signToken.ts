import { err, ok, type Result } from '../../base/result.ts'
import { isoTime } from '../../base/time.ts'
import { compileStreams, covers } from '../../core/access/streamName.ts'
import { failure, invalid, type Failure } from '../../core/errors.ts'
import { readSign, type SignRequest } from '../../core/tokens/sign.ts'
import { type SignOptions, signSubscribeToken } from '../../sign.ts'
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
 * token and what the customer says of the viewer. A token that no client could use is refused: the parent must be active and cover the stream.
 */
export async function signToken(
  ctx: CommandContext,
  actor: Actor,
  id: number,
  body: unknown,
): Promise<Result<SignedAnswer, Failure>> {
  const read = readSign(body)
  if (!read.ok) return err(invalid(read.error))
  const found = await parentOf(ctx, actor.accountId, id)
  if (!found.ok) return found
  const parent = found.value
  const nowMs = ctx.clock.now()
  const refusal = whyUseless(parent, read.value, nowMs) ?? (await whyRevoked(ctx, parent, read.value, nowMs))
  if (refusal !== null) return err(refusal)
  const signed = sign(ctx, parent, read.value, issueTime(parent, nowMs))
  if (!signed.ok) return signed
  const { token: _token, ...recorded } = signed.value
  const { customViewerData: _personal, ...rules } = read.value
  const after = { ...rules, ...recorded }
  await ctx.store.transaction((tx) =>
    audit(tx, actor, nowMs, { action: 'subscribe_token.sign', subject: String(id), after }),
  )
  return signed
}

/** The value of a parent, and when what it signs now counts as issued: what `sluice/sign` has to be told. */
export async function signingParent(
  ctx: CommandContext,
  accountId: string,
  id: number,
): Promise<Result<Pick<SignOptions, 'token' | 'now'>, Failure>> {
  const parent = await parentOf(ctx, accountId, id)
  if (!parent.ok) return parent
  return ok({ token: openTokenValue(ctx, parent.value), now: new Date(issueTime(parent.value, ctx.clock.now())) })
}

async function parentOf(
  { store }: CommandContext,
  accountId: string,
  id: number,
): Promise<Result<StoredToken, Failure>> {
  const parent = await store.read.tokens.get(id)
  const isParent = parent?.accountId === accountId && parent.kind === 'subscribe'
  return isParent ? ok(parent) : err(noToken('subscribe', id))
}

/** Why the signed token would admit no client; null when it would. */
function whyUseless(parent: StoredToken, request: SignRequest, nowMs: number): Failure | null {
  const { streamName, trackingId } = request
  if (!parent.isActive) return failure('conflict', 'This token is not active, so that what it signs admits no client.')
  if (parent.expiresAtMs !== null && parent.expiresAtMs <= nowMs)
    return failure('conflict', 'This token has expired, so that what it signs admits no client.')
  if (trackingId !== null && parent.trackingId !== null && trackingId !== parent.trackingId)
    return invalid({ 'tracking.trackingId': ['must be that of this token, if it is there'] })
  const streams = compileStreams(parent.streams)
  if (streams.ok && covers(streams.value, streamName)) return null
  return invalid({ streamName: ['must be a stream that this token covers'] })
}

/** The same for revocations. One by time may be of the next minute, by a clock that is ahead of ours. */
async function whyRevoked(
  { store }: CommandContext,
  { id, revokedBeforeMs }: StoredToken,
  { jti }: SignRequest,
  nowMs: number,
): Promise<Failure | null> {
  if (revokedBeforeMs !== null && revokedBeforeMs > nowMs)
    return failure('conflict', `Tokens issued before ${isoTime(revokedBeforeMs)} are revoked: sign then.`)
  if (jti === null || !(await store.read.revocations.list(id)).includes(jti)) return null
  return invalid({ jti: ['was revoked; send another one'] })
}

/** `iat` has whole seconds, so a token of the second of a revocation would count as issued before it: it gets the next second. */
const issueTime = ({ revokedBeforeMs }: StoredToken, nowMs: number): number =>
  Math.max(nowMs, Math.ceil((revokedBeforeMs ?? 0) / 1000) * 1000)

/** @param issuedAtMs a second later than now at most */
function sign(
  ctx: CommandContext,
  parent: StoredToken,
  request: SignRequest,
  issuedAtMs: number,
): Result<SignedAnswer, Failure> {
  const { streamName, expiresInSeconds } = request
  const jti = request.jti ?? ctx.random.bytes(16).toString('base64url')
  const options = { ...signOptionsOf(request), token: openTokenValue(ctx, parent), tokenId: parent.id, jti }
  const token = trySigning({ ...options, now: new Date(issuedAtMs) })
  if (!token.ok) return token
  const expiresAtMs = (Math.floor(issuedAtMs / 1000) + expiresInSeconds) * 1000
  const endMs = Math.min(expiresAtMs, parent.expiresAtMs ?? expiresAtMs)
  return ok({ token: token.value, tokenId: parent.id, streamName, jti, expiresOn: isoTime(endMs) })
}

/** How the library is asked for it, without what is not asked for. */
export function signOptionsOf(request: SignRequest): Omit<SignOptions, 'token' | 'tokenId'> {
  const { streamName, expiresInSeconds, jti, allowedOrigins, allowedIpAddresses } = request
  const { trackingId, maxViewers, endAtExpiry, customViewerData } = request
  return {
    streamName,
    expiresInSeconds,
    ...(jti === null ? {} : { jti }),
    ...(allowedOrigins.length > 0 ? { allowedOrigins } : {}),
    ...(allowedIpAddresses.length > 0 ? { allowedIpAddresses } : {}),
    ...(trackingId === null ? {} : { tracking: { trackingId } }),
    ...(maxViewers === null ? {} : { maxViewers }),
    ...(endAtExpiry ? { endAtExpiry } : {}),
    ...(customViewerData === null ? {} : { customViewerData }),
  }
}

/** The library throws for options that it refuses; here that is a refusal. */
export function trySigning(options: SignOptions): Result<string, Failure> {
  try {
    return ok(signSubscribeToken(options))
  } catch (cause) {
    if (cause instanceof TypeError) return err(failure('bad_request', cause.message))
    throw cause
  }
}
