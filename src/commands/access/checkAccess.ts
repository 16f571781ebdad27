import { readCheck } from '../../core/access/checkBody.ts'
import { SESSION_LIMITS, type SessionLimitCode } from '../../core/access/refusals.ts'
import type { RefusalCode, TraceStep } from '../../core/access/types.ts'
import { invalid, notFound, type Failure } from '../../core/errors.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { AccessContext } from '../context.ts'
import { type AccessAttempt, type DryRun, dryRun, dryRunFromMemory } from './authorize.ts'
import { credentialOfToken } from './credential.ts'
import { onAir, peekOnAir } from './onAir.ts'

export interface CheckAnswer {
  allowed: boolean
  code: RefusalCode | SessionLimitCode | 'allowed'
  message: string
  /** Whether the stream is published now. It does not change `allowed`. */
  live: boolean
  trace: readonly TraceStep[]
}

/** The decision that a given request would get, with every step. Binds, counts and opens nothing. */
export async function checkAccess(
  ctx: AccessContext,
  accountId: string,
  body: unknown,
): Promise<Result<CheckAnswer, Failure>> {
  const read = readQuestion(accountId, body)
  if (!read.ok) return read
  const { attempt, atMs, tokenId } = read.value
  const proved = tokenId === undefined ? undefined : await credentialOfToken(ctx.cache, accountId, tokenId)
  if (proved === null) return err(notFound('tokenId', `No token with id: ${tokenId}`))
  const prove = proved && (() => Promise.resolve(proved))
  const found = await dryRun(ctx, attempt, atMs ?? null, prove)
  const live = await onAir(ctx, accountId, attempt.streamName)
  return ok(answerOf(found, live !== undefined))
}

/** As `checkAccess`, from memory alone. Null: it needs the store, and recorded nothing. */
export function checkFromMemory(
  ctx: AccessContext,
  accountId: string,
  body: unknown,
): Result<CheckAnswer, Failure> | null {
  const read = readQuestion(accountId, body)
  if (!read.ok) return read
  const { attempt, atMs, tokenId } = read.value
  if (tokenId !== undefined) return null
  const live = peekOnAir(ctx, accountId, attempt.streamName)
  const evaluation = live === 'unknown' ? null : dryRunFromMemory(ctx, attempt, atMs ?? null)
  return evaluation === null ? null : ok(answerOf(evaluation, live !== undefined))
}

function readQuestion(
  accountId: string,
  body: unknown,
): Result<{ attempt: AccessAttempt; atMs: number | undefined; tokenId: number | undefined }, Failure> {
  const read = readCheck(body)
  if (!read.ok) return err(invalid(read.error))
  const question = read.value
  const named = question.accountId
  if (named !== null && named !== accountId) return err(notFound('accountId', 'No account with this id'))
  const attempt: AccessAttempt = {
    action: question.action,
    protocol: question.protocol,
    accountId,
    streamName: question.streamName,
    presented: question.token,
    address: question.address,
    origin: question.origin,
    country: question.country,
  }
  return ok({ attempt, atMs: question.atMs, tokenId: question.tokenId })
}

function answerOf({ decision, reached }: DryRun, live: boolean): CheckAnswer {
  const { allowed, trace } = decision
  if (reached !== null) {
    const { code, step } = reached
    return { allowed: false, code, message: SESSION_LIMITS[code].text, live, trace: [...trace, step] }
  }
  if (allowed) return { allowed, code: 'allowed', message: 'Allowed', live, trace }
  return { allowed, code: decision.code, message: decision.message, live, trace }
}
