import { Type, type TSchema } from 'typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { TokenKind } from '../../../core/tokens/types.ts'
import { createToken } from '../../../commands/tokens/createToken.ts'
import {
  readToken,
  listTokens,
  listTokensByCluster,
  listTokensByName,
  activeTokenIds,
  usableTokenIds,
  type TokenPage,
} from '../../../commands/tokens/readTokens.ts'
import { updateToken } from '../../../commands/tokens/updateToken.ts'
import { deleteToken } from '../../../commands/tokens/deleteToken.ts'
import { syncRestream } from '../../../commands/tokens/syncRestream.ts'
import { clearBoundIps, listBoundIps } from '../../../commands/tokens/boundAddresses.ts'
import type { Context } from '../../../commands/context.ts'
import { failure, invalid, type Failure } from '../../../core/errors.ts'
import { readStreamQuery } from '../../../core/sessions/sessionQuery.ts'
import * as requests from '../../../core/tokens/requestSchema.ts'
import * as records from '../../../core/tokens/recordSchema.ts'
import * as schema from '../../../core/tokens/schema.ts'
import { err, ok, type Result } from '../../../base/result.ts'
import { streamIdOf } from '../../../core/streams/streamId.ts'
import { accountOf, actorOf } from '../auth.ts'
import { document } from '../openapi.ts'
import { forwardedPrefix, type PeerOf } from '../peer.ts'
import { sendFailure, sendResult } from '../problem.ts'
import { warnOfCountries } from './countries.ts'
import { patternRoutes } from './patternRoutes.ts'
import { selfSignedRoutes } from './selfSignedRoutes.ts'
import { switchRoutes } from './switchRoutes.ts'
import { type ByTokenId, withTokenId } from './tokenId.ts'

const SCHEMAS = {
  publish: {
    name: 'PublishToken',
    create: schema.CreatePublishToken,
    update: schema.UpdatePublishToken,
    record: records.PublishTokenRecord,
    listed: records.ListedPublishTokenRecord,
  },
  subscribe: {
    name: 'SubscribeToken',
    create: schema.CreateSubscribeToken,
    update: schema.UpdateSubscribeToken,
    record: records.SubscribeTokenRecord,
    listed: records.ListedSubscribeTokenRecord,
  },
} as const

/** Everything under `/api/publish_token` and `/api/subscribe_token`, on the v1 and v2 update paths. */
export function tokenRoutes(app: FastifyInstance, ctx: Context, peerOf: PeerOf): void {
  for (const kind of ['publish', 'subscribe'] as const) {
    lifecycleRoutes(app, ctx, peerOf, kind)
    lists(app, ctx, kind)
    boundIps(app, ctx, peerOf, kind)
  }
  publishOnly(app, ctx)
  restreamRoutes(app, ctx, peerOf)
  switchRoutes(app, ctx, peerOf)
  selfSignedRoutes(app, ctx, peerOf)
  patternRoutes(app, ctx)
}

