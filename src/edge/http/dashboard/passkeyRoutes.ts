import { Type } from 'typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ok } from '../../../base/result.ts'
import {
  addPasskey,
  deletePasskey,
  listPasskeys,
  passkeyOptions,
  signInOptions,
  signInWithPasskey,
  type Site,
} from '../../../commands/users/passkeys.ts'
import { failure, invalid } from '../../../core/errors.ts'
import { AddPasskey, PasskeySignIn, readAddPasskey, readPasskeySignIn } from '../../../core/users/passkeyRequests.ts'
import { actorOf } from '../auth.ts'
import { sendFailure, sendResult } from '../problem.ts'
import { admitted } from './admitted.ts'
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
    {
      ...operation('signInWithPasskey', TAG, 'Sign in with a passkey', {
        body: PasskeySignIn,
        data: SessionInfo,
        isOpen: true,
      }),
      bodyLimit: BODY_MAX_BYTES,
    },
    (request, reply) =>
      atSite(api, request, reply, async (site) => {
        const read = readPasskeySignIn(request.body)
        if (!read.ok) return refuse(reply, invalid(read.error))
        const { response } = read.value
        return admitted(api, request, reply, null, () =>
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
    operation('startPasskey', TAG, 'Begin to add a passkey', { data: Options }),
    (request, reply) =>
      atSite(api, request, reply, async (site) =>
        sendResult(reply, ok(await passkeyOptions(ctx, userOf(request), site))),
      ),
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
  createdOn: new Date(createdAtMs).toISOString(),
  ...(usedAtMs === null ? {} : { lastUsedOn: new Date(usedAtMs).toISOString() }),
})
