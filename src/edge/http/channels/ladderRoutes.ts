import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import {
  createLadder,
  deleteLadder,
  listLadders,
  readLadder,
  updateLadder,
} from '../../../commands/channels/ladders.ts'
import { listRegions, readRegionRecord } from '../../../commands/channels/regions.ts'
import { one, page, pageQuery } from '../../../core/channels/fields.ts'
import { CreateLadder, LadderRecord, RegionRecord, UpdateLadder } from '../../../core/channels/ladderSchema.ts'
import type { ChannelsApi } from './parts.ts'
import { ownerOf } from './auth.ts'
import { describe } from './openapi.ts'
import { sendData, sendDone, sendWhole } from './problem.ts'

type ById = { Params: { ladderId: string } }
type Asked = { Querystring: Record<string, unknown> }

const TAG = 'abr'
const querystring = Type.Object(pageQuery)

/** The building blocks of engines: ABR ladders, and the regions from the configuration. */
export function ladderRoutes(app: FastifyInstance, { ctx, actorOf }: ChannelsApi): void {
  const answer = one(LadderRecord)
  app.get<Asked>(
    '/abr',
    describe(TAG, 'List the ABR ladders, newest first', { querystring, answer: page(LadderRecord) }),
    async (request, reply) => sendWhole(reply, await listLadders(ctx, ownerOf(request), request.query)),
  )
  app.post('/abr', describe(TAG, 'Create an ABR ladder', { body: CreateLadder, answer }), async (request, reply) =>
    sendData(reply, await createLadder(ctx, actorOf(request), request.body)),
  )
  const path = '/abr/:ladderId'
  app.get<ById>(path, describe(TAG, 'Read an ABR ladder', { answer }), async (request, reply) =>
    sendData(reply, await readLadder(ctx, ownerOf(request), request.params.ladderId)),
  )
  app.patch<ById>(
    path,
    describe(TAG, 'Edit an ABR ladder; engines take it at their next start', { body: UpdateLadder, answer }),
    async (request, reply) =>
      sendData(reply, await updateLadder(ctx, actorOf(request), request.params.ladderId, request.body)),
  )
  app.delete<ById>(path, describe(TAG, 'Delete an ABR ladder that no engine uses', {}), async (request, reply) =>
    sendDone(reply, await deleteLadder(ctx, actorOf(request), request.params.ladderId)),
  )
  regions(app, ctx)
}

function regions(app: FastifyInstance, ctx: ChannelsApi['ctx']): void {
  app.get<Asked>(
    '/regions',
    describe('regions', 'List the regions by name', { querystring, answer: page(RegionRecord) }),
    async (request, reply) => sendWhole(reply, await listRegions(ctx, ownerOf(request), request.query)),
  )
  app.get<{ Params: { regionId: string } }>(
    '/regions/:regionId',
    describe('regions', 'Read a region', { answer: one(RegionRecord) }),
    (request, reply) => sendData(reply, readRegionRecord(ctx, request.params.regionId)),
  )
}