function lifecycleRoutes(app: FastifyInstance, ctx: Context, peerOf: PeerOf, kind: TokenKind): void {
  const base = `/api/${kind}_token`
  const { create, update, record, name } = SCHEMAS[kind]
  const tag = `${kind} tokens`
  app.post(
    base,
    document(tag, `Create a ${kind} token`, { operationId: `create${name}`, body: create, data: record }),
    async (request, reply) => {
      const created = await createToken(ctx, actorOf(request, peerOf), kind, request.body)
      if (created.ok) warnOfCountries(ctx, reply, created.value)
      return sendResult(reply, created)
    },
  )
  app.get<ByTokenId>(
    `${base}/:tokenId`,
    document(tag, `Read a ${kind} token`, { operationId: `read${name}`, data: record }),
    (request, reply) => withTokenId(kind, request, reply, (id) => readToken(ctx, accountOf(request), kind, id)),
  )
  const put = (path: string, operationId: string, { deprecated = false } = {}): void => {
    const text = `Edit a ${kind} token${deprecated ? ' (v1 path; both paths take the same body)' : ''}`
    app.put<ByTokenId>(
      path,
      document(tag, text, { operationId, body: update, data: record, deprecated }),
      (request, reply) =>
        withTokenId(kind, request, reply, async (id) => {
          const updated = await updateToken(ctx, actorOf(request, peerOf), { kind, id }, request.body)
          if (updated.ok) warnOfCountries(ctx, reply, updated.value)
          return updated
        }),
    )
  }
  put(`${base}/:tokenId`, `update${name}V1`, { deprecated: true })
  put(`/api/v2/${kind}_token/:tokenId`, `update${name}`)
  app.delete<ByTokenId>(
    `${base}/:tokenId`,
    document(tag, `Delete a ${kind} token; after the answer it admits no client`, {
      operationId: `delete${name}`,
      data: Type.Boolean(),
    }),
    (request, reply) => withTokenId(kind, request, reply, (id) => deleteToken(ctx, actorOf(request, peerOf), kind, id)),
  )
}

function lists(app: FastifyInstance, ctx: Context, kind: TokenKind): void {
  const base = `/api/${kind}_token`
  const tag = `${kind} tokens`
  const { name, listed } = SCHEMAS[kind]
  const data = Type.Array(listed)
  type Listed = { Querystring: Record<string, unknown> }
  app.get<Listed>(
    `${base}/list`,
    document(tag, `List ${kind} tokens`, {
      operationId: `list${name}s`,
      querystring: requests.ListQuery,
      data,
      headers: LIST_HEADERS,
    }),
    async (request, reply) => sendPage(ctx, reply, await listTokens(ctx, accountOf(request), kind, request.query)),
  )
  app.get<Listed>(
    `${base}/list_by_name`,
    document(tag, `List ${kind} tokens by label or stream name`, {
      operationId: `list${name}sByName`,
      querystring: requests.ListByNameQuery,
      data,
      headers: LIST_HEADERS,
    }),
    async (request, reply) =>
      sendPage(ctx, reply, await listTokensByName(ctx, accountOf(request), kind, request.query)),
  )
}

const LIST_HEADERS: Record<string, TSchema> = {
  'X-Total-Count': Type.Integer({ description: 'How many match, on all pages.' }),
  Link: Type.String({ description: 'Neighbour pages: rel first, prev, next, last (RFC 8288).' }),
}

function sendPage(
  { isProxy }: Pick<Context, 'isProxy'>,
  reply: FastifyReply,
  page: Result<TokenPage, Failure>,
): FastifyReply {
  if (!page.ok) return sendFailure(reply, page.error)
  const { records, total } = page.value
  const { request } = reply
  reply.header('X-Total-Count', String(total))
  reply.header('Link', pageLinks(forwardedPrefix(isProxy, request) + request.url, page.value))
  return reply.send({ status: 'success', data: records })
}

/** RFC 8288 links, relative to the host, that keep every other parameter of the request. */
function pageLinks(url: string, { total, page, itemsOnPage }: TokenPage): string {
  const last = Math.max(1, Math.ceil(total / itemsOnPage))
  const [path = ''] = url.split('?', 1)
  const others = [...new URLSearchParams(url.slice(path.length))].filter(([name]) => name.toLowerCase() !== 'page')
  const link = (target: number, rel: string): string =>
    `<${path}?${new URLSearchParams([...others, ['page', String(target)]]).toString()}>; rel="${rel}"`
  const links = [link(1, 'first')]
  if (page > 1) links.push(link(Math.min(page - 1, last), 'prev'))
  if (page < last) links.push(link(page + 1, 'next'))
  return [...links, link(last, 'last')].join(', ')
}

