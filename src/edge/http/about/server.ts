import { isoTime } from '../../../base/time.ts'
import { Type } from 'typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ok } from '../../../base/result.ts'
import type { Context } from '../../../commands/context.ts'
import { parseAddress } from '../../../core/access/address.ts'
import { type AddressFacts, publicAddresses } from '../../../core/streams/addresses.ts'
import { accountOf } from '../auth.ts'
import { count } from '../fieldSchemas.ts'
import { document } from '../openapi.ts'
import { isEncrypted } from '../peer.ts'
import { sendResult } from '../problem.ts'

/** What a server tells about itself. */
export interface ServerFacts extends Omit<AddressFacts, 'accountId' | 'scheme' | 'host'> {
  readonly version: string
  readonly database: 'sqlite' | 'postgres'
  readonly httpPort: number
  /** The first UDP port of WebRTC. */
  readonly webRtcPort: number
  readonly limits: {
    readonly sessions: number
    readonly viewersPerAddress: number
    readonly publishersPerAddress: number
    readonly publisherKilobits: number
  }
}

/** Addresses, ports and limits, for people who set up a publisher or a page. */
export function serverRoutes(app: FastifyInstance, ctx: Context, facts: () => ServerFacts): void {
  app.get(
    '/api/server',
    document('server', 'The addresses for publishers and viewers, ports, limits and the version', {
      operationId: 'readServer',
      data: ServerInfo,
    }),
    (request, reply) => {
      const { version, rtmp, srt, httpPort, webRtcPort, limits } = facts()
      const where = { accountId: accountOf(request), ...requestedAt(ctx, request) }
      return sendResult(
        reply,
        ok({
          version,
          node: ctx.sessions.node,
          time: isoTime(ctx.clock.now()),
          addresses: publicAddresses({ ...facts(), ...where }),
          ports: {
            http: httpPort,
            webRtc: webRtcPort,
            ...(rtmp === null ? {} : { rtmp: rtmp.port }),
            ...(srt === null ? {} : { srt: srt.port }),
          },
          hasCountryDatabase: ctx.hasCountries(),
          limits,
        }),
      )
    },
  )
}

/**
 * The address that the client used: what a trusted proxy says, or else the request itself. `Origin`, which browsers send
 * with a change, names the scheme also behind a proxy that is not configured.
 */
export function requestedAt(
  { isProxy }: Context,
  { headers, socket }: FastifyRequest,
): { scheme: 'http' | 'https'; host: string } {
  const peer = parseAddress(socket.remoteAddress ?? '')
  const forwarded = (name: string): string | undefined => {
    const value = peer !== null && isProxy(peer) ? headers[name] : undefined
    return typeof value === 'string' ? value.split(',')[0]?.trim() : undefined
  }
  const host = forwarded('x-forwarded-host') ?? headers.host ?? ''
  const isSecure =
    isEncrypted(socket) || forwarded('x-forwarded-proto') === 'https' || headers.origin === `https://${host}`
  return { scheme: isSecure ? 'https' : 'http', host }
}

const ServerInfo = Type.Object({
  version: Type.String(),
  node: Type.String({ description: 'The id of the node that answers; new at each start.' }),
  time: Type.String({ format: 'date-time', description: 'The clock of Sluice.' }),
  addresses: Type.Object(
    {
      base: Type.String({ examples: ['https://live.example.com'] }),
      baseSource: Type.Enum(['publicUrl', 'nodeUrl', 'request'], {
        description: 'The setting that the addresses come from; `request`: the address of this request.',
      }),
      whip: Type.String(),
      rtmp: Type.Optional(Type.String({ description: 'Absent: RTMP is switched off. Add `?token=` and the token.' })),
      rtmps: Type.Optional(Type.String({ description: 'RTMP over TLS. Absent: `rtmp.tlsPort` is 0.' })),
      srt: Type.Optional(
        Type.String({
          description: 'Absent: SRT is switched off. Add `?streamid=`, then `{streamName}?t=` and the token, encoded.',
        }),
      ),
      whep: Type.String(),
      hls: Type.String(),
      watch: Type.String({ description: 'A page with the player.' }),
      player: Type.String({ description: 'The script of the player.' }),
      dashboard: Type.String(),
      origin: Type.String({ description: 'Of the pages of the dashboard, for the allowed origins of a token.' }),
    },
    { description: '`{streamName}` stands for the name of a stream.' },
  ),
  ports: Type.Object({
    http: count(),
    rtmp: Type.Optional(count()),
    srt: Type.Optional(Type.Integer({ description: 'UDP.' })),
    webRtc: Type.Integer({ description: 'UDP, the first of those of the media processes.' }),
  }),
  hasCountryDatabase: Type.Boolean({ description: 'Without one, no address has a country (`geoip.database`).' }),
  limits: Type.Object({
    sessions: count(),
    viewersPerAddress: count(),
    publishersPerAddress: count(),
    publisherKilobits: Type.Integer({ description: 'Per second, over WebRTC.' }),
  }),
})
