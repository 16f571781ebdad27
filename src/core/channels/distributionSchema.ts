import { type Static, type TSchema, Type } from 'typebox'
import { date, name, nullable, optional, textField, wholeField, word } from './fields.ts'
import { notBuilt } from '../validation/notBuilt.ts'
import { DEVICES } from './device.ts'
import { CHILDREN_MAX, KEYS_MAX } from './types.ts'
import { TRACKING_ID_MAX } from './viewerToken.ts'
import { closed } from '../validation/closed.ts'

export const HLS_LATENCY = { min: 6, max: 30, default: 10 } as const
const LIST_MAX = 1000
const VIEWER_KEY_MAX = 8192

const rule = <T extends Record<string, TSchema>>(fields: T, description: string) =>
  optional(Type.Object({ enabled: optional(Type.Boolean()), ...fields }, { ...closed, description }))

const mode = () => optional(word(['allow', 'deny'], 'Only those listed, or all but those. Default deny.'))

const securityFields = () => ({
  geoBlocking: rule(
    { mode: mode(), countries: optional(Type.Array(textField(2), { maxItems: LIST_MAX })) },
    'By country (ISO 3166-1 alpha-2). A viewer of unknown country fails an allow list.',
  ),
  ipBlocking: rule(
    { mode: mode(), cidrs: optional(Type.Array(textField(64), { maxItems: LIST_MAX })) },
    'By IPv4 or IPv6 network.',
  ),
  refererBlocking: rule(
    {
      allowedDomains: optional(Type.Array(textField(261), { maxItems: LIST_MAX })),
      allowNativeApps: optional(Type.Boolean({ description: 'Let those through that send no referer.' })),
    },
    'By the host of the page, with its port where it has one.',
  ),
  rewriteSegmentUrls: optional(
    Type.Boolean({
      description: 'Stored for clients that send it. Addresses of segments always contain a ticket.',
    }),
  ),
})

export const CreateKey = Type.Object(
  {
    key: textField(VIEWER_KEY_MAX, 'A shared secret (HS256, HS512), or an RSA public key in PEM (RS256, RS512).'),
    name: nullable(textField(128)),
  },
  { $id: 'CreateKey', ...closed, examples: [{ key: 'a-long-secret-of-your-own' }] },
)
export type CreateKey = Static<typeof CreateKey>

export const KeyRecord = Type.Object({ id: Type.String(), name: optional(Type.String()) }, { $id: 'Key' })
export type KeyRecord = Static<typeof KeyRecord>

/** From a second to a year: a token cannot be revoked without its key. */
export const VIEWER_TOKEN_SECONDS = { min: 1, max: 31_536_000, default: 3600 } as const

export const SignViewerToken = Type.Object(
  {
    expiresInSeconds: optional(
      Type.Integer({
        minimum: VIEWER_TOKEN_SECONDS.min,
        maximum: VIEWER_TOKEN_SECONDS.max,
        default: VIEWER_TOKEN_SECONDS.default,
        description: 'From now, or from `notBefore`. Viewers are cut off then.',
      }),
    ),
    notBefore: nullable(
      Type.String({ format: 'date-time', maxLength: 64, description: 'Not valid before this time.' }),
    ),
    trackingId: nullable(textField(TRACKING_ID_MAX, 'The id under which the bytes of its viewers are counted.')),
    countries: optional(
      Type.Array(textField(2), { minItems: 1, maxItems: LIST_MAX, description: 'Only in these (ISO 3166-1 alpha-2).' }),
    ),
    devices: optional(
      Type.Array(word(DEVICES), { minItems: 1, maxItems: DEVICES.length, description: 'Only on these.' }),
    ),
  },
  {
    $id: 'SignViewerToken',
    ...closed,
    description: 'What the token grants: this channel alone. The rules of the distribution apply as well.',
    examples: [{ expiresInSeconds: 7200, trackingId: 'guest-42' }],
  },
)

export const SignedViewerToken = Type.Object(
  {
    token: Type.String({ format: 'password', description: 'The token, a JWT. A player sends it as `?token=`.' }),
    keyId: Type.String(),
    expiresAt: date(),
  },
  { $id: 'SignedViewerToken' },
)
export type SignedViewerToken = Static<typeof SignedViewerToken>

