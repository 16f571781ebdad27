import { Type, type Static, type TProperties, type TSchema } from 'typebox'
import { refTo } from '../validation/bodyReader.ts'
import { notBuilt } from '../validation/notBuilt.ts'
import { FEED_BITRATE, FEED_HEIGHT, FEED_RENDITIONS_MAX, HLS_CODECS } from '../hls/feedRungs.ts'
import { geoCascade, noOriginCluster, originCluster, shownCascade, shownCluster } from './clusterSchema.ts'
import { COMMON_FLAGS, mapFlags, PUBLISH_FLAGS } from './flags.ts'
import { RESTREAM_TEXT, restreamBody, restreamRecord } from './restreamSchema.ts'
import { flag, orNull } from './schemaParts.ts'
import { TOKEN_LIMITS as LIMITS } from './types.ts'

/**
 * The bodies and records of the token API, in one place: the HTTP routes publish them (OpenAPI 3.1), and
 * `bodyReader.ts` checks bodies against them. Rules that a schema cannot express (does the pattern compile?) are in
 * `canonical.ts`.
 *
 * Register `TOKEN_SCHEMAS` with the server; the schemas refer to each other by `$id`.
 */

const closed = { additionalProperties: false } as const

const int32 = () => Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647 })
const streamName = () =>
  Type.String({
    minLength: 1,
    maxLength: LIMITS.streamNameMax,
    description: 'An exact name, or an RE2 pattern that must match the whole name.',
    examples: ['studio-1', 'camera-[0-9]+'],
  })
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

const ORIGINS_TEXT =
  'Origins that may use the token: host, `*.host` (any subdomain, not the bare host), optionally with scheme and port. Empty: any.'
const ADDRESSES_TEXT = 'IPv4 addresses and CIDR blocks that may use the token. Empty: any.'
const BIND_TEXT =
  'The number of addresses that the token is bound to: the first ones that use it. Others are refused. 0: off.'
const VIEWERS_TEXT =
  'The most concurrent viewers, over all nodes: with a subscribe token, or of each stream of a publish token. Further ones get `429`. 0: no limit.'
const ALLOWED_TEXT = 'ISO 3166-1 alpha-2 codes. Excludes `deniedCountries`. Empty: any.'
const DENIED_TEXT = 'ISO 3166-1 alpha-2 codes. Excludes `allowedCountries`. Empty: none.'

/** An element of `streams` in records. */
export const StreamEntrySchema = Type.Object(
  { streamName: streamName(), isRegex: Type.Boolean({ description: 'true: streamName is a pattern.' }) },
  { $id: 'StreamEntry', ...closed, description: 'A stream name or pattern that a token covers.' },
)

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

/** Field of requests and records. */
const rendition = () =>
  Type.Object(
    {
      height: Type.Integer({
        minimum: FEED_HEIGHT.min,
        maximum: FEED_HEIGHT.max,
        description: 'Pixels of the shorter side, even: 480 for 480p. The other side follows from the source.',
      }),
      bitrate: Type.Integer({
        minimum: FEED_BITRATE.min,
        maximum: FEED_BITRATE.max,
        description: 'The most bits of video per second.',
      }),
    },
    closed,
  )
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

const RENDITIONS_TEXT =
  'Smaller renditions of the published video, for HLS. Heights are distinct. Those that are not smaller than the source are left out.'

const CODECS_TEXT =
  'The codecs of what the publisher sends, in HLS. `h264`: H.264 and AAC, which every player has. `source`: HEVC, AV1, VP9 and ' +
  'Opus stay as they are, for players that have them.'

/** With its type, by which the reader of bodies tells it from null. */
const hlsCodecs = () => Type.Enum([...HLS_CODECS], { type: 'string' })

const PRIORITY_TEXT =
  'Which of several publishers of one source is shown: the one with the highest. The others stay connected as spares. ' +
  'Default null, the lowest. `priority` in the address of a publisher wins.'

const recordingDays = () => Type.Integer({ minimum: 0, maximum: LIMITS.recordingDaysMax })
const DAYS_TEXT =
  'How many days recordings of its broadcasts are kept after they are complete. 0: until they are deleted. It holds for ' +
  'recordings that get complete from now on.'

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
    description: 'Changes of a publish token. Fields that are absent or null stay as they are.',
    examples: [{ isActive: false }, { addTokenStreams: [{ streamName: 'studio-2' }], bindIpsOnUsage: 0 }],
  },
)

export const UpdateSubscribeToken = Type.Object(
  { ...updateCommon(), originCluster: noOriginCluster(), updateOriginCluster: noOriginCluster() },
  {
    $id: 'UpdateSubscribeToken',
    ...closed,
    minProperties: 1,
    description: 'Changes of a subscribe token. Fields that are absent or null stay as they are.',
    examples: [{ isActive: false }, { updateAllowedIpAddresses: [], bindIpsOnUsage: 0 }],
  },
)

