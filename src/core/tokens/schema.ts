import { Type } from 'typebox'
import { refTo } from '../validation/bodyReader.ts'
import { notBuilt } from '../validation/notBuilt.ts'
import { FEED_RENDITIONS_MAX, HLS_CODECS } from '../hls/feedRungs.ts'
import { geoCascade, noOriginCluster, originCluster } from './clusterSchema.ts'
import { COMMON_FLAGS, mapFlags, PUBLISH_FLAGS } from './flags.ts'
import { RESTREAM_TEXT, restreamBody } from './restreamSchema.ts'
import {
  ListedPublishTokenRecord,
  ListedSubscribeTokenRecord,
  PublishTokenRecord,
  StreamEntrySchema,
  SubscribeTokenRecord,
} from './recordSchema.ts'
import {
  ADDRESSES_TEXT,
  ALLOWED_TEXT,
  BIND_TEXT,
  CODECS_TEXT,
  DAYS_TEXT,
  DENIED_TEXT,
  flag,
  int32,
  ORIGINS_TEXT,
  orNull,
  rendition,
  RENDITIONS_TEXT,
  streamName,
  VIEWERS_TEXT,
} from './schemaParts.ts'
import { TOKEN_LIMITS as LIMITS } from './types.ts'
import { closed } from '../validation/closed.ts'

/**
 * The bodies of the token API; `recordSchema.ts` has its records. The HTTP routes publish them (OpenAPI 3.1), and
 * `bodyReader.ts` checks bodies against them. Rules that a schema cannot express (does the pattern compile?) are in
 * `canonical.ts`.
 *
 * Register `TOKEN_SCHEMAS` with the server; the schemas refer to each other by `$id`.
 */

const label = () =>
  Type.String({
    minLength: 1,
    maxLength: LIMITS.labelMax,
    description: 'A name for people. Control characters are refused.',
    examples: ['Studio 1'],
  })

const origins = () =>
  Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
    maxItems: LIMITS.originsMax,
    examples: [['example.com', '*.example.com', 'https://example.com:8443']],
  })
const addresses = () =>
  Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
    maxItems: LIMITS.addressesMax,
    examples: [['203.0.113.7', '198.51.100.0/24']],
  })
const countries = () =>
  Type.Array(Type.String({ minLength: 2, maxLength: 2 }), {
    maxItems: LIMITS.countriesMax,
    examples: [['NL', 'BE']],
  })
const maxViewers = () => Type.Integer({ minimum: 0, maximum: LIMITS.viewersMax })
const bindCount = () => Type.Integer({ minimum: 0, maximum: LIMITS.bindMax })

/** An element of `streams` in requests. */
export const StreamEntryInput = Type.Object(
  { streamName: streamName(), isRegex: flag('true: streamName is a pattern. Default false.') },
  {
    $id: 'StreamEntryInput',
    ...closed,
    description: 'A stream name or pattern that a token shall cover.',
    examples: [{ streamName: 'studio-1' }, { streamName: 'camera-[0-9]+', isRegex: true }],
  },
)

const streams = (minItems: number) => ({ minItems, maxItems: LIMITS.streamsMax })

const createCommon = () => ({
  label: label(),
  streams: Type.Array(refTo(StreamEntryInput), {
    ...streams(1),
    description: 'What the token covers. Names are unique within a token.',
  }),
  expires: Type.Optional(
    orNull(
      Type.Integer({ minimum: 1, maximum: LIMITS.expiresMaxSeconds }),
      'Seconds from creation until the token expires; it cannot be changed later. Default: never.',
    ),
  ),
  allowedOrigins: Type.Optional(orNull(origins(), ORIGINS_TEXT)),
  allowedIpAddresses: Type.Optional(orNull(addresses(), ADDRESSES_TEXT)),
  bindIpsOnUsage: Type.Optional(orNull(bindCount(), BIND_TEXT)),
  maxViewers: Type.Optional(orNull(maxViewers(), VIEWERS_TEXT)),
  allowedCountries: Type.Optional(orNull(countries(), ALLOWED_TEXT)),
  deniedCountries: Type.Optional(orNull(countries(), DENIED_TEXT)),
  ...mapFlags(COMMON_FLAGS, (_name, { about }) => flag(about)),
})

