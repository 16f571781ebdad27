import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { listOccurrences } from '../../../commands/channels/schedules/listOccurrences.ts'
import {
  createScheduler,
  deleteScheduler,
  listSchedulers,
  readScheduler,
  startScheduler,
  stopScheduler,
  updateScheduler,
} from '../../../commands/channels/schedules/schedulers.ts'
import { one, optional, pageQuery, word } from '../../../core/channels/fields.ts'
import { OccurrenceRecord, OccurrencesQuery } from '../../../core/channels/schedules/occurrencesQuery.ts'
import { CreateScheduler, SchedulerRecord, UpdateScheduler } from '../../../core/channels/schedules/schema.ts'
import { accountOf } from '../auth.ts'
import type { ChannelsApi } from './parts.ts'
import { describe } from './openapi.ts'
import { sendData, sendDone } from './problem.ts'
import { collectionRoutes, itemRoutes } from './resourceRoutes.ts'

type ById = { Params: { schedulerId: string } }

const TAG = 'schedulers'
const PATH = '/schedulers/:schedulerId'

const query = Type.Object({
  ...pageQuery,
  channelId: optional(Type.String({ description: 'Only those that start this channel.' })),
  status: optional(Type.String({ description: 'Only those in one of these, separated by commas.' })),
  sortBy: optional(word(['name', 'status', 'startDate', 'startTime'], 'Default: when they were made, newest first.')),
  sortDirection: optional(word(['asc', 'desc'])),
})

/** Schedulers, and their manual start and stop. */
export function schedulerRoutes(app: FastifyInstance, api: ChannelsApi): void {
  const { ctx, actorOf } = api
  collectionRoutes(app, api, {
    tag: TAG,
    path: '/schedulers',
    record: SchedulerRecord,
    list: {
      operationId: 'listSchedulers',
      summary: 'List schedulers',
      query,
      command: ({ reader, query: asked }) => listSchedulers(ctx, reader.accountId, asked),
    },
    create: {
      operationId: 'createScheduler',
      summary: 'Create a scheduler',
      body: CreateScheduler,
      command: ({ actor, body }) => createScheduler(ctx, actor, body),
    },
  })
  itemRoutes(app, api, {
    tag: TAG,
    path: PATH,
    record: SchedulerRecord,
    read: {
      operationId: 'readScheduler',
      summary: 'Read a scheduler',
      command: ({ reader, id }) => readScheduler(ctx, reader.accountId, id),
    },
    update: {
      operationId: 'updateScheduler',
      summary: 'Edit a scheduler',
      body: UpdateScheduler,
      command: ({ actor, id, body }) => updateScheduler(ctx, actor, id, body),
    },
    remove: {
      operationId: 'deleteScheduler',
      summary: 'Delete a scheduler that is not active',
      command: ({ actor, id }) => deleteScheduler(ctx, actor, id),
    },
  })
  app.get<ById & { Querystring: Record<string, unknown> }>(
    `${PATH}/occurrences`,
    describe(TAG, 'When a scheduler runs in a time, oldest first', {
      operationId: 'listSchedulerOccurrences',
      querystring: OccurrencesQuery,
      answer: one(Type.Array(OccurrenceRecord)),
    }),
    async (request, reply) =>
      sendData(reply, await listOccurrences(ctx, accountOf(request), request.params.schedulerId, request.query)),
  )
  app.post<ById>(
    `${PATH}/start`,
    describe(TAG, 'Begin the next occurrence now', { operationId: 'startScheduler' }),
    async (request, reply) => sendDone(reply, await startScheduler(ctx, actorOf(request), request.params.schedulerId)),
  )
  app.post<ById>(
    `${PATH}/stop`,
    describe(TAG, 'End what is under way', { operationId: 'stopScheduler' }),
    async (request, reply) => sendDone(reply, await stopScheduler(ctx, actorOf(request), request.params.schedulerId)),
  )
}
