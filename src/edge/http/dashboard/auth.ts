import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../../commands/context.ts'
import { findSignedIn, isSignedIn, type SignedIn } from '../../../commands/users/sessions.ts'
import { failure, type Failure } from '../../../core/errors.ts'
import type { AdmissionHook } from '../auth.ts'
import { lastsWhile } from '../httpConnection.ts'
import { sessionValue } from './cookie.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The user of the dashboard; set on every route of the dashboard that needs a session, before its handler runs. */
    user: SignedIn | null
  }
}

/** Sends a refusal of the dashboard in the envelope of the interface that the path belongs to. */
export type Refuse = (reply: FastifyReply, refusal: Failure) => FastifyReply

const reads = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD'

/** What a browser may say of the page that sent the request. `none`: the user typed the address. */
const OWN_PAGES: ReadonlySet<unknown> = new Set(['same-origin', 'none'])

/**
 * Refuses requests that another site's page caused. A change needs a header that a page can send to its own origin only,
 * since no answer here allows it to others (CORS). Answers here are never stored by caches.
 */
export function requireOwnPage(refuse: Refuse): AdmissionHook {
  return async (request, reply) => {
    reply.headers({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' })
    const site = request.headers['sec-fetch-site']
    const isOwn = site === undefined || site === 'same-origin' || (reads(request) && OWN_PAGES.has(site))
    if (!isOwn) return refuse(reply, failure('forbidden', 'Forbidden: a page of another site sent this request'))
    if (reads(request) || request.headers['x-sluice-dashboard'] === '1') return undefined
    return refuse(reply, failure('forbidden', 'Forbidden: send the header X-Sluice-Dashboard: 1 with every change'))
  }
}

/** What a viewer may do besides reading, by method and path: ask, and decide about the own sessions, password and passkeys. */
const VIEWER_MAY: ReadonlySet<string> = new Set([
  'POST /dashboard/api/access/check',
  'POST /dashboard/api/preview',
  'DELETE /dashboard/api/session',
  'DELETE /dashboard/api/session/all',
  'DELETE /dashboard/api/session/:sessionId',
  'PUT /dashboard/api/password',
  'POST /dashboard/api/passkeys',
  'POST /dashboard/api/passkeys/options',
  'DELETE /dashboard/api/passkeys/:passkeyId',
])

const mayView = (request: FastifyRequest): boolean =>
  reads(request) || VIEWER_MAY.has(`${request.method} ${request.routeOptions.url}`)

const WHY = {
  unknown: 'Your session has ended',
  unused: 'Your session ended because it was not used for 12 hours',
  expired: 'Your session ended because it is 30 days old',
} as const

/** Admits only signed-in users; a viewer may only read. */
export function requireSession(ctx: Context, refuse: Refuse): AdmissionHook {
  return async (request, reply) => {
    const value = sessionValue(request)
    if (value === null) return refuse(reply, await notSignedIn(ctx))
    const found = await findSignedIn(ctx, value)
    if (!found.ok) return refuse(reply, unauthorized(WHY[found.error]))
    const { role } = found.value
    request.user = found.value
    lastsWhile(reply.raw, () => isSignedIn(ctx, value, role))
    if (role === 'admin' || mayView(request)) return undefined
    return refuse(reply, failure('forbidden', 'Forbidden: your role is viewer, which may look and change nothing'))
  }
}

/** On a fresh installation signing in is not what to do next. */
async function notSignedIn(ctx: Context): Promise<Failure> {
  if (await ctx.store.read.users.exist()) return unauthorized('You are not signed in')
  const message = 'Unauthorized: there is no user yet. Open the link that Sluice printed, or run: sluice user link'
  return { code: 'unauthorized', data: { message, isFirstRun: true } }
}

const unauthorized = (why: string): Failure => failure('unauthorized', `Unauthorized: ${why}. Sign in.`)

/** The user of a request. Throws when the route forgot to require a session. */
export function userOf({ user, url }: FastifyRequest): SignedIn {
  if (!user) throw new Error(`${url} does not require a session`)
  return user
}