const latencies = () =>
  nullable(
    Type.Object(
      {
        hls: nullable(
          wholeField(
            HLS_LATENCY.min,
            HLS_LATENCY.max,
            'Seconds behind the live edge, for players without low latency. Default 10.',
          ),
        ),
        hesp: notBuilt('only HLS is served'),
      },
      closed,
    ),
  )

const outputs = () =>
  optional(
    Type.Object(
      {
        hls: optional(Type.Boolean()),
        llHls: optional(
          Type.Boolean({ description: 'Playlists also list parts of segments, for low latency. Default true.' }),
        ),
        hesp: notBuilt('only HLS is served'),
        hlsMpegTs: notBuilt('segments are fragmented MP4'),
      },
      closed,
    ),
  )

const fields = () => ({
  externalId: nullable(textField(128)),
  enabled: optional(Type.Boolean({ description: 'Whether it can be played. Default true.' })),
  latencies: latencies(),
  outputs: outputs(),
  maxBitrate: nullable(wholeField(1, 1_000_000_000, 'Bits a second; renditions above are not offered.')),
  targetLatency: notBuilt('only HLS is served; send latencies.hls'),
  dvr: notBuilt('there is no window to go back in'),
  overrides: notBuilt('a distribution is not replaced by another one'),
  webRtc: notBuilt('media is served as HLS'),
  customEndpoints: notBuilt('only media of this installation is served'),
  ads: notBuilt('ads are not inserted'),
  playerSettings: notBuilt('only HLS is served'),
})

const endpoints = () =>
  optional(
    Type.Object(
      { engineIds: optional(Type.Array(textField(64), { maxItems: CHILDREN_MAX })) },
      { ...closed, description: 'The engines of the channel that feed it.' },
    ),
  )

const createSecurity = () =>
  optional(
    Type.Object(
      { ...securityFields(), keys: optional(Type.Array(CreateKey, { maxItems: KEYS_MAX })) },
      { ...closed, description: 'Default: every viewer may play.' },
    ),
  )

/** A distribution that is created with its channel. The engines that are created with it feed it. */
export const CreateDistributionInChannel = Type.Object(
  { name: name(), ...fields(), security: createSecurity() },
  { $id: 'CreateDistributionInChannel', ...closed },
)

export const CreateDistribution = Type.Object(
  { name: name(), ...fields(), security: createSecurity(), endpoints: endpoints() },
  { $id: 'CreateDistribution', ...closed },
)
export type CreateDistribution = Static<typeof CreateDistribution>

export const UpdateDistribution = Type.Object(
  {
    name: optional(name()),
    ...fields(),
    security: optional(
      Type.Object(securityFields(), {
        ...closed,
        description: 'Each part that is sent is changed; lists are replaced.',
      }),
    ),
    endpoints: endpoints(),
  },
  { $id: 'UpdateDistribution', ...closed, description: 'Applies at once, also to current viewers.' },
)
export type UpdateDistribution = Static<typeof UpdateDistribution>

const listed = (list: string) =>
  Type.Object({
    enabled: Type.Boolean(),
    mode: word(['allow', 'deny']),
    [list]: Type.Array(Type.String()),
  })

export const DistributionRecord = Type.Object(
  {
    id: Type.String(),
    channelId: Type.String(),
    name: Type.String(),
    externalId: optional(Type.String()),
    enabled: Type.Boolean(),
    latencies: Type.Object({ hls: Type.Integer() }),
    security: Type.Object({
      geoBlocking: listed('countries'),
      ipBlocking: listed('cidrs'),
      refererBlocking: Type.Object({
        enabled: Type.Boolean(),
        allowedDomains: Type.Array(Type.String()),
        allowNativeApps: Type.Boolean(),
      }),
      rewriteSegmentUrls: Type.Boolean(),
      tokenRequired: Type.Boolean({
        description: 'Whether viewers need a token: there are keys, or the last one was deleted by itself.',
      }),
      keys: Type.Array(KeyRecord),
    }),
    endpoints: Type.Object({ engineIds: Type.Array(Type.String()) }),
    outputs: Type.Object({
      hesp: Type.Boolean(),
      hls: Type.Boolean(),
      hlsMpegTs: Type.Boolean(),
      llHls: Type.Boolean(),
    }),
    maxBitrate: optional(Type.Integer()),
    dvr: Type.Object({ enabled: Type.Boolean() }),
    createdAt: date(),
    updatedAt: date(),
  },
  { $id: 'Distribution' },
)
export type DistributionRecord = Static<typeof DistributionRecord>
