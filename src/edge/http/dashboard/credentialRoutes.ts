import { isoTime } from '../../../base/time.ts'
import { type Static, Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { ok } from '../../../base/result.ts'
import {
  createCredential,
  deleteCredential,
  type FreshCredential,
  listCredentials,
  noCredential,
} from '../../../commands/accounts/credentials.ts'
import { invalid } from '../../../core/errors.ts'
import { CreateCredential, readCreateCredential } from '../../../core/users/secretRequests.ts'
import { accountOf, actorOf } from '../auth.ts'
import { withPathId } from '../pathId.ts'
import { sendFailure, sendResult } from '../problem.ts'
import { operation } from './openapi.ts'
import type { DashboardApi } from './parts.ts'

const TAG = 'credentials'
const PATH = '/credentials'

/** The Basic credentials of the channels interface. A secret is shown once, to the admin who makes it. */
export function credentialRoutes(app: FastifyInstance, { ctx, peerOf }: DashboardApi): void {
  app.get(
    PATH,
    operation('listCredentials', TAG, 'List the credentials of /v2, without their secrets', {
      data: Type.Array(CredentialRecord),
    }),
    async (request, reply) => sendResult(reply, ok((await listCredentials(ctx, accountOf(request))).map(toRecord))),
  )
  app.post(
    PATH,
    operation('createCredential', TAG, 'Create a credential of /v2; only this answer has its secret', {
      body: CreateCredential,
      data: FreshRecord,
    }),
    async (request, reply) => {
      const read = readCreateCredential(request.body)
      if (!read.ok) return sendFailure(reply, invalid(read.error))
      const { name, scope } = read.value
      const made = await createCredential(ctx, actorOf(request, peerOf), name, scope)
      return sendResult(reply, made.ok ? ok(toFresh(made.value)) : made)
    },
  )
  app.delete<{ Params: { credentialId: string } }>(
    `${PATH}/:credentialId`,
    operation('deleteCredential', TAG, 'Delete a credential; it is refused at once', { data: Type.Boolean() }),
    (request, reply) =>
      withPathId(reply, request.params.credentialId, noCredential, (id) =>
        deleteCredential(ctx, actorOf(request, peerOf), id),
      ),
  )
}

const record = {
  id: Type.Integer(),
  name: Type.String(),
  key: Type.String({ description: 'The user name of Basic authentication. It is not a secret.' }),
  scope: Type.Enum(['read', 'write']),
  createdOn: Type.String({ format: 'date-time' }),
  lastUsedOn: Type.Optional(
    Type.String({ format: 'date-time', description: 'With a delay of about a minute; absent: no use is on record.' }),
  ),
}
const CredentialRecord = Type.Object(record)
const FreshRecord = Type.Object({ ...record, secret: Type.String({ format: 'password' }) })

const toRecord = ({ id, name, key, scope, createdAtMs, usedAtMs }: FreshCredential['credential']) => ({
  id,
  name,
  key,
  scope,
  createdOn: isoTime(createdAtMs),
  ...(usedAtMs === null ? {} : { lastUsedOn: isoTime(usedAtMs) }),
})

const toFresh = ({ credential, value }: FreshCredential): Static<typeof FreshRecord> => ({
  ...toRecord(credential),
  secret: value.slice(credential.key.length + 1),
})