function boundIps(app: FastifyInstance, ctx: Context, peerOf: PeerOf, kind: TokenKind): void {
  const path = `/api/${kind}_token/:tokenId/bound_ips`
  const { name } = SCHEMAS[kind]
  const tag = `${kind} tokens`
  app.get<ByTokenId>(
    path,
    document(tag, 'List the bound addresses', { operationId: `list${name}BoundIps`, data: Type.Array(BoundIp) }),
    (request, reply) => withTokenId(kind, request, reply, (id) => listBoundIps(ctx, accountOf(request), kind, id)),
  )
  app.delete<ByTokenId>(
    path,
    document(tag, 'Forget the bound addresses', { operationId: `clear${name}BoundIps`, data: Type.Boolean() }),
    (request, reply) =>
      withTokenId(kind, request, reply, (id) => clearBoundIps(ctx, actorOf(request, peerOf), kind, id)),
  )
}

const BoundIp = Type.Object({
  address: Type.String({ description: 'Canonical IPv4 or IPv6 address.' }),
  firstUsedOn: Type.String({ format: 'date-time' }),
  lastUsedOn: Type.String({ format: 'date-time', description: 'Written with a delay of a few seconds.' }),
})

function publishOnly(app: FastifyInstance, ctx: Context): void {
  const tag = 'publish tokens'
  app.get<{ Querystring: Record<string, unknown> }>(
    '/api/publish_token/list_by_cluster',
    document(tag, 'List the publish tokens of a region, or those that are good in every one (`auto`)', {
      operationId: 'listPublishTokensByCluster',
      querystring: requests.ListByClusterQuery,
      data: Type.Array(SCHEMAS.publish.listed),
      headers: LIST_HEADERS,
    }),
    async (request, reply) => sendPage(ctx, reply, await listTokensByCluster(ctx, accountOf(request), request.query)),
  )
  const data = Type.Object({ tokenIds: Type.Array(Type.Integer()) })
  const ofStream = (path: string, operationId: string, summary: string, idsOf: typeof usableTokenIds): void => {
    app.get<{ Querystring: Record<string, unknown> }>(
      `/api/publish_token/${path}`,
      document(tag, summary, { operationId, querystring: StreamQuery, data }),
      async (request, reply) => {
        const accountId = accountOf(request)
        const read = streamOf(request.query, accountId)
        if (!read.ok) return sendFailure(reply, read.error)
        return sendResult(reply, ok({ tokenIds: await idsOf(ctx, accountId, read.value) }))
      },
    )
  }
  ofStream('active', 'listActivePublishTokenIds', 'Ids of the tokens that publish a stream now', activeTokenIds)
  ofStream(
    'usable',
    'listUsablePublishTokenIds',
    'Ids of the tokens that could publish a stream: active, not expired, covering it',
    usableTokenIds,
  )
  app.get(
    '/api/publish_token/active/all',
    document(tag, 'Ids of all tokens that publish now', { operationId: 'listAllActivePublishTokenIds', data }),
    async (request, reply) => sendResult(reply, ok({ tokenIds: await activeTokenIds(ctx, accountOf(request)) })),
  )
}

function restreamRoutes(app: FastifyInstance, ctx: Context, peerOf: PeerOf): void {
  app.post<ByTokenId>(
    '/api/publish_token/:tokenId/restream/sync',
    document('publish tokens', 'Dial the targets of a token again that have refused it or failed', {
      operationId: 'syncRestream',
      data: Type.Boolean(),
    }),
    (request, reply) => withTokenId('publish', request, reply, (id) => syncRestream(ctx, actorOf(request, peerOf), id)),
  )
}

const StreamQuery = Type.Object({
  streamId: Type.String({ description: '`accountId/streamName`', examples: ['a1b2c3/show'] }),
})

/** The stream name in a query. A stream of another account gets the same answer as one that does not exist. */
function streamOf(query: Record<string, unknown>, accountId: string): Result<string, Failure> {
  const read = readStreamQuery(query)
  if (!read.ok) return err(invalid(read.error))
  const { streamName } = read.value
  if (read.value.accountId === accountId) return ok(streamName)
  return err(failure('not_found', `No stream with id: ${streamIdOf(read.value).slice(0, 128)}`))
}