const renditions = () =>
  Type.Array(rendition(), {
    maxItems: FEED_RENDITIONS_MAX,
    examples: [
      [
        { height: 480, bitrate: 1_200_000 },
        { height: 360, bitrate: 600_000 },
      ],
    ],
  })

/** With its type, by which the reader of bodies tells it from null. */
const hlsCodecs = () => Type.Enum([...HLS_CODECS], { type: 'string' })

const PRIORITY_TEXT =
  'Which of several publishers of one source is shown: the one with the highest. The others stay connected as spares. ' +
  'Default null, the lowest. `priority` in the address of a publisher wins.'

const recordingDays = () => Type.Integer({ minimum: 0, maximum: LIMITS.recordingDaysMax })
const publishFields = () => ({
  ...mapFlags(PUBLISH_FLAGS, (_name, { about }) => flag(about)),
  priority: Type.Optional(orNull(int32(), PRIORITY_TEXT)),
  recordingDays: Type.Optional(orNull(recordingDays(), `${DAYS_TEXT} Default null: as the account says.`)),
  hlsRenditions: Type.Optional(orNull(renditions(), `${RENDITIONS_TEXT} Default: [], none.`)),
  hlsCodecs: Type.Optional(orNull(hlsCodecs(), `${CODECS_TEXT} Default: h264.`)),
  restream: Type.Optional(orNull(restreamBody(), RESTREAM_TEXT)),
  originCluster: originCluster(),
  geoCascade: geoCascade(),
})

const publishNotBuilt = () => ({
  lowLatencyRtmp: flag('RTMP is never delayed: either value is taken, and changes nothing.'),
  clip: notBuilt('clips are not cut out of a broadcast; record all of it'),
  drm: notBuilt('media is not encrypted for licences'),
  encoderProfileId: notBuilt('there are no encoder profiles', ['']),
  integrationId: notBuilt('there are no integrations', ['None']),
})

export const CreatePublishToken = Type.Object(
  { ...createCommon(), ...publishFields(), ...publishNotBuilt() },
  {
    $id: 'CreatePublishToken',
    ...closed,
    description: 'A new publish token.',
    examples: [{ label: 'Studio 1', streams: [{ streamName: 'studio-1' }], subscribeRequiresAuth: true }],
  },
)

const Tracking = Type.Object(
  {
    trackingId: Type.Optional(
      orNull(
        Type.String({ minLength: 1, maxLength: LIMITS.trackingIdMax }),
        'Bytes that viewers receive with this token are counted under this id.',
      ),
    ),
  },
  closed,
)

export const CreateSubscribeToken = Type.Object(
  {
    ...createCommon(),
    tracking: Type.Optional(orNull(Tracking, 'It cannot be changed later. Default: none.')),
    originCluster: noOriginCluster(),
  },
  {
    $id: 'CreateSubscribeToken',
    ...closed,
    description: 'A new subscribe token.',
    examples: [{ label: 'Guests', streams: [{ streamName: '.*', isRegex: true }], expires: 86_400 }],
  },
)

/** Fields of an update with two equivalent spellings: the plain name, and the one with `update` in front. */
export const TWO_SPELLINGS = {
  allowedOrigins: 'updateAllowedOrigins',
  allowedIpAddresses: 'updateAllowedIpAddresses',
  bindIpsOnUsage: 'updateBindIpsOnUsage',
  allowedCountries: 'updateAllowedCountries',
  deniedCountries: 'updateDeniedCountries',
  restream: 'updateRestream',
  originCluster: 'updateOriginCluster',
  geoCascade: 'updateGeoCascade',
} as const

