import { type Static, Type } from 'typebox'
import { AudioTrackRecord, tracksField } from './audioTracks.ts'
import { date, name, optional, textField, word } from './fields.ts'
import { notBuilt } from '../validation/notBuilt.ts'
import { URL_MAX } from '../validation/outboundUrl.ts'
import { INGEST_TYPES, PULL_SCHEMES } from './types.ts'
import { closed } from '../validation/closed.ts'

/** Ingest types of hosted services, and why they are refused here. */
export const UNSERVED_TYPES = {
  'sdi-pull': 'there are no capture devices',
  'ndi-pull': 'there are no NDI sources',
} as const

const ALL_TYPES = [...INGEST_TYPES, ...Object.keys(UNSERVED_TYPES)] as const

const hostedOnly = {
  captions: notBuilt('captions are not read from the source'),
  sdi: notBuilt('there are no capture devices'),
  ndi: notBuilt('there are no NDI sources'),
  enhancements: notBuilt('speech is not transcribed'),
}

const region = () => textField(64, 'Where it runs; needed when there is more than one region.')
const url = () => textField(URL_MAX, `The source of a pull: ${PULL_SCHEMES.join(', ')}. A push is given its address.`)
const type = () => word(ALL_TYPES, `Served: ${INGEST_TYPES.join(', ')}.`)

export const createIngestFields = () => ({
  name: name(),
  type: type(),
  url: optional(url()),
  region: optional(region()),
  tracks: tracksField(),
  ...hostedOnly,
})

export const CreateIngest = Type.Object(createIngestFields(), { $id: 'CreateIngest', ...closed })
export type CreateIngest = Static<typeof CreateIngest>

export const UpdateIngest = Type.Object(
  {
    name: optional(name()),
    type: optional(type()),
    url: optional(url()),
    region: optional(region()),
    tracks: tracksField(),
    ...hostedOnly,
  },
  {
    $id: 'UpdateIngest',
    ...closed,
    description: 'Type, url, region and tracks cannot change while an engine that uses it runs.',
  },
)
export type UpdateIngest = Static<typeof UpdateIngest>

export const IngestRecord = Type.Object(
  {
    id: Type.String(),
    channelId: Type.String(),
    name: Type.String(),
    type: word(INGEST_TYPES),
    url: optional(
      Type.String({
        description:
          'Push: where publishers send to; over SRT with the stream key and the passphrase. Pull: the source, ' +
          'its password masked. For a credential of scope `read` without secrets; absent for a pull.',
      }),
    ),
    streamKey: optional(
      Type.String({ format: 'password', description: 'Push only; absent for a credential of scope `read`.' }),
    ),
    tracks: Type.Object({ audio: Type.Array(AudioTrackRecord) }),
    captions: Type.Array(Type.Unknown()),
    createdAt: date(),
  },
  { $id: 'Ingest' },
)
export type IngestRecord = Static<typeof IngestRecord>
