import { Type } from 'typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ok } from '../../../base/result.ts'
import type { Context } from '../../../commands/context.ts'
import { CLUSTER, DefaultCluster, readDefaultCluster } from '../../../core/clusters.ts'
import { invalid } from '../../../core/errors.ts'
import { type PublicAddresses, publicAddresses } from '../../../core/streams/addresses.ts'
import { accountOf } from '../auth.ts'
import { document } from '../openapi.ts'
import { sendFailure, sendResult } from '../problem.ts'
import { requestedAt, type ServerFacts } from './server.ts'

const PATH = '/api/cluster'

/** The clusters of hosted services, of which an installation is one. */
export function clusterRoutes(app: FastifyInstance, ctx: Context, facts: () => ServerFacts): void {
  const clusters = (request: FastifyRequest) => {
    const where = { accountId: accountOf(request), ...requestedAt(ctx, request) }
    const addresses = publicAddresses({ ...facts(), ...where })
    return ok({ defaultCluster: CLUSTER, availableClusters: [clusterAt(addresses)] })
  }
  app.get(
    PATH,
    document('server', 'The clusters: one, which is this installation', {
      operationId: 'readClusters',
      data: Clusters,
    }),
    (request, reply) => sendResult(reply, clusters(request)),
  )
  app.put(
    PATH,
    document('server', 'Choose the default cluster: there is one, so this changes nothing', {
      operationId: 'updateDefaultCluster',
      body: DefaultCluster,
      data: Clusters,
    }),
    (request, reply) => {
      const read = readDefaultCluster(request.body)
      return read.ok ? sendResult(reply, clusters(request)) : sendFailure(reply, invalid(read.error))
    },
  )
}

/** Clients read every field; what is not known or switched off is empty. */
const clusterAt = ({ rtmp, srt }: PublicAddresses) => ({
  id: CLUSTER,
  name: CLUSTER,
  rtmp: hostOf(rtmp),
  srt: hostOf(srt),
  location: { city: '', region: '', country: '' },
  features: { transcoding: false },
})

const hostOf = (url: string | undefined): string => (url === undefined ? '' : new URL(url).host)

const ClusterRecord = Type.Object({
  id: Type.Enum([CLUSTER]),
  name: Type.String(),
  rtmp: Type.String({ description: 'Where publishers push to, without a scheme. Empty: RTMP is switched off.' }),
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
