import { readCheck } from '../core/access/checkBody.ts'
import type { RefusalCode, TraceStep } from '../core/access/types.ts'
import { invalid, notFound, type Failure } from '../core/errors.ts'
import { err, ok, type Result } from '../base/result.ts'
import type { Context } from './context.ts'
import { dryRun, type Approach } from './authorize.ts'

export interface CheckAnswer {
  allowed: boolean
  code: RefusalCode | 'allowed'
  message: string
  /** Is the stream being published now? It does not change `allowed`. */
  live: boolean
  trace: readonly TraceStep[]
}

/** Answers what a given request would get, with every step that led there. Binds, counts and opens nothing. */
export async function checkAccess(
  ctx: Context,
  accountId: string,
  body: unknown,
): Promise<Result<CheckAnswer, Failure>> {
  const read = readCheck(body)
  if (!read.ok) return err(invalid(read.error))
  const question = read.value
  const named = question.accountId
  if (named !== null && named !== accountId) return err(notFound('accountId', 'No account with this id'))
  const approach: Approach = {
    action: question.action,
    protocol: question.protocol,
    accountId,
    streamName: question.streamName,
    presented: question.token,
    address: question.address,
    origin: question.origin,
    country: question.country,
  }
  const considered = dryRun(ctx, approach, question.atMs ?? ctx.clock.now())
  const { decision } = considered instanceof Promise ? await considered : considered
  const live = ctx.liveStreams(accountId, question.streamName) !== undefined
  return ok({
    allowed: decision.allowed,
    code: decision.allowed ? 'allowed' : decision.code,
    message: decision.allowed ? 'Allowed' : decision.message,
    live,
    trace: decision.trace,
  })
}
