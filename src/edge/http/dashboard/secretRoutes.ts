import { type Static, Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { ok, type Result } from '../../../base/result.ts'
import { isoTime } from '../../../base/time.ts'
import {
  createSecret,
  deleteSecret,
  type FreshSecret,
  listSecrets,
  noSecret,
  refreshSecret,
} from '../../../commands/accounts/secrets.ts'
import { type Failure, invalid } from '../../../core/errors.ts'
import { CreateSecret, readCreateSecret } from '../../../core/users/secretRequests.ts'
import { accountOf, actorOf } from '../auth.ts'
import { dateTime } from '../fieldSchemas.ts'
import { withPathId } from '../pathId.ts'
import { sendFailure, sendResult } from '../problem.ts'
import { operation } from './openapi.ts'
import type { DashboardApi } from './parts.ts'

const TAG = 'secrets'
const PATH = '/secrets'

type ById = { Params: { secretId: string } }

/** The API secrets of the account. A value is shown once, to the admin who makes it. */
export function secretRoutes(app: FastifyInstance, { ctx, peerOf }: DashboardApi): void {
  app.get(
    PATH,
    operation('listSecrets', TAG, 'List the API secrets, without their values', { data: Type.Array(SecretRecord) }),
    async (request, reply) => sendResult(reply, ok((await listSecrets(ctx, accountOf(request))).map(toRecord))),
  )
  app.post(
    PATH,
    operation('createSecret', TAG, 'Create an API secret; only this answer has its value', {
      body: CreateSecret,
      data: FreshRecord,
    }),
    async (request, reply) => {
      const read = readCreateSecret(request.body)
      if (!read.ok) return sendFailure(reply, invalid(read.error))
      return sendResult(reply, freshOf(await createSecret(ctx, actorOf(request, peerOf), read.value.name)))
    },
  )
  app.post<ById>(
    `${PATH}/:secretId/refresh`,
    operation('refreshSecret', TAG, 'Give an API secret another value; the old one is refused at once', {
      data: FreshRecord,
    }),
    (request, reply) =>
      withPathId(reply, request.params.secretId, noSecret, async (id) =>
        freshOf(await refreshSecret(ctx, actorOf(request, peerOf), id)),
      ),
  )
  app.delete<ById>(
    `${PATH}/:secretId`,
    operation('deleteSecret', TAG, 'Delete an API secret; it is refused at once', { data: Type.Boolean() }),
    (request, reply) =>
      withPathId(reply, request.params.secretId, noSecret, (id) => deleteSecret(ctx, actorOf(request, peerOf), id)),
  )
}

const record = {
  id: Type.Integer(),
  name: Type.String(),
  hint: Type.String({ description: 'The last four characters of the value.' }),
  createdOn: dateTime(),
  refreshedOn: Type.Optional(dateTime()),
  lastUsedOn: Type.Optional(
    Type.String({ format: 'date-time', description: 'With a delay of about a minute; absent: no use is on record.' }),
  ),
}
const SecretRecord = Type.Object(record)
const FreshRecord = Type.Object({ ...record, value: Type.String({ format: 'password' }) })

const toRecord = ({ id, name, hint, createdAtMs, refreshedAtMs, usedAtMs }: FreshSecret['secret']) => ({
  id,
  name,
  hint,
  createdOn: isoTime(createdAtMs),
  ...(refreshedAtMs === null ? {} : { refreshedOn: isoTime(refreshedAtMs) }),
  ...(usedAtMs === null ? {} : { lastUsedOn: isoTime(usedAtMs) }),
})

const freshOf = (made: Result<FreshSecret, Failure>): Result<Static<typeof FreshRecord>, Failure> =>
  made.ok ? ok({ ...toRecord(made.value.secret), value: made.value.value }) : made
