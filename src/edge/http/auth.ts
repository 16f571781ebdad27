import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { authenticateSecret } from '../../commands/accounts/authenticate.ts'
import type { Actor, Context } from '../../commands/context.ts'
import { failure, type Failure } from '../../core/errors.ts'
import { lastsWhile } from './httpConnection.ts'
import { type RequestLimits, sayRetryAfter } from './limits.ts'
import type { PeerOf } from './peer.ts'
import { sendFailure } from './problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The holder of the API secret; set on every management route before its handler runs. */
    secret: { id: number; accountId: string } | null
  }
}

/** A hook that passes a request on, or answers it. */
export type AdmissionHook = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined>

/**
 * Admits only the requests that a hook passes on, before their bodies are read, so that strangers send none. It is asked again after a
 * body that did not come with its head: a client that holds it back may have lost its secret, its session or its role meanwhile.
 */
export function admitOnly(app: FastifyInstance, admit: AdmissionHook): void {
  const held = new WeakSet<FastifyRequest>()
  app.addHook('onRequest', async (request, reply) => {
    // What came in one packet is complete by then.
    setImmediate(() => {
      if (!isComplete(request.raw)) held.add(request)
    })
    return admit(request, reply)
  })
  app.addHook('preValidation', async (request, reply) => (held.has(request) ? admit(request, reply) : undefined))
}

/** One that comes over no network does not say it. */
const isComplete = ({ complete = true }: { readonly complete?: boolean }): boolean => complete

const HOW_TO = 'Send Authorization: Bearer <API secret>. Make one with: sluice secret create --name NAME'

/**
 * Admits only requests with a valid API secret (RFC 6750 section 2.1). Answers hold secrets, so caches never store them.
 */
export function requireSecret(ctx: Context, limits: RequestLimits): AdmissionHook {
  return async (request, reply) => {
    reply.header('Cache-Control', 'no-store')
    const presented = bearer(request.headers.authorization)
    if (presented === null) return refuse(reply, unauthorized('no API secret was sent.'))
    const found = await authenticateSecret(ctx, presented)
    if (!found) return refuseInvalid(reply, limits.failed(request))
    request.secret = found
    lastsWhile(reply.raw, async () => (await ctx.cache.secretByValue(presented))?.id === found.id)
    return undefined
  }
}

/** RFC 9110 section 15.5.2 asks for it with every 401. */
export const CHALLENGE = ['WWW-Authenticate', 'Bearer realm="sluice"'] as const

const unauthorized = (why: string): Failure => failure('unauthorized', `Unauthorized: ${why} ${HOW_TO}`)

export const INVALID_SECRET = unauthorized('this API secret is not valid.')

const refuse = (reply: FastifyReply, why: Failure): FastifyReply => sendFailure(reply.header(...CHALLENGE), why)

function refuseInvalid(reply: FastifyReply, waitMs: number): FastifyReply {
  if (waitMs === 0) return refuse(reply, INVALID_SECRET)
  sayRetryAfter(reply, waitMs)
  return sendFailure(reply, failure('rate_limited', 'Too many requests with a wrong API secret came from this address'))
}

/** The credentials of a Bearer header, or null. The scheme's name is case-insensitive (RFC 9110 section 11.1). */
export function bearer(header: string | undefined): string | null {
  if (header === undefined || header.length > 8300) return null
  if (header.startsWith('Bearer ')) return header.slice(7).trim() || null
  return /^bearer +(\S+) *$/i.exec(header)?.[1] ?? null
}

/** The account of the API secret, the credential or the user of the dashboard. Throws when the route forgot to require one. */
export const accountOf = (request: FastifyRequest): string => holderOf(request).accountId

/** Whether the answer may hold secrets. A viewer of the dashboard gets none. */
export const seesSecrets = ({ secret, user }: FastifyRequest): boolean => secret !== null || user?.role === 'admin'

interface Holder {
  readonly kind: 'secret' | 'credential' | 'user'
  readonly id: number
  readonly accountId: string
}

function holderOf({ secret, credential, user, url }: FastifyRequest): Holder {
  if (secret) return { kind: 'secret', id: secret.id, accountId: secret.accountId }
  if (credential) return { kind: 'credential', id: credential.id, accountId: credential.accountId }
  if (user) return { kind: 'user', id: user.id, accountId: user.accountId }
  throw new Error(`${url} requires no secret, no credential and no user`)
}

/** The actor for the audit row, with its address. */
export function actorOf(request: FastifyRequest, peerOf: PeerOf): Actor {
  return {
    ...holderOf(request),
    address: peerOf(request.socket.remoteAddress, request.headers).text,
    requestId: request.id,
  }
}
