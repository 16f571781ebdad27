import { isoTime } from '../../../base/time.ts'
import { Type } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { ok } from '../../../base/result.ts'
import { drainNodeOfAccount } from '../../../commands/nodes/drain.ts'
import { listNodes, type ListedNode } from '../../../commands/nodes/listNodes.ts'
import { reloadNode } from '../../../commands/nodes/reload.ts'
import type { Context } from '../../../commands/context.ts'
import { FULL_REASONS } from '../../../core/nodes/load.ts'
import { LINK_PROBLEMS, type NodeLink } from '../../../core/nodes/nodeLinks.ts'
import { accountOf, actorOf } from '../auth.ts'
import { count, dateTime } from '../fieldSchemas.ts'
import { document } from '../openapi.ts'
import type { PeerOf } from '../peer.ts'
import { sendResult } from '../problem.ts'
import { operatorsOnly } from './operators.ts'
import type { ServerFacts } from './server.ts'

/** The processes that serve, and what they do for the account. */
export function nodeRoutes(app: FastifyInstance, ctx: Context, peerOf: PeerOf, { database }: ServerFacts): void {
  app.get(
    '/api/nodes',
    document('server', 'The nodes that serve, the oldest first, with your sessions and bitrates at each', {
      operationId: 'listNodes',
      data: Nodes,
    }),
    async (request, reply) => {
      const nodes = await listNodes(ctx, accountOf(request))
      return sendResult(reply, ok({ database, nodes: nodes.map((node) => toRecord(node)) }))
    },
  )
  app.post<{ Params: { nodeId: string } }>(
    '/api/nodes/:nodeId/drain',
    document(
      'server',
      'Let a node end: it takes nothing new, and moves its sessions to other nodes within `server.drainSeconds`',
      {
        operationId: 'drainNode',
        data: Type.Boolean(),
      },
    ),
    async (request, reply) =>
      sendResult(reply, await drainNodeOfAccount(ctx, actorOf(request, peerOf), request.params.nodeId)),
  )
  app.post<{ Params: { nodeId: string } }>(
    '/api/nodes/:nodeId/reload',
    {
      ...document('server', 'Let a node read its configuration again; takes about a second', {
        operationId: 'reloadNode',
        data: Reloaded,
      }),
      preHandler: operatorsOnly(ctx, 'sluice reload'),
    },
    async (request, reply) => sendResult(reply, await reloadNode(ctx, actorOf(request, peerOf), request.params.nodeId)),
  )
}

const toRecord = ({ url, startedAtMs, seenAtMs, facts, ...node }: ListedNode) => ({
  ...node,
  ...(url === null ? {} : { url }),
  ...(facts === null ? {} : { version: facts.version, cores: facts.cores }),
  ...(facts === null || facts.region === '' ? {} : { region: facts.region }),
  ...(facts === null ? {} : loadOf(facts)),
  startedOn: isoTime(startedAtMs),
  lastSeenOn: isoTime(seenAtMs),
})

const loadOf = ({ cpuPercent, mediaPercent, egressBitrate, full, links }: NonNullable<ListedNode['facts']>) => ({
  ...(cpuPercent === null ? {} : { cpuPercent }),
  ...(mediaPercent === null ? {} : { mediaPercent }),
  ...(egressBitrate === null ? {} : { egressBitrate }),
  full,
  ...(links === null ? {} : { links: links.map(linkRecord) }),
})

const linkRecord = ({ loss, roundTripMs, problem, ...link }: NodeLink) => ({
  ...link,
  ...(loss === null ? {} : { loss }),
  ...(roundTripMs === null ? {} : { roundTripMs }),
  ...(problem === null ? {} : { problem }),
})

