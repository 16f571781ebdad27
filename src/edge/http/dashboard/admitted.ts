import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Result } from '../../../base/result.ts'
import type { FreshSession } from '../../../commands/users/sessions.ts'
import { failure, type Failure } from '../../../core/errors.ts'
import { sayRetryAfter } from '../limits.ts'
import { sendFailure } from '../problem.ts'
import { setSession } from './cookie.ts'
import { type DashboardApi, refuse } from './parts.ts'
import { sendInfo } from './sessionInfo.ts'

/** Runs an attempt that gives the browser a session, within the limits. */
export async function admitted(
  api: DashboardApi,
  request: FastifyRequest,
  reply: FastifyReply,
  who: string | null,
  work: () => Promise<Result<FreshSession, Failure>>,
): Promise<FastifyReply> {
  const done = await api.signIns.attempt(request, who, work)
  if (typeof done === 'number') return refuseMore(reply, done)
  if (!done.ok) return refuse(reply, done.error)
  setSession(request, reply, done.value.value)
  return sendInfo(api, reply, done.value.signedIn)
}

function refuseMore(reply: FastifyReply, waitMs: number): FastifyReply {
  sayRetryAfter(reply, waitMs)
  const why = 'Too many attempts to sign in have failed; try again after the seconds of Retry-After'
  return sendFailure(reply, failure('rate_limited', why))
}