const dateTime = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-01-31T09:30:00.000Z'] })
const countryList = () => Type.Array(Type.String())

/** Features that are not built, in records: clients read them without checking that they exist. */
const OFF = 'Not built; always this value.'
const always = <const V extends string | boolean | null>(value: V) => Type.Unsafe<V>({ const: value, description: OFF })
const recordHead = <T extends Record<string, TSchema>, C extends TSchema>(effective: T, originCluster: C) => ({
  id: Type.Integer(),
  label: Type.String(),
  name: Type.String({ description: 'The same as `label`.' }),
  token: Type.String({
    pattern: '^[0-9a-f]{64}$',
    format: 'password',
    description: 'The value that is presented: 64 lowercase hexadecimal characters.',
  }),
  addedOn: dateTime('When the token was created (UTC).'),
  expiresOn: Type.Optional(dateTime('When the token expires (UTC). Absent: never.')),
  lastUsedOn: Type.Optional(
    dateTime('When the token last admitted a client (UTC), written with a delay of a few seconds. Absent: never.'),
  ),
  isActive: Type.Boolean(),
  streams: Type.Array(refTo(StreamEntrySchema)),
  allowedOrigins: Type.Array(Type.String(), { description: ORIGINS_TEXT }),
  allowedIpAddresses: Type.Array(Type.String(), { description: ADDRESSES_TEXT }),
  bindIpsOnUsage: Type.Optional(Type.Integer({ minimum: 1, description: `${BIND_TEXT} Absent: off.` })),
  maxViewers: Type.Optional(Type.Integer({ minimum: 1, description: `${VIEWERS_TEXT} Absent: no limit.` })),
  allowedCountries: Type.Array(Type.String(), { description: ALLOWED_TEXT }),
  deniedCountries: Type.Array(Type.String(), { description: DENIED_TEXT }),
  originCluster,
  effectiveSettings: Type.Object(
    {
      originCluster: Type.String({ description: 'A region, or `auto`.' }),
      allowedCountries: countryList(),
      deniedCountries: countryList(),
      ...effective,
    },
    { ...closed, description: 'What holds after defaults are filled in.' },
  ),
})

export const PublishTokenRecord = Type.Object(
  {
    ...recordHead({ geoCascade: shownCascade(), enableUTCInsertion: Type.Boolean() }, shownCluster()),
    ...mapFlags(PUBLISH_FLAGS, () => Type.Boolean()),
    srtPassphrase: Type.Optional(
      Type.String({
        format: 'password',
        description:
          'With which publishers over SRT encrypt. It changes with the value. Absent: `displaySrtPassphrase` is false.',
      }),
    ),
    clip: always(false),
    lowLatencyRtmp: always(true),
    integrationId: always('None'),
    drm: always(false),
    geoCascade: shownCascade(),
    restream: restreamRecord(),
    encoderProfileId: always(null),
    priority: Type.Optional(int32()),
    recordingDays: Type.Optional(
      Type.Integer({ minimum: 0, description: `${DAYS_TEXT} Absent: as the account says.` }),
    ),
    hlsRenditions: Type.Optional(Type.Array(rendition(), { description: `${RENDITIONS_TEXT} Absent: none.` })),
    hlsCodecs: Type.Optional(Type.Enum(['source'], { type: 'string', description: `${CODECS_TEXT} Absent: h264.` })),
    ...mapFlags(COMMON_FLAGS, () => Type.Boolean()),
  },
  { $id: 'PublishTokenRecord', ...closed, description: 'A publish token. Optional fields that are unset are absent.' },
)

export const SubscribeTokenRecord = Type.Object(
  {
    ...recordHead({}, always('')),
    tracking: Type.Optional(Type.Object({ trackingId: Type.String() }, closed)),
    ...mapFlags(COMMON_FLAGS, () => Type.Boolean()),
  },
  {
    $id: 'SubscribeTokenRecord',
    ...closed,
    description: 'A subscribe token. Optional fields that are unset are absent.',
  },
)

/** A record in a list, which may leave the value out. */
const listed = (record: { readonly properties: TProperties; readonly $id?: string }, kind: string) =>
  Type.Object(
    { ...record.properties, token: Type.Optional(record.properties['token'] ?? Type.String()) },
    {
      $id: `Listed${record.$id ?? ''}`,
      ...closed,
      description: `A ${kind} token. \`token\` is absent with \`includeValue=false\`; optional fields that are unset are absent.`,
    },
  )

export const ListedPublishTokenRecord = listed(PublishTokenRecord, 'publish')
export const ListedSubscribeTokenRecord = listed(SubscribeTokenRecord, 'subscribe')

export type PublishTokenRecord = Static<typeof PublishTokenRecord>
export type SubscribeTokenRecord = Static<typeof SubscribeTokenRecord>

/** Every schema of this file that has an `$id`, to be registered under it. */
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
