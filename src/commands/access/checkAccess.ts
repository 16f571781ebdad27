import { readCheck } from '../../core/access/checkBody.ts'
import type { Decision, RefusalCode, TraceStep } from '../../core/access/types.ts'
import { invalid, notFound, type Failure } from '../../core/errors.ts'
import { err, ok, type Result } from '../../base/result.ts'
import type { Context } from '../context.ts'
import { type AccessAttempt, type Evaluation, dryRun } from './authorize.ts'
import { onAir } from '../sessions/revoke.ts'

export interface CheckAnswer {
  allowed: boolean
  code: RefusalCode | 'allowed'
  message: string
  /** Is the stream being published now? It does not change `allowed`. */
  live: boolean
  trace: readonly TraceStep[]
}

/** Answers what a given request would get, with every step that led there. Binds, counts and opens nothing. */
export function checkAccess(
  ctx: Context,
  accountId: string,
  body: unknown,
): Result<CheckAnswer, Failure> | Promise<Result<CheckAnswer, Failure>> {
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
  const evaluation = dryRun(ctx, attempt, question.atMs ?? ctx.clock.now())
  const finish = ({ decision }: Evaluation): Result<CheckAnswer, Failure> | Promise<Result<CheckAnswer, Failure>> => {
    const live = onAir(ctx, accountId, question.streamName)
    if (live instanceof Promise) return live.then((found) => ok(answerOf(decision, found !== undefined)))
    return ok(answerOf(decision, live !== undefined))
  }
  return evaluation instanceof Promise ? evaluation.then(finish) : finish(evaluation)
}

function answerOf(decision: Decision, live: boolean): CheckAnswer {
  const { allowed, trace } = decision
  if (allowed) return { allowed, code: 'allowed', message: 'Allowed', live, trace }
  return { allowed, code: decision.code, message: decision.message, live, trace }
}
