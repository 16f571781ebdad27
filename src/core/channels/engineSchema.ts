import { type Static, Type } from 'typebox'
import { CodedSentence } from '../notices.ts'
import { RESTREAM_LIMITS } from '../restream/targets.ts'
import { date, name, nullable, optional, textField, wholeField, word } from './fields.ts'
import { notBuilt } from '../validation/notBuilt.ts'
import { ACTIVE_STATUSES } from './types.ts'
import { closed } from '../validation/closed.ts'

const id = (description: string) => textField(64, description)

const quality = () =>
  Type.Object({ abrLadderId: id('One of /v2/abr.') }, { ...closed, description: 'Default: the ladder `ab_default`.' })

const outputs = () =>
  Type.Object(
    {
      hls: optional(Type.Boolean({ description: 'What every engine makes: true.' })),
      hesp: notBuilt('only HLS is made'),
      hlsMpegTs: notBuilt('segments are fragmented MP4'),
      llHls: optional(Type.Boolean({ description: 'Taken either way: distributions choose it by outputs.llHls.' })),
    },
    closed,
  )

const TARGET_URL =
  'Its address: `rtmp://` or `rtmps://` with the application, and with the key at the end if there is no `key`; `srt://` with a ' +
  'port, `streamid`, `passphrase` and `latency`; ours: `whip://`, `whips://`, `rtsp://` and `rtsps://`.'

const targetId = () => textField(64, 'Unique among the targets of the engine. Default: a number.')
const { keyMax, labelMax, targetsMax, urlMax } = RESTREAM_LIMITS

const TargetBody = Type.Object(
  {
    id: optional(targetId()),
    url: Type.String({
      minLength: 1,
      maxLength: urlMax,
      description: TARGET_URL,
      examples: ['rtmps://live.example.com/app'],
    }),
    key: optional(
      Type.String({
        maxLength: keyMax,
        format: 'password',
        description: 'Its stream key; of WHIP its bearer token. SRT and RTSP have none.',
        examples: ['live_0123456789'],
      }),
    ),
    label: optional(Type.String({ maxLength: labelMax, description: 'A name for people.' })),
    enabled: optional(Type.Boolean({ description: 'false: nothing is sent to it. Default true.' })),
  },
  closed,
)
export type EngineTargetBody = Static<typeof TargetBody>

const restream = () =>
  Type.Array(TargetBody, {
    maxItems: targetsMax,
    description:
      'Other servers that get the best rendition that the engine makes, as it is. Replaces the list; [] clears it, also while the ' +
      'engine runs. A key as records show it keeps the key of the target with the same URL.',
  })

const fields = () => ({
  region: optional(textField(64, 'Where it runs; needed when there is more than one region.')),
  quality: optional(quality()),
  priority: optional(
    wholeField(-100, 100, 'Of several engines, the lowest number that plays serves new viewers. Default 0.'),
  ),
  outputs: optional(outputs()),
  drm: notBuilt('media is not encrypted'),
  drmProvider: notBuilt('media is not encrypted'),
  daiAssetKey: notBuilt('ads are not inserted'),
  overlays: notBuilt('images are not laid over the picture'),
  restream: nullable(restream()),
  vision: notBuilt('video is H.264 in standard range'),
  atmos: notBuilt('audio is stereo AAC'),
})

/** An engine that is created on an ingest, which the body does not name again. */
export const CreateEngineOfIngest = Type.Object(
  { name: name(), ...fields() },
  { $id: 'CreateEngineOfIngest', ...closed },
)

export const CreateEngine = Type.Object(
  { name: name(), ingestId: nullable(id('The source, of the same channel.')), ...fields() },
  { $id: 'CreateEngine', ...closed },
)
export type CreateEngine = Static<typeof CreateEngine>

export const UpdateEngine = Type.Object(
  { name: optional(name()), ingestId: nullable(id('Another source of the same channel; null: none.')), ...fields() },
  { $id: 'UpdateEngine', ...closed, description: 'Source, region and ladder cannot change while it runs.' },
)
export type UpdateEngine = Static<typeof UpdateEngine>

export const EngineRecord = Type.Object(
  {
    id: Type.String(),
    channelId: Type.String(),
    ingestId: optional(Type.String()),
    name: Type.String(),
    region: Type.String(),
    quality: Type.Object({ abrLadderId: Type.String() }),
    priority: Type.Integer(),
    drm: Type.Boolean(),
    overlays: Type.Array(Type.Unknown()),
    outputs: Type.Object({
      hesp: Type.Boolean(),
      hls: Type.Boolean(),
      hlsMpegTs: Type.Boolean(),
      llHls: Type.Boolean(),
    }),
    restream: Type.Array(
      Type.Object({
        id: targetId(),
        url: Type.String({ description: 'Of secrets it has the ends only.' }),
        key: Type.String({ description: 'The end of its key; empty of SRT and RTSP.', examples: ['••••6789'] }),
        label: Type.String(),
        enabled: Type.Boolean(),
      }),
      { description: 'Other servers that get what it makes.' },
    ),
    status: word(ACTIVE_STATUSES),
    statusMessage: optional(
      Type.String({ description: 'Why it is in `error`, what it waits for, or that it cannot keep up.' }),
    ),
    statusSentences: optional(
      Type.Array(CodedSentence, {
        description: 'The same as data, for pages in other languages; absent: it has no codes.',
      }),
    ),
    createdAt: date(),
    updatedAt: date(),
  },
  { $id: 'Engine' },
)
export type EngineRecord = Static<typeof EngineRecord>
