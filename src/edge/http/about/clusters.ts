import { Type } from 'typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ok } from '../../../base/result.ts'
import type { Context } from '../../../commands/context.ts'
import { regionsNow } from '../../../commands/nodes/regions.ts'
import { CLUSTER, DefaultCluster, readDefaultCluster } from '../../../core/clusters.ts'
import { invalid } from '../../../core/errors.ts'
import { type PublicAddresses, publicAddresses } from '../../../core/streams/addresses.ts'
import { accountOf } from '../auth.ts'
import { document } from '../openapi.ts'
import { sendFailure, sendResult } from '../problem.ts'
import { requestedAt, type ServerFacts } from './server.ts'

const PATH = '/api/cluster'

/** The clusters of hosted services: the regions of this installation, and all of it. */
export function clusterRoutes(app: FastifyInstance, ctx: Context, facts: () => ServerFacts): void {
  const clusters = async (request: FastifyRequest) => {
    const where = { accountId: accountOf(request), ...requestedAt(ctx, request) }
    const here = publicAddresses({ ...facts(), ...where })
    const regions = await regionsNow(ctx)
    const clusterOf = (region: string) => clusterAt(region, region === ctx.region ? here : {})
    return ok({ defaultCluster: CLUSTER, availableClusters: [clusterAt(CLUSTER, here), ...regions.map(clusterOf)] })
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
    document('server', 'Choose the default cluster: `auto` is the only choice, so this changes nothing', {
      operationId: 'updateDefaultCluster',
      body: DefaultCluster,
      data: Clusters,
    }),
    async (request, reply) => {
      const read = readDefaultCluster(request.body)
      return read.ok ? sendResult(reply, await clusters(request)) : sendFailure(reply, invalid(read.error))
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

const Clusters = Type.Object({ defaultCluster: Type.Enum([CLUSTER]), availableClusters: Type.Array(ClusterRecord) })
