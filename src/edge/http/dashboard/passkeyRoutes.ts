import { isoTime } from '../../../base/time.ts'
import { Type } from 'typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ok, type Result } from '../../../base/result.ts'
import {
  addPasskey,
  confirmByPasskey,
  deletePasskey,
  listPasskeys,
  passkeyOptions,
  signInOptions,
  signInWithPasskey,
} from '../../../commands/users/passkeys.ts'
import { confirmPassword } from '../../../commands/users/password.ts'
import type { Site } from '../../../commands/users/webAuthn.ts'
import { type Failure, failure, invalid } from '../../../core/errors.ts'
import {
  AddPasskey,
  type Confirmation,
  PasskeySignIn,
  readAddPasskey,
  readPasskeySignIn,
  readStartPasskey,
  StartPasskey,
} from '../../../core/users/passkeyRequests.ts'
import { actorOf } from '../auth.ts'
import { sendFailure, sendResult } from '../problem.ts'
import { admitted, refuseMore } from './admitted.ts'
import { userOf } from './auth.ts'
import { operation } from './openapi.ts'
import { type DashboardApi, refuse, visitorOf } from './parts.ts'
import { SessionInfo } from './sessionInfo.ts'
import { siteOf } from './site.ts'

const TAG = 'passkeys'
const PATH = '/passkeys'

/** An answer of a browser has one to four kilobytes. */
const BODY_MAX_BYTES = 32_768

const Options = Type.Unsafe<object>({
  type: 'object',
  additionalProperties: true,
  description: 'For the browser, as JSON: `PublicKeyCredential.parse…OptionsFromJSON` reads it.',
})

/** Signing in with a passkey. The one that sets the cookie stands directly below the API. */
export function passkeySignInRoutes(app: FastifyInstance, api: DashboardApi): void {
  app.post(
    '/passkey_session/options',
    operation('startPasskeySignIn', TAG, 'Begin to sign in with a passkey', { data: Options, isOpen: true }),
    (request, reply) =>
      atSite(api, request, reply, async (site) => sendResult(reply, ok(await signInOptions(api.ctx, site)))),
  )
  app.post(
    '/passkey_session',
    operation('signInWithPasskey', TAG, 'Sign in with a passkey', {
      body: PasskeySignIn,
      data: SessionInfo,
      isOpen: true,
    }),
    (request, reply) =>
      atSite(api, request, reply, async (site) => {
        const read = readPasskeySignIn(request.body)
        if (!read.ok) return refuse(reply, invalid(read.error))
        const { response } = read.value
        return admitted(api, request, reply, { kind: 'passkey' }, () =>
          signInWithPasskey(api.ctx, { response, site }, visitorOf(api, request)),
        )
      }),
  )
}

/** The user's own passkeys. */
export function passkeyRoutes(app: FastifyInstance, api: DashboardApi): void {
  const { ctx, peerOf } = api
  app.get(
    PATH,
    operation('listPasskeys', TAG, 'Your passkeys, oldest first', { data: Type.Array(PasskeyRecord) }),
    async (request, reply) => sendResult(reply, ok((await listPasskeys(ctx, userOf(request))).map(toRecord))),
  )
  app.post(
    `${PATH}/options`,
    {
      ...operation('startPasskey', TAG, 'Begin to add a passkey, with your password or one of your passkeys', {
        body: StartPasskey,
        data: Options,
      }),
      bodyLimit: BODY_MAX_BYTES,
    },
    (request, reply) =>
      atSite(api, request, reply, async (site) => {
        const read = readStartPasskey(request.body)
        if (!read.ok) return sendFailure(reply, invalid(read.error))
        const confirmed = await confirm(api, request, read.value, site)
        if (typeof confirmed === 'number') return refuseMore(reply, confirmed)
        return sendResult(reply, confirmed.ok ? ok(await passkeyOptions(ctx, userOf(request), site)) : confirmed)
      }),
  )
  app.post(
    PATH,
    {
      ...operation('addPasskey', TAG, 'Add the passkey that the browser has made', {
        body: AddPasskey,
        data: PasskeyRecord,
      }),
      bodyLimit: BODY_MAX_BYTES,
    },
    (request, reply) =>
      atSite(api, request, reply, async (site) => {
        const read = readAddPasskey(request.body)
        if (!read.ok) return sendFailure(reply, invalid(read.error))
        const made = await addPasskey(ctx, actorOf(request, peerOf), userOf(request), { ...read.value, site })
        return sendResult(reply, made.ok ? ok(toRecord(made.value)) : made)
      }),
  )
  app.delete<{ Params: { passkeyId: string } }>(
    `${PATH}/:passkeyId`,
    operation('deletePasskey', TAG, 'Delete one of your passkeys', { data: Type.Boolean() }),
    async (request, reply) =>
      sendResult(reply, await deletePasskey(ctx, actorOf(request, peerOf), userOf(request), request.params.passkeyId)),
  )
}

/** A stolen session alone adds no passkey, which would outlive it. Milliseconds to wait after too many wrong ones. */
function confirm(
  { ctx, signIns }: DashboardApi,
  request: FastifyRequest,
  by: Confirmation,
  site: Site,
): Promise<Result<true, Failure> | number> {
  const user = userOf(request)
  if (!('password' in by)) {
    return signIns.attempt(request, { kind: 'passkey' }, () => confirmByPasskey(ctx, user, { ...by, site }))
  }
  const attempt = { kind: 'confirmation', userId: user.id } as const
  return signIns.attempt(request, attempt, () => confirmPassword(ctx, user, by.password))
}

const NO_SITE = failure(
  'bad_request',
  'Browsers keep passkeys for names only: open the dashboard at a domain over https, or at localhost',
)

async function atSite(
  api: DashboardApi,
  request: FastifyRequest,
  reply: FastifyReply,
  work: (site: Site) => Promise<FastifyReply>,
): Promise<FastifyReply> {
  const site = siteOf(api, request)
  return site === null ? sendFailure(reply, NO_SITE) : work(site)
}

const PasskeyRecord = Type.Object({
  id: Type.String(),
  name: Type.String(),
  host: Type.String({ description: 'Where it signs you in.' }),
  createdOn: Type.String({ format: 'date-time' }),
  lastUsedOn: Type.Optional(Type.String({ format: 'date-time' })),
})

interface Shown {
  readonly id: string
  readonly name: string
  readonly rpId: string
  readonly createdAtMs: number
  readonly usedAtMs: number | null
}

const toRecord = ({ id, name, rpId, createdAtMs, usedAtMs }: Shown) => ({
  id,
  name,
  host: rpId,
  createdOn: isoTime(createdAtMs),
  ...(usedAtMs === null ? {} : { lastUsedOn: isoTime(usedAtMs) }),
})
