import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import {
  createScheduler,
  deleteScheduler,
  listSchedulers,
  readScheduler,
  startScheduler,
  stopScheduler,
  updateScheduler,
} from '../../../commands/channels/schedules/schedulers.ts'
import { one, optional, page, pageQuery, word } from '../../../core/channels/fields.ts'
import { CreateScheduler, SchedulerRecord, UpdateScheduler } from '../../../core/channels/schedules/schema.ts'
import type { ChannelsApi } from './parts.ts'
import { ownerOf } from './auth.ts'
import { describe } from './openapi.ts'
import { sendData, sendDone, sendWhole } from './problem.ts'

type ById = { Params: { schedulerId: string } }
type Asked = { Querystring: Record<string, unknown> }

const TAG = 'schedulers'
const PATH = '/schedulers/:schedulerId'

/** Schedulers, and their manual start and stop. */
export function schedulerRoutes(app: FastifyInstance, api: ChannelsApi): void {
  const { ctx, actorOf } = api
  const answer = one(SchedulerRecord)
  list(app, api)
  app.post(
    '/schedulers',
    describe(TAG, 'Create a scheduler', { body: CreateScheduler, answer }),
    async (request, reply) => sendData(reply, await createScheduler(ctx, actorOf(request), request.body)),
  )
  app.get<ById>(PATH, describe(TAG, 'Read a scheduler', { answer }), async (request, reply) =>
    sendData(reply, await readScheduler(ctx, ownerOf(request), request.params.schedulerId)),
  )
  app.patch<ById>(PATH, describe(TAG, 'Edit a scheduler', { body: UpdateScheduler, answer }), async (request, reply) =>
    sendData(reply, await updateScheduler(ctx, actorOf(request), request.params.schedulerId, request.body)),
  )
  app.delete<ById>(PATH, describe(TAG, 'Delete a scheduler that is not active', {}), async (request, reply) =>
    sendDone(reply, await deleteScheduler(ctx, actorOf(request), request.params.schedulerId)),
  )
  app.post<ById>(`${PATH}/start`, describe(TAG, 'Begin the next occurrence now', {}), async (request, reply) =>
    sendDone(reply, await startScheduler(ctx, actorOf(request), request.params.schedulerId)),
  )
  app.post<ById>(`${PATH}/stop`, describe(TAG, 'End what is under way', {}), async (request, reply) =>
    sendDone(reply, await stopScheduler(ctx, actorOf(request), request.params.schedulerId)),
  )
}

function list(app: FastifyInstance, { ctx }: ChannelsApi): void {
  const querystring = Type.Object({
    ...pageQuery,
    status: optional(Type.String({ description: 'Only those in one of these, separated by commas.' })),
    sortBy: optional(word(['name', 'status', 'startDate', 'startTime'], 'Default: when they were made, newest first.')),
    sortDirection: optional(word(['asc', 'desc'])),
  })
  app.get<Asked>(
    '/schedulers',
    describe(TAG, 'List schedulers', { querystring, answer: page(SchedulerRecord) }),
    async (request, reply) => sendWhole(reply, await listSchedulers(ctx, ownerOf(request), request.query)),
  )
}
