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
import { accountOf } from '../auth.ts'
import type { AnyQuery, ChannelsApi } from './parts.ts'
import { describe } from './openapi.ts'
import { sendData, sendWhole } from './problem.ts'
import { collectionRoutes, itemRoutes } from './resourceRoutes.ts'

const TAG = 'abr'
const querystring = Type.Object(pageQuery)

/** The building blocks of engines: ABR ladders, and the regions from the configuration. */
export function ladderRoutes(app: FastifyInstance, api: ChannelsApi): void {
  const { ctx } = api
  collectionRoutes(app, api, {
    tag: TAG,
    path: '/abr',
    record: LadderRecord,
    list: {
      operationId: 'listLadders',
      summary: 'List the ABR ladders, newest first',
      command: ({ reader, query }) => listLadders(ctx, reader.accountId, query),
    },
    create: {
      operationId: 'createLadder',
      summary: 'Create an ABR ladder',
      body: CreateLadder,
      command: ({ actor, body }) => createLadder(ctx, actor, body),
    },
  })
  itemRoutes(app, api, {
    tag: TAG,
    path: '/abr/:ladderId',
    record: LadderRecord,
    read: {
      operationId: 'readLadder',
      summary: 'Read an ABR ladder',
      command: ({ reader, id }) => readLadder(ctx, reader.accountId, id),
    },
    update: {
      operationId: 'updateLadder',
      summary: 'Edit an ABR ladder; engines take it at their next start',
      body: UpdateLadder,
      command: ({ actor, id, body }) => updateLadder(ctx, actor, id, body),
    },
    remove: {
      operationId: 'deleteLadder',
      summary: 'Delete an ABR ladder that no engine uses',
      command: ({ actor, id }) => deleteLadder(ctx, actor, id),
    },
  })
  regions(app, ctx)
}

function regions(app: FastifyInstance, ctx: ChannelsApi['ctx']): void {
  app.get<AnyQuery>(
    '/regions',
    describe('regions', 'List the regions by name', {
      operationId: 'listRegions',
      querystring,
      answer: page(RegionRecord),
    }),
    async (request, reply) => sendWhole(reply, await listRegions(ctx, accountOf(request), request.query)),
  )
  app.get<{ Params: { regionId: string } }>(
    '/regions/:regionId',
    describe('regions', 'Read a region', { operationId: 'readRegion', answer: one(RegionRecord) }),
    (request, reply) => sendData(reply, readRegionRecord(ctx, request.params.regionId)),
  )
}
