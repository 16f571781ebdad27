import { Type } from 'typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ok } from '../../../base/result.ts'
import { listSecrets } from '../../../commands/accounts/secrets.ts'
import { type SignedIn, signOut } from '../../../commands/users/sessions.ts'
import { signIn } from '../../../commands/users/signIn.ts'
import { invalid } from '../../../core/errors.ts'
import { readSignIn, SignIn } from '../../../core/users/requests.ts'
import { ROLES } from '../../../core/users/types.ts'
import { actorOf } from '../auth.ts'
import { sendResult } from '../problem.ts'
import { userOf } from './auth.ts'
import { clearSession, setSession } from './cookie.ts'
import { operation } from './openapi.ts'
import { type DashboardApi, refuse, refuseMore, visitorOf } from './parts.ts'

const TAG = 'session'
const PATH = '/session'

/** Signing in, without a session. */
export function signInRoutes(app: FastifyInstance, api: DashboardApi): void {
  app.post(
    PATH,
    operation('signIn', TAG, 'Sign in with a password', { body: SignIn, data: SessionInfo, isOpen: true }),
    async (request, reply) => {
      const read = readSignIn(request.body)
      if (!read.ok) return refuse(reply, invalid(read.error))
      const input = read.value
      const done = await api.signIns.attempt(request, input.email, () =>
        signIn(api.ctx, input, visitorOf(api, request)),
      )
      if (typeof done === 'number') return refuseMore(reply, done)
      if (!done.ok) return refuse(reply, done.error)
      setSession(request, reply, done.value.value)
      return sendInfo(api, reply, done.value.signedIn)
    },
  )
}

/** The session of this browser. */
export function ownSessionRoutes(app: FastifyInstance, api: DashboardApi): void {
  app.get(PATH, operation('readSession', TAG, 'Who is signed in', { data: SessionInfo }), (request, reply) =>
    sendInfo(api, reply, userOf(request)),
  )
  app.delete(PATH, operation('signOut', TAG, 'Sign out', { data: Type.Boolean() }), async (request, reply) => {
    await signOut(api.ctx, actorOf(request, api.peerOf), userOf(request))
    return sendGone(request, reply)
  })
}

function sendGone(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  clearSession(request, reply)
  return sendResult(reply, ok(true))
}

async function sendInfo({ ctx, version }: DashboardApi, reply: FastifyReply, of: SignedIn): Promise<FastifyReply> {
  const { id, email, role, accountId, session } = of
  const account = await ctx.store.read.accounts.get(accountId)
  return sendResult(
    reply,
    ok({
      user: { id, email, role },
      account: { id: accountId, name: account?.name ?? '' },
      session: {
        id: session.id,
        createdOn: new Date(session.createdAtMs).toISOString(),
        expiresOn: new Date(session.expiresAtMs).toISOString(),
      },
      version,
      hasApiSecret: (await listSecrets(ctx, accountId)).length > 0,
    }),
  )
}

const SessionInfo = Type.Object({
  user: Type.Object({ id: Type.Integer(), email: Type.String(), role: Type.Enum([...ROLES]) }),
  account: Type.Object({ id: Type.String({ examples: ['a1b2c3'] }), name: Type.String() }),
  session: Type.Object({
    id: Type.Integer(),
    createdOn: Type.String({ format: 'date-time' }),
    expiresOn: Type.String({ format: 'date-time', description: 'It ends after 12 hours without use, too.' }),
  }),
  version: Type.String({ description: 'Of Sluice.' }),
  hasApiSecret: Type.Boolean({ description: 'Without one, the token API refuses every request.' }),
})
