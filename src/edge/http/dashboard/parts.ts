import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import type { Visitor } from '../../../commands/users/sessions.ts'
import type { Failure } from '../../../core/errors.ts'
import type { PeerOf } from '../peer.ts'
import { sendFailure } from '../problem.ts'
import { sessionValue } from './cookie.ts'
import type { SignInLimits } from './limits.ts'

/** What the dashboard's own routes need. */
export interface DashboardApi {
  readonly ctx: Context
  readonly peerOf: PeerOf
  readonly version: string
  readonly signIns: SignInLimits
}

export const visitorOf = ({ peerOf }: DashboardApi, request: FastifyRequest): Visitor => ({
  address: peerOf(request.socket.remoteAddress, request.headers).text,
  requestId: request.id,
  userAgent: request.headers['user-agent'] ?? '',
  value: sessionValue(request),
})

/** RFC 9110 section 15.5.2 asks for a challenge with every 401. Browsers ask for no password because of this one. */
export function refuse(reply: FastifyReply, refusal: Failure): FastifyReply {
  if (refusal.code === 'unauthorized') reply.header('WWW-Authenticate', 'Session realm="sluice"')
  return sendFailure(reply, refusal)
}
