import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Result } from '../../../base/result.ts'
import { isBrowserOf, signBrowser } from '../../../commands/users/knownBrowser.ts'
import type { FreshSession } from '../../../commands/users/sessions.ts'
import { failure, type Failure } from '../../../core/errors.ts'
import { sayRetryAfter } from '../limits.ts'
import { sendFailure } from '../problem.ts'
import { browserSign, setBrowserSign, setSession } from './cookie.ts'
import type { Attempt } from './limits.ts'
import { type DashboardApi, refuse } from './parts.ts'
import { sendInfo } from './sessionInfo.ts'

/** Runs an attempt that gives the browser a session, within the limits. */
export async function admitted(
  api: DashboardApi,
  request: FastifyRequest,
  reply: FastifyReply,
  attempt: Attempt,
  work: () => Promise<Result<FreshSession, Failure>>,
): Promise<FastifyReply> {
  const done = await api.signIns.attempt(request, attempt, work)
  if (typeof done === 'number') return refuseMore(reply, done)
  if (!done.ok) return refuse(reply, done.error)
  const { signedIn, value } = done.value
  setSession(request, reply, value)
  if (knownBrowser(api, request, signedIn.email) === null) {
    setBrowserSign(request, reply, signBrowser(api.ctx, signedIn.email))
  }
  return sendInfo(api, reply, signedIn)
}

/** The sign of the browser of a request, if this user signed in there before; else null. */
export function knownBrowser({ ctx }: DashboardApi, request: FastifyRequest, email: string): string | null {
  const sign = browserSign(request)
  return sign !== null && isBrowserOf(ctx, sign, email) ? sign : null
}

/** Asks to come later. */
export function refuseMore(reply: FastifyReply, waitMs: number): FastifyReply {
  sayRetryAfter(reply, waitMs)
  const why = 'Too many attempts to sign in have failed; try again after the seconds of Retry-After'
  return sendFailure(reply, failure('rate_limited', why))
}
