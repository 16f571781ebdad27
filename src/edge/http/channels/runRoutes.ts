import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { ok } from '../../../base/result.ts'
import { lastRun, listChannelRuns, listEngineRuns } from '../../../commands/channels/runs/runs.ts'
import {
  startChannel,
  startEngine,
  stopChannel,
  stopEngine,
  warningOfStart,
} from '../../../commands/channels/runs/start.ts'
import { RunRecord } from '../../../core/channels/runs/runRecord.ts'
import { one, optional, page, pageQuery } from '../../../core/channels/fields.ts'
import { accountOf } from '../auth.ts'
import type { AnyQuery, ChannelsApi } from './parts.ts'
import { describe } from './openapi.ts'
import { sendData, sendDone, sendWarned, sendWhole } from './problem.ts'

type OfChannel = { Params: { channelId: string } }
type OfEngine = { Params: { engineId: string } }

/** Start, stop, and the runs that they create. */
export function runRoutes(app: FastifyInstance, api: ChannelsApi): void {
  switches(app, api)
  runs(app, api)
}

const WARNS = { warns: 'The machine that was asked will probably not keep up with what was started.' }

function switches(app: FastifyInstance, { ctx, actorOf, load }: ChannelsApi): void {
  const warningOf = async (accountId: string, of: Parameters<typeof warningOfStart>[3]): Promise<string | null> =>
    load && warningOfStart(ctx, load, accountId, of)
  const channel = '/channels/:channelId'
  app.post<OfChannel>(
    `${channel}/start`,
    describe('channels', 'Start a channel', { operationId: 'startChannel', ...WARNS }),
    async (request, reply) => {
      const warning = await warningOf(accountOf(request), request.params)
      const done = await startChannel(ctx, actorOf(request), request.params.channelId)
      return sendWarned(reply, done.ok ? ok({ warning }) : done)
    },
  )
  app.post<OfChannel>(
    `${channel}/stop`,
    describe('channels', 'Stop a channel', { operationId: 'stopChannel' }),
    async (request, reply) => sendDone(reply, await stopChannel(ctx, actorOf(request), request.params.channelId)),
  )
  const engine = '/engines/:engineId'
  app.post<OfEngine>(
    `${engine}/start`,
    describe('engines', 'Start an engine', { operationId: 'startEngine', ...WARNS }),
    async (request, reply) => {
      const warning = await warningOf(accountOf(request), request.params)
      const done = await startEngine(ctx, actorOf(request), request.params.engineId)
      return sendWarned(reply, done.ok ? ok({ warning }) : done)
    },
  )
  app.post<OfEngine>(
    `${engine}/stop`,
    describe('engines', 'Stop an engine', { operationId: 'stopEngine' }),
    async (request, reply) => sendDone(reply, await stopEngine(ctx, actorOf(request), request.params.engineId)),
  )
}

const querystring = Type.Object({
  ...pageQuery,
  start: optional(Type.String({ description: 'Only runs that began after this moment.' })),
  end: optional(Type.String({ description: 'Only runs that ended before this moment.' })),
  engineIds: optional(Type.String({ description: 'Only runs of these engines, separated by commas.' })),
})

function runs(app: FastifyInstance, { ctx }: ChannelsApi): void {
  const listed = (operationId: string, of: string) =>
    describe('runs', `List the runs of ${of}, newest first`, { operationId, querystring, answer: page(RunRecord) })
  app.get<OfChannel & AnyQuery>(
    '/channels/:channelId/runs',
    listed('listChannelRuns', 'a channel'),
    async (request, reply) =>
      sendWhole(reply, await listChannelRuns(ctx, accountOf(request), request.params.channelId, request.query)),
  )
  app.get<OfEngine & AnyQuery>(
    '/engines/:engineId/runs',
    listed('listEngineRuns', 'an engine'),
    async (request, reply) =>
      sendWhole(reply, await listEngineRuns(ctx, accountOf(request), request.params.engineId, request.query)),
  )
  app.get<OfEngine>(
    '/engines/:engineId/last-run',
    describe('runs', 'Read the last run of an engine', { operationId: 'readLastEngineRun', answer: one(RunRecord) }),
    async (request, reply) => sendData(reply, await lastRun(ctx, accountOf(request), request.params.engineId)),
  )
}
