import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { ChannelReader, ChannelResult } from '../../../commands/channels/channelCommand.ts'
import type { Actor } from '../../../commands/context.ts'
import { one, page, pageQuery } from '../../../core/channels/fields.ts'
import { readerOf } from './auth.ts'
import { describe } from './openapi.ts'
import type { ChannelsApi } from './parts.ts'
import { sendData, sendDone, sendWhole } from './problem.ts'

/** A request that reads. `id` is the last parameter of the path; empty without one. */
export interface ReadRequest {
  readonly reader: ChannelReader
  readonly id: string
  readonly query: Record<string, unknown>
}

/** A request that changes something. `id` is the last parameter of the path; empty without one. */
export interface ChangeRequest {
  readonly actor: Actor
  readonly id: string
  readonly body: unknown
}

interface Verb<R> {
  readonly operationId: string
  /** One line of the OpenAPI document. */
  readonly summary: string
  readonly command: (request: R) => ChannelResult<unknown>
}

/** Where resources of one kind are listed and created. */
export interface CollectionRoutes {
  readonly tag: string
  readonly path: string
  readonly record: TSchema
  /** `query`: what the list takes; absent: what every list takes. */
  readonly list: Verb<ReadRequest> & { readonly query?: TSchema }
  /** `answer`: the whole body of the answer; absent: the record. */
  readonly create: Verb<ChangeRequest> & { readonly body: TSchema; readonly answer?: TSchema }
}

/** Where one resource is read, edited and deleted. */
export interface ItemRoutes {
  readonly tag: string
  readonly path: string
  readonly record: TSchema
  readonly read?: Verb<ReadRequest>
  readonly update: Verb<ChangeRequest> & { readonly body: TSchema }
  readonly remove: Verb<ChangeRequest>
}

type Route = { Params: Record<string, string>; Querystring: Record<string, unknown> }
type RouteRequest = FastifyRequest<Route>

const idOf = ({ params }: RouteRequest): string => Object.values(params).at(-1) ?? ''

const toRead = (request: RouteRequest): ReadRequest => ({
  reader: readerOf(request),
  id: idOf(request),
  query: request.query,
})

const toChange =
  ({ actorOf }: ChannelsApi) =>
  (request: RouteRequest): ChangeRequest => ({ actor: actorOf(request), id: idOf(request), body: request.body })

export function collectionRoutes(app: FastifyInstance, api: ChannelsApi, routes: CollectionRoutes): void {
  const { tag, path, record, list, create } = routes
  const { query: querystring = Type.Object(pageQuery) } = list
  const { body, answer = one(record) } = create
  const changeOf = toChange(api)
  app.get<Route>(
    path,
    describe(tag, list.summary, { operationId: list.operationId, querystring, answer: page(record) }),
    async (request, reply) => sendWhole(reply, await list.command(toRead(request))),
  )
  app.post<Route>(
    path,
    describe(tag, create.summary, { operationId: create.operationId, body, answer }),
    async (request, reply) => sendData(reply, await create.command(changeOf(request))),
  )
}

export function itemRoutes(app: FastifyInstance, api: ChannelsApi, routes: ItemRoutes): void {
  const { tag, path, record, read, update, remove } = routes
  const answer = one(record)
  const changeOf = toChange(api)
  if (read) {
    const { operationId, summary } = read
    app.get<Route>(path, describe(tag, summary, { operationId, answer }), async (request, reply) =>
      sendData(reply, await read.command(toRead(request))),
    )
  }
  const { body, operationId } = update
  app.patch<Route>(path, describe(tag, update.summary, { operationId, body, answer }), async (request, reply) =>
    sendData(reply, await update.command(changeOf(request))),
  )
  app.delete<Route>(path, describe(tag, remove.summary, { operationId: remove.operationId }), async (request, reply) =>
    sendDone(reply, await remove.command(changeOf(request))),
  )
}
