import { readCheck } from '../core/access/checkBody.ts'
import type { RefusalCode, TraceStep } from '../core/access/types.ts'
import { invalid, notFound, type Failure } from '../core/errors.ts'
import { err, ok, type Result } from '../base/result.ts'
import type { Context } from './context.ts'
import { dryRun } from './authorize.ts'

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
  const { atMs, token, accountId: named, ...question } = read.value
  if (named !== null && named !== accountId) return err(notFound('accountId', 'No account with this id'))
  const approach = { ...question, accountId, presented: token }
  // Only what the caller gave may override the look-up.
  const { country, ...rest } = approach
  const asked = country === undefined ? rest : { ...rest, country }
  const { decision } = await dryRun(ctx, asked, atMs ?? ctx.clock.now())
  const live = ctx.liveStreams(accountId, question.streamName) !== undefined
  return ok({
    allowed: decision.allowed,
    code: decision.allowed ? 'allowed' : decision.code,
    message: decision.allowed ? 'Allowed' : decision.message,
    live,
    trace: decision.trace,
  })
}
