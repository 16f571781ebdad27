import { Type } from 'typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ok } from '../../../base/result.ts'
import type { Context } from '../../../commands/context.ts'
import { regionsNow } from '../../../commands/regions/regions.ts'
import { changeDefaults } from '../../../commands/accounts/defaults.ts'
import { CLUSTER, DefaultCluster } from '../../../core/clusters.ts'
import { type PublicAddresses, publicAddresses } from '../../../core/streams/addresses.ts'
import { accountOf, actorOf } from '../auth.ts'
import { document } from '../openapi.ts'
import type { PeerOf } from '../peer.ts'
import { sendFailure, sendResult } from '../problem.ts'
import { requestedAt, type ServerFacts } from './server.ts'

const PATH = '/api/cluster'

/** The clusters of hosted services: the regions of this installation, and all of it. */
export function clusterRoutes(app: FastifyInstance, ctx: Context, facts: () => ServerFacts, peerOf: PeerOf): void {
  const clusters = async (request: FastifyRequest) => {
    const accountId = accountOf(request)
    const where = { accountId, ...requestedAt(ctx, request) }
    const here = publicAddresses({ ...facts(), ...where })
    const regions = await regionsNow(ctx)
    const clusterOf = (region: string) => clusterAt(region, region === ctx.policy.region ? here : {})
    const { defaultCluster } = await ctx.cache.accountDefaults(accountId)
    return ok({ defaultCluster, availableClusters: [clusterAt(CLUSTER, here), ...regions.map(clusterOf)] })
  }
  app.get(
    PATH,
    document('server', 'The clusters: `auto`, which is all of this installation, and each region of its nodes', {
      operationId: 'readClusters',
      data: Clusters,
    }),
    async (request, reply) => sendResult(reply, await clusters(request)),
  )
  app.put(
    PATH,
    document('server', 'Choose the cluster of publish tokens without an `originCluster` of their own', {
      operationId: 'updateDefaultCluster',
      body: DefaultCluster,
      data: Clusters,
    }),
    async (request, reply) => {
      const changed = await changeDefaults(ctx, actorOf(request, peerOf), 'cluster', request.body)
      return changed.ok ? sendResult(reply, await clusters(request)) : sendFailure(reply, changed.error)
    },
  )
}

/** Clients read every field; what is not known or switched off is empty. */
const clusterAt = (name: string, { rtmp, srt }: Pick<PublicAddresses, 'rtmp' | 'srt'>) => ({
  id: name,
  name,
  rtmp: hostOf(rtmp),
  srt: hostOf(srt),
  location: { city: '', region: '', country: '' },
  features: { transcoding: false },
})

const hostOf = (url: string | undefined): string => (url === undefined ? '' : new URL(url).host)

const ClusterRecord = Type.Object({
  id: Type.String({ description: '`auto`, or the `server.region` of nodes.' }),
  name: Type.String(),
  rtmp: Type.String({
    description:
      'Where publishers push to, without a scheme. Empty: RTMP is switched off, or only nodes of the region know it.',
  }),
  srt: Type.String({ description: 'The same for SRT.' }),
  location: Type.Object(
    { city: Type.String(), region: Type.String(), country: Type.String() },
    { description: 'Not known; always empty.' },
  ),
  features: Type.Object({
    transcoding: Type.Boolean({ description: 'Whether it has cloud transcoders; always false.' }),
  }),
})

const Clusters = Type.Object({
  defaultCluster: Type.String({ description: '`auto`, or a region.' }),
  availableClusters: Type.Array(ClusterRecord),
})
