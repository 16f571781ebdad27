import { type Static, Type } from 'typebox'
import { CreateDistributionInChannel, DistributionRecord } from './distributionSchema.ts'
import { CreateEngineOfIngest, EngineRecord } from './engineSchema.ts'
import { date, name, nullable, optional, pageQuery, textField, wholeField, word } from './fields.ts'
import { notBuilt } from '../validation/notBuilt.ts'
import { createIngestFields, IngestRecord } from './ingestSchema.ts'
import { SLATE_MEDIA_TYPES } from './slate.ts'
import { ACTIVE_STATUSES } from './types.ts'
import { closed } from '../validation/closed.ts'

export const EXTERNAL_IDS_MAX = 100
export const EXTERNAL_ID_MAX = 128
export const TIMEOUT_MAX = 31_536_000
/** An update that sets a shorter timeout is probably a mistake; 0 means for ever. */
export const TIMEOUT_EDIT_MIN = 60
export const CHILDREN_IN_CREATE = 50

const externalIds = () =>
  Type.Array(textField(EXTERNAL_ID_MAX), {
    maxItems: EXTERNAL_IDS_MAX,
    description: 'Ids of yours; no two channels share one.',
  })

const timeout = () =>
  wholeField(0, TIMEOUT_MAX, 'Seconds without a source after which the channel is stopped; 0: never. Default 3600.')

const hostedOnly = {
  ads: notBuilt('ads are not inserted'),
  nielsen: notBuilt('no audience measurement is inserted'),
  dvr: notBuilt('there is no window to go back in'),
  instreamMetadata: notBuilt('metadata is not inserted'),
  sctePassthrough: notBuilt('SCTE-35 is not passed on'),
}

const externalId = () => nullable(textField(EXTERNAL_ID_MAX, 'Deprecated: the first of `externalIds`.'))

export const CreateChannel = Type.Object(
  {
    name: name(),
    externalIds: optional(externalIds()),
    externalId: externalId(),
    timeout: optional(timeout()),
    ...hostedOnly,
    ingests: optional(
      Type.Array(
        Type.Object(
          {
            ...createIngestFields(),
            engines: optional(Type.Array(CreateEngineOfIngest, { maxItems: CHILDREN_IN_CREATE })),
          },
          closed,
        ),
        { maxItems: CHILDREN_IN_CREATE, description: 'Ingests with their engines, made with the channel.' },
      ),
    ),
    distributions: optional(
      Type.Array(CreateDistributionInChannel, {
        maxItems: CHILDREN_IN_CREATE,
        description: 'Made with the channel; each is fed by all engines of this call.',
      }),
    ),
  },
  { $id: 'CreateChannel', ...closed, description: 'All of it is made, or nothing.' },
)
export type CreateChannel = Static<typeof CreateChannel>

export const UpdateChannel = Type.Object(
  {
    name: optional(name()),
    externalIds: optional(externalIds()),
    externalId: externalId(),
    timeout: optional(timeout()),
    ...hostedOnly,
  },
  { $id: 'UpdateChannel', ...closed, description: 'What is left out stays as it is.' },
)
export type UpdateChannel = Static<typeof UpdateChannel>

export const SlateRecord = Type.Object(
  {
    id: Type.String({ examples: ['sl_1BvTL3PCGW4dXdKwCqFkRe'], description: 'Another one after each upload.' }),
    mediaType: word(SLATE_MEDIA_TYPES),
    size: Type.Integer({ description: 'Bytes.' }),
    width: Type.Integer({ description: 'Pixels.' }),
    height: Type.Integer(),
    duration: optional(Type.Number({ description: 'How long a clip plays, seconds.' })),
    hasAudio: optional(Type.Boolean({ description: 'Of a clip: it plays with its audio, and not with silence.' })),
    createdAt: date(),
  },
  { $id: 'Slate', description: 'What viewers see while there is no broadcast.' },
)
export type SlateRecord = Static<typeof SlateRecord>

const channelFields = () => ({
  id: Type.String({ examples: ['ch_1BvTL3PCGW4dXdKwCqFkRe'] }),
  name: Type.String(),
  createdAt: date(),
  status: word(ACTIVE_STATUSES, 'The most advanced status of its engines.'),
  externalIds: optional(Type.Array(Type.String())),
  externalId: optional(Type.String()),
  timeout: Type.Integer(),
  perpetual: Type.Boolean({ description: 'Whether it never times out.' }),
  organizationId: Type.String({ description: 'The account.' }),
  slate: optional(SlateRecord),
})

export const ChannelRecord = Type.Object(channelFields(), { $id: 'Channel' })
export type ChannelRecord = Static<typeof ChannelRecord>

export const CreatedChannel = Type.Object(
  {
    ...channelFields(),
    ingests: Type.Array(IngestRecord),
    engines: Type.Array(EngineRecord),
    distributions: Type.Array(DistributionRecord),
  },
  { $id: 'CreatedChannel' },
)

const included = (item: typeof IngestRecord | typeof EngineRecord | typeof DistributionRecord) =>
  optional(
    Type.Object({
      data: Type.Array(item, { description: 'The first 10.' }),
      hasMore: Type.Boolean(),
      link: Type.String({ description: 'The list of all.' }),
      count: Type.Integer(),
    }),
  )

export const ChannelWithIncluded = Type.Object(
  {
    data: ChannelRecord,
    ingests: included(IngestRecord),
    engines: included(EngineRecord),
    distributions: included(DistributionRecord),
  },
  { $id: 'ChannelWithIncluded' },
)

export const INCLUDABLE = ['ingests', 'engines', 'distributions'] as const

export const ChannelQuery = Type.Object({
  include: optional(Type.String({ description: `Comma list of ${INCLUDABLE.join(', ')}.` })),
})

export const ChannelListQuery = Type.Object({
  ...pageQuery,
  name: optional(Type.String({ description: 'Exactly this name.' })),
  search: optional(Type.String({ description: 'The id, or part of the name in any case of ASCII letters.' })),
  status: optional(Type.String({ description: `Comma list of ${ACTIVE_STATUSES.join(', ')}.` })),
  id: optional(Type.String({ description: 'Comma list of ids.' })),
  externalId: optional(Type.String()),
})