const LinkRecord = Type.Object({
  node: Type.String({ description: 'The id of the other node.' }),
  lent: count('Streams of this node that the other one has from it.'),
  relayed: count('Streams of third nodes that the other one has from this one, because both are in one region.'),
  borrowed: count('Streams that this node has from the other one.'),
  bitrateOut: count('Bits per second of media to the other node, over the last second.'),
  bitrateIn: count('Bits per second of media from the other node, over the last second.'),
  loss: Type.Optional(
    Type.Number({ minimum: 0, maximum: 1, description: 'The share of packets that was lost in the last second.' }),
  ),
  roundTripMs: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Milliseconds. The node that lends a stream measures it, and tells the other one.',
    }),
  ),
  problem: Type.Optional(
    Type.Enum([...LINK_PROBLEMS], {
      description:
        'Why the latest stream did not come from there within the last ten minutes, so that viewers were redirected: ' +
        '`media_port`, its media ports do not answer; `no_answer`, it does not answer over HTTP; `refused`, it refuses the ' +
        'request; `busy`, it gets too many requests; `lends_nothing`, its `server.handover` is `redirect`.',
    }),
  ),
})

const NodeRecord = Type.Object({
  id: Type.String({ description: 'New at each start.' }),
  isThis: Type.Boolean({ description: 'It answers this request.' }),
  url: Type.Optional(
    Type.String({ description: 'Where clients reach it (`server.nodeUrl`); absent: not configured.' }),
  ),
  version: Type.Optional(Type.String({ description: 'Of Sluice; absent: of one that does not report it.' })),
  region: Type.Optional(Type.String({ description: 'Its `server.region`; absent: it has none.' })),
  cores: Type.Optional(Type.Integer({ minimum: 1, description: 'Processor cores of its machine.' })),
  cpuPercent: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 100, description: 'How busy the cores of its machine were, over 10 seconds.' }),
  ),
  mediaPercent: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 100,
      description: 'How busy its media processes were in the last second, on the average.',
    }),
  ),
  egressBitrate: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Bits per second of media that it sends for all accounts, over five seconds.',
    }),
  ),
  full: Type.Optional(
    Type.Array(Type.Enum([...FULL_REASONS]), {
      description:
        'Why it takes no new viewers: `sessions`, all slots for viewers are taken; `media`, every media process is busy; ' +
        '`egress`, it sends `server.maxEgressMegabits`. Empty: it takes viewers. Up to 10 seconds old at other nodes.',
    }),
  ),
  links: Type.Optional(
    Type.Array(LinkRecord, {
      description:
        'The WebRTC streams that it shares with other nodes, one entry for each of them. Up to 10 seconds old at other nodes.',
    }),
  ),
  state: Type.Enum(['serving', 'draining', 'silent'], {
    description:
      '`draining`: it takes nothing new, and ends soon. `silent`: its lease has expired, so the other nodes end its sessions.',
  }),
  startedOn: dateTime('Since when it serves without a break.'),
  lastSeenOn: dateTime('When it last renewed its lease, by the clock of the database.'),
  publishers: count('Open sessions of your account.'),
  viewers: count('Open sessions of your account.'),
  bitrateIn: count('Bits per second of your account, over the last whole minute.'),
  bitrateOut: count('Bits per second of your account, over the last whole minute.'),
})

const changedKeys = (description: string) =>
  Type.Array(
    Type.Object({
      key: Type.String({ examples: ['log.level'] }),
      from: Type.Unsafe<unknown>({ description: 'Of a secret only that it is set.' }),
      to: Type.Unsafe<unknown>({}),
    }),
    { description },
  )

const Reloaded = Type.Object({
  ok: Type.Boolean({ description: 'False: nothing was changed, because of `problems`.' }),
  applied: changedKeys('Keys with new values that apply now.'),
  needRestart: changedKeys('Keys with new values that a restart applies.'),
  problems: Type.Array(Type.String(), { description: 'What is wrong with the sources.' }),
})

const Nodes = Type.Object({
  database: Type.Enum(['sqlite', 'postgres'], { description: 'With SQLite, all nodes are on one machine.' }),
  nodes: Type.Array(NodeRecord),
})
