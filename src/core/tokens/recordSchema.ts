import { Type, type Static, type TProperties, type TSchema } from 'typebox'
import { refTo } from '../validation/bodyReader.ts'
import { shownCascade, shownCluster } from './clusterSchema.ts'
import { COMMON_FLAGS, mapFlags, PUBLISH_FLAGS } from './flags.ts'
import { restreamRecord } from './restreamSchema.ts'
import {
  ADDRESSES_TEXT,
  ALLOWED_TEXT,
  BIND_TEXT,
  CODECS_TEXT,
  DAYS_TEXT,
  DENIED_TEXT,
  int32,
  ORIGINS_TEXT,
  rendition,
  RENDITIONS_TEXT,
  streamName,
  VIEWERS_TEXT,
} from './schemaParts.ts'
import { closed } from '../validation/closed.ts'

/** An element of `streams` in records. */
export const StreamEntrySchema = Type.Object(
  { streamName: streamName(), isRegex: Type.Boolean({ description: 'true: streamName is a pattern.' }) },
  { $id: 'StreamEntry', ...closed, description: 'A stream name or pattern that a token covers.' },
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