/** The fields that change country rules, in both spellings. */
export const countryUpdates = () => ({
  allowedCountries: Type.Optional(orNull(countries(), `Replaces the list; [] clears it. ${ALLOWED_TEXT}`)),
  updateAllowedCountries: Type.Optional(orNull(countries(), 'The same as `allowedCountries`.')),
  deniedCountries: Type.Optional(orNull(countries(), `Replaces the list; [] clears it. ${DENIED_TEXT}`)),
  updateDeniedCountries: Type.Optional(orNull(countries(), 'The same as `deniedCountries`.')),
})

const updateCommon = () => ({
  label: Type.Optional(orNull(label(), 'A name for people.')),
  isActive: flag('false refuses new use and leaves live sessions alone.'),
  refreshToken: flag('true: replace the value. The old one is refused at once and its sessions end.'),
  addTokenStreams: Type.Optional(
    orNull(Type.Array(refTo(StreamEntryInput), streams(0)), 'Entries to add, after those to remove are gone.'),
  ),
  removeTokenStreams: Type.Optional(
    orNull(
      Type.Array(Type.Union([streamName(), refTo(StreamEntryInput)]), streams(0)),
      'Names to take away. Entries are accepted too; only their name counts, as names are unique.',
    ),
  ),
  allowedOrigins: Type.Optional(orNull(origins(), `Replaces the list; [] clears it. ${ORIGINS_TEXT}`)),
  updateAllowedOrigins: Type.Optional(orNull(origins(), 'The same as `allowedOrigins`.')),
  allowedIpAddresses: Type.Optional(orNull(addresses(), `Replaces the list; [] clears it. ${ADDRESSES_TEXT}`)),
  updateAllowedIpAddresses: Type.Optional(orNull(addresses(), 'The same as `allowedIpAddresses`.')),
  bindIpsOnUsage: Type.Optional(orNull(bindCount(), `${BIND_TEXT} Lowering it keeps the earliest bound.`)),
  updateBindIpsOnUsage: Type.Optional(orNull(bindCount(), 'The same as `bindIpsOnUsage`.')),
  maxViewers: Type.Optional(orNull(maxViewers(), `${VIEWERS_TEXT} Lowering it ends no session.`)),
  ...countryUpdates(),
  ...mapFlags(COMMON_FLAGS, (_name, { about }) => flag(about)),
})

export const UpdatePublishToken = Type.Object(
  {
    ...updateCommon(),
    ...publishFields(),
    ...publishNotBuilt(),
    updateGeoCascade: geoCascade(),
    updateRestream: Type.Optional(orNull(restreamBody(), 'The same as `restream`.')),
    updateOriginCluster: originCluster(),
  },
  {
    $id: 'UpdatePublishToken',
    ...closed,
    minProperties: 1,
    description:
      'Changes of a publish token. Fields that are absent or null stay as they are, but null clears `maxViewers`, `priority`, ' +
      '`recordingDays` and `enableUTCInsertion`.',
    examples: [{ isActive: false }, { addTokenStreams: [{ streamName: 'studio-2' }], bindIpsOnUsage: 0 }],
  },
)

export const UpdateSubscribeToken = Type.Object(
  { ...updateCommon(), originCluster: noOriginCluster(), updateOriginCluster: noOriginCluster() },
  {
    $id: 'UpdateSubscribeToken',
    ...closed,
    minProperties: 1,
    description:
      'Changes of a subscribe token. Fields that are absent or null stay as they are, but null clears `maxViewers`.',
    examples: [{ isActive: false }, { updateAllowedIpAddresses: [], bindIpsOnUsage: 0 }],
  },
)

/** Every schema of tokens that has an `$id`, to be registered under it. */
export const TOKEN_SCHEMAS = [
  StreamEntrySchema,
  StreamEntryInput,
  CreatePublishToken,
  CreateSubscribeToken,
  UpdatePublishToken,
  UpdateSubscribeToken,
  PublishTokenRecord,
  SubscribeTokenRecord,
  ListedPublishTokenRecord,
  ListedSubscribeTokenRecord,
] as const
