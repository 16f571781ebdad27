import { isoTime } from '../../../base/time.ts'
import { type Static, Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { ok, type Result } from '../../../base/result.ts'
import { changeRole, createUser, deleteUser, listUsers, noUser } from '../../../commands/users/users.ts'
import { failure, type Failure, invalid } from '../../../core/errors.ts'
import { CreateUser, readCreateUser, readUpdateUser, UpdateUser } from '../../../core/users/requests.ts'
import { ROLES, type UserRole } from '../../../core/users/types.ts'
import { accountOf, actorOf } from '../auth.ts'
import { sayRetryAfter } from '../limits.ts'
import { withPathId } from '../pathId.ts'
import { sendFailure, sendResult } from '../problem.ts'
import { userOf } from './auth.ts'
import { operation } from './openapi.ts'
import type { DashboardApi } from './parts.ts'

const TAG = 'users'
const PATH = '/users'

type ById = { Params: { userId: string } }

/** The users of the account. */
export function userRoutes(app: FastifyInstance, { ctx, peerOf, signIns }: DashboardApi): void {
  app.get(
    PATH,
    operation('listUsers', TAG, 'List the users', { data: Type.Array(UserRecord) }),
    async (request, reply) => sendResult(reply, ok((await listUsers(ctx, accountOf(request))).map(toRecord))),
  )
  app.post(
    PATH,
    operation('createUser', TAG, 'Create a user', { body: CreateUser, data: UserRecord }),
    async (request, reply) => {
      const read = readCreateUser(request.body)
      if (!read.ok) return sendFailure(reply, invalid(read.error))
      const attempt = { kind: 'creation', userId: userOf(request).id } as const
      const create = () => createUser(ctx, actorOf(request, peerOf), read.value)
      const made = await signIns.attempt(request, attempt, create)
      if (typeof made !== 'number') return sendResult(reply, recordOf(made))
      sayRetryAfter(reply, made)
      return sendFailure(reply, failure('rate_limited', 'Too many users are created at a time; create some later'))
    },
  )
  app.patch<ById>(
    `${PATH}/:userId`,
    operation('updateUser', TAG, 'Change the role of a user; it counts at once', {
      body: UpdateUser,
      data: UserRecord,
    }),
    async (request, reply) => {
      const read = readUpdateUser(request.body)
      if (!read.ok) return sendFailure(reply, invalid(read.error))
      const { role } = read.value
      return withPathId(reply, request.params.userId, noUser, async (id) =>
        recordOf(await changeRole(ctx, actorOf(request, peerOf), id, role)),
      )
    },
  )
  app.delete<ById>(
    `${PATH}/:userId`,
    operation('deleteUser', TAG, 'Delete a user and end all of their sessions', { data: Type.Boolean() }),
    (request, reply) =>
      withPathId(reply, request.params.userId, noUser, (id) => deleteUser(ctx, actorOf(request, peerOf), id)),
  )
}

const UserRecord = Type.Object({
  id: Type.Integer(),
  email: Type.String(),
  role: Type.Enum([...ROLES]),
  createdOn: Type.String({ format: 'date-time' }),
})

interface Shown {
  readonly id: number
  readonly email: string
  readonly role: UserRole
  readonly createdAtMs: number
}

const toRecord = ({ id, email, role, createdAtMs }: Shown): Static<typeof UserRecord> => ({
  id,
  email,
  role,
  createdOn: isoTime(createdAtMs),
})

const recordOf = (result: Result<Shown, Failure>): Result<Static<typeof UserRecord>, Failure> =>
  result.ok ? ok(toRecord(result.value)) : result
