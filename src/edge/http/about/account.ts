import { Type, type Static, type TSchema } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { ok } from '../../../base/result.ts'
import { changeDefaults } from '../../../commands/accounts/defaults.ts'
import type { Context } from '../../../commands/context.ts'
import { cascadeRecord } from '../../../core/clusters.ts'
import {
  AccountDistribution,
  GeoCascade,
  MediaExpiration,
  UpdateAccountSecurity,
} from '../../../core/accounts/requests.ts'
import type { AccountDefaults } from '../../../core/tokens/accountDefaults.ts'
import { accountOf, actorOf } from '../auth.ts'
import { document } from '../openapi.ts'
import type { PeerOf } from '../peer.ts'
import { sendFailure, sendResult } from '../problem.ts'
import { warnOfCountries } from '../tokens/countries.ts'

/** A part of what an account says for its tokens, on one path. */
interface Part {
  readonly path: string
  readonly method: 'PUT' | 'POST'
  readonly what: Parameters<typeof changeDefaults>[2]
  readonly about: string
  /** After `read` and `update`. */
  readonly operation: string
  readonly body: TSchema
  readonly data: TSchema
  readonly show: (defaults: AccountDefaults) => unknown
  readonly deprecated: boolean
}

const AccountSecurity = Type.Object({
  allowedCountries: Type.Array(Type.String(), { description: 'Empty: any.' }),
  deniedCountries: Type.Array(Type.String(), { description: 'Empty: none.' }),
})

const CascadeData = Type.Object({ isEnabled: Type.Boolean(), clusters: Type.Array(Type.String()) })

const showSecurity = ({ allowedCountries, deniedCountries }: AccountDefaults) => ({ allowedCountries, deniedCountries })

const showCascade = ({ geoCascade }: AccountDefaults): Static<typeof CascadeData> => cascadeRecord(geoCascade)

const Days = Type.Union([Type.Object({ days: Type.Integer() }), Type.Null()])

const ExpirationData = Type.Object({ timelines: Type.Null(), recordings: Days, clips: Type.Null() })

const showExpiration = ({ recordingDays }: AccountDefaults): Static<typeof ExpirationData> => ({
  timelines: null,
  recordings: recordingDays === null ? null : { days: recordingDays },
  clips: null,
})

const SECURITY = {
  what: 'security',
  about: 'the countries of tokens without country rules of their own',
  body: UpdateAccountSecurity,
  data: AccountSecurity,
  show: showSecurity,
} as const

const PARTS: readonly Part[] = [
  { ...SECURITY, path: '/api/v3/account/security', method: 'PUT', operation: 'AccountSecurity', deprecated: false },
  { ...SECURITY, path: '/api/geo/account', method: 'POST', operation: 'AccountCountries', deprecated: true },
  {
    path: '/api/v3/account/distribution',
    method: 'PUT',
    what: 'distribution',
    about: 'the distribution of streams',
    operation: 'AccountDistribution',
    body: AccountDistribution,
    data: Type.Object({ geoCascade: CascadeData }),
    show: (defaults) => ({ geoCascade: showCascade(defaults) }),
    deprecated: false,
  },
  {
    path: '/api/account/geo_cascade',
    method: 'PUT',
    what: 'geoCascade',
    about: 'the distribution of streams, in the older form',
    operation: 'AccountGeoCascade',
    body: GeoCascade,
    data: CascadeData,
    show: showCascade,
    deprecated: true,
  },
  {
    path: '/api/v3/account/media/expiration',
    method: 'PUT',
    what: 'expiration',
    about: 'how long recordings are kept',
    operation: 'MediaExpiration',
    body: MediaExpiration,
    data: ExpirationData,
    show: showExpiration,
    deprecated: false,
  },
]

/** What an account says for its tokens, in the forms of hosted services. */
export function accountRoutes(app: FastifyInstance, ctx: Context, peerOf: PeerOf): void {
  for (const { path, method, what, about, operation, body, data, show, deprecated } of PARTS) {
    app.get(
      path,
      document('account', `Read ${about}`, { operationId: `read${operation}`, data, deprecated }),
      async (request, reply) => sendResult(reply, ok(show(await ctx.cache.accountDefaults(accountOf(request))))),
    )
    app.route({
      url: path,
      method,
      ...document('account', `Change ${about}`, { operationId: `update${operation}`, body, data, deprecated }),
      handler: async (request, reply) => {
        const changed = await changeDefaults(ctx, actorOf(request, peerOf), what, request.body)
        if (!changed.ok) return sendFailure(reply, changed.error)
        if (what === 'security') warnOfCountries(ctx, reply, changed.value)
        return sendResult(reply, ok(show(changed.value)))
      },
    })
  }
}
