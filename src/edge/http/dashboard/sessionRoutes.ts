import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { ok } from '../../../base/result.ts'
import { changePassword } from '../../../commands/users/password.ts'
import {
  endOwnSession,
  listOwnSessions,
  noOwnSession,
  signOut,
  signOutEverywhere,
} from '../../../commands/users/sessions.ts'
import { redeemSetupCode } from '../../../commands/users/setup.ts'
import { signIn } from '../../../commands/users/signIn.ts'
import { invalid } from '../../../core/errors.ts'
import {
  ChangePassword,
  readChangePassword,
  readSetup,
  readSignIn,
  Setup,
  SignIn,
} from '../../../core/users/requests.ts'
import { actorOf } from '../auth.ts'
import { withPathId } from '../pathId.ts'
import { sendResult } from '../problem.ts'
import { admitted, knownBrowser } from './admitted.ts'
import { userOf } from './auth.ts'
import { clearSession } from './cookie.ts'
import { operation } from './openapi.ts'
import { type DashboardApi, refuse, visitorOf } from './parts.ts'
import { OwnSession, SessionInfo, sendInfo, toOwnSession } from './sessionInfo.ts'

const TAG = 'session'
const PATH = '/session'

/** The ways to a session, without one. They stand directly below the API, where the browser keeps the cookie. */
export function signInRoutes(app: FastifyInstance, api: DashboardApi): void {
  app.post(
    PATH,
    operation('signIn', TAG, 'Sign in with a password', { body: SignIn, data: SessionInfo, isOpen: true }),
    async (request, reply) => {
      const read = readSignIn(request.body)
      if (!read.ok) return refuse(reply, invalid(read.error))
      const input = read.value
      const browser = knownBrowser(api, request, input.email)
      const attempt = { kind: 'password', email: input.email, browser } as const
      return admitted(api, request, reply, attempt, () => signIn(api.ctx, input, visitorOf(api, request)))
    },
  )
  const summary = 'Make the user that a one-time link allows, and sign in'
  app.post(
    '/setup',
    operation('setUp', TAG, summary, { body: Setup, data: SessionInfo, isOpen: true }),
    async (request, reply) => {
      const read = readSetup(request.body)
      if (!read.ok) return refuse(reply, invalid(read.error))
      const input = read.value
      const redeem = () => redeemSetupCode(api.ctx, input, visitorOf(api, request))
      return admitted(api, request, reply, { kind: 'link' }, redeem)
    },
  )
}

/** The session of this browser, and the others of its user. */
export function ownSessionRoutes(app: FastifyInstance, api: DashboardApi): void {
  const { ctx, peerOf } = api
  app.get(PATH, operation('readSession', TAG, 'Who is signed in', { data: SessionInfo }), (request, reply) =>
    sendInfo(api, reply, userOf(request)),
  )
  app.delete(PATH, operation('signOut', TAG, 'Sign out', { data: Type.Boolean() }), async (request, reply) => {
    await signOut(ctx, actorOf(request, peerOf), userOf(request))
    clearSession(request, reply)
    return sendResult(reply, ok(true))
  })
  app.put(
    '/password',
    operation('changePassword', TAG, 'Change your password; your other sessions end', {
      body: ChangePassword,
      data: SessionInfo,
    }),
    async (request, reply) => {
      const read = readChangePassword(request.body)
      if (!read.ok) return refuse(reply, invalid(read.error))
      const [user, input] = [userOf(request), read.value]
      const attempt = { kind: 'confirmation', userId: user.id } as const
      return admitted(api, request, reply, attempt, () => changePassword(ctx, user, input, visitorOf(api, request)))
    },
  )
  allOwnSessions(app, api)
}

function allOwnSessions(app: FastifyInstance, { ctx, peerOf }: DashboardApi): void {
  app.get(
    `${PATH}/all`,
    operation('listSessions', TAG, 'Your sessions, newest first', { data: Type.Array(OwnSession) }),
    async (request, reply) => {
      const user = userOf(request)
      const sessions = await listOwnSessions(ctx, user)
      return sendResult(reply, ok(sessions.map((session) => toOwnSession(session, user.session.id))))
    },
  )
  app.delete(
    `${PATH}/all`,
    operation('signOutEverywhere', TAG, 'Sign out everywhere; answers how many sessions ended', {
      data: Type.Integer(),
    }),
    async (request, reply) =>
      sendResult(reply, ok(await signOutEverywhere(ctx, actorOf(request, peerOf), userOf(request)))),
  )
  app.delete<{ Params: { sessionId: string } }>(
    `${PATH}/:sessionId`,
    operation('endSession', TAG, 'End one of your sessions', { data: Type.Boolean() }),
    (request, reply) =>
      withPathId(reply, request.params.sessionId, noOwnSession, (id) =>
        endOwnSession(ctx, actorOf(request, peerOf), userOf(request), id),
      ),
  )
}
