import type { FastifyReply, FastifyRequest } from 'fastify'
import { authenticateCredential } from '../../../commands/accounts/authenticate.ts'
import type { Actor, Context } from '../../../commands/context.ts'
import type { ChannelReader } from '../../../commands/channels/channelCommand.ts'
import { refusal } from '../../../core/channels/errors.ts'
import { accountOf, actorOf, type AdmissionHook } from '../auth.ts'
import { lastsWhile } from '../httpConnection.ts'
import { type RequestLimits, sayRetryAfter } from '../limits.ts'
import type { PeerOf } from '../peer.ts'
import { sendChannelFailure } from './problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The holder of the Basic credential; set on every route of the channels interface before its handler runs. */
    credential: { id: number; accountId: string; scope: 'read' | 'write' } | null
  }
}

const HOW_TO = 'Send Authorization: Basic base64(key:secret). Make one with: sluice credential create --name NAME'

/**
 * Admits only requests with a valid Basic credential (RFC 7617). Scope `read` may only read. Answers hold secrets, so caches
 * never store them.
 */
export function requireCredential(ctx: Context, limits: RequestLimits): AdmissionHook {
  return async (request, reply) => {
    reply.header('Cache-Control', 'no-store')
    const presented = basic(request.headers.authorization)
    if (presented === null) return refuse(reply, 'No Basic credential was sent.')
    const found = await authenticateCredential(ctx, presented.key, presented.secret)
    if (!found) {
      const wait = limits.failed(request)
      if (wait > 0) return refuseMore(reply, wait, 'Too many requests with a wrong credential came from this address')
      return refuse(reply, 'This credential is not valid.')
    }
    // Asked again after the body, it is the same request.
    const pause = request.credential === null ? limits.request(found.id) : 0
    request.credential = found
    lastsWhile(
      reply.raw,
      async () => (await authenticateCredential(ctx, presented.key, presented.secret))?.id === found.id,
    )
    if (pause > 0) return refuseMore(reply, pause, 'This credential has made too many requests')
    if (found.scope === 'write' || request.method === 'GET' || request.method === 'HEAD') return undefined
    return sendChannelFailure(reply, refusal('insufficient_scope', 'This credential may only read (its scope is read)'))
  }
}

function refuse(reply: FastifyReply, why: string): FastifyReply {
  reply.header('WWW-Authenticate', 'Basic realm="sluice", charset="UTF-8"')
  return sendChannelFailure(reply, refusal('unauthorized', `${why} ${HOW_TO}`))
}

function refuseMore(reply: FastifyReply, waitMs: number, why: string): FastifyReply {
  sayRetryAfter(reply, waitMs)
  return sendChannelFailure(reply, refusal('rate_limited', `${why}; try again after the seconds of Retry-After`))
}

/** Key and secret of a Basic header, or null. The scheme's name is case-insensitive (RFC 9110 section 11.1). */
function basic(header: string | undefined): { key: string; secret: string } | null {
  const encoded = /^basic +([A-Za-z0-9+/]{1,1024}={0,2}) *$/i.exec(header ?? '')?.[1]
  const text = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon < 1 ? null : { key: text.slice(0, colon), secret: text.slice(colon + 1) }
}

/** The account that reads, and whether it may see secrets. Throws when the route forgot to require a credential. */
export const readerOf = (request: FastifyRequest): ChannelReader => ({
  accountId: accountOf(request),
  seesSecrets: request.credential?.scope === 'write' || request.user?.role === 'admin',
})

/** Takes from a request the actor for the audit row, with its address. */
export type ActorOf = (request: FastifyRequest) => Actor

export const actorWith =
  (peerOf: PeerOf): ActorOf =>
  (request) =>
    actorOf(request, peerOf)
