import { type Static, Type } from 'typebox'
import { date, name, nullable, optional, textField, wholeField } from './fields.ts'
import { notBuilt } from '../validation/notBuilt.ts'
import { closed } from '../validation/closed.ts'

const frameRate = () =>
  nullable(
    Type.Object(
      { value: wholeField(1, 240_000), scale: optional(wholeField(1, 1001)) },
      { ...closed, description: '`value / scale` frames a second, at most 120. Absent: those of the source.' },
    ),
  )

const rendition = () =>
  Type.Object(
    {
      id: optional(
        textField(
          32,
          'Names the rendition in playlists; letters, digits, - and _. Default: `720p` of a height of 720.',
        ),
      ),
      label: optional(textField(64)),
      width: wholeField(16, 7680, 'Even.'),
      height: wholeField(16, 4320, 'Even.'),
      bitrate: wholeField(10_000, 200_000_000, 'Bits a second.'),
      frameRate: frameRate(),
      codec: optional(Type.Enum(['h264'])),
      copy: optional(
        Type.Boolean({
          description:
            'Of the first rendition. true: H.264 of a publisher that pushes passes unchanged; the others follow its keyframes. ' +
            'What cannot be copied is encoded with the width, height and bitrate here.',
        }),
      ),
      disableHardwareAcceleration: notBuilt('video is encoded in software'),
    },
    closed,
  )

const audio = () =>
  nullable(
    Type.Object(
      { bitrate: wholeField(16, 512, 'Kilobits a second of AAC.'), atmos: notBuilt('audio is stereo AAC') },
      { ...closed, description: 'Absent on create: 128. null: no audio.' },
    ),
  )

const audioOnly = () =>
  optional(
    Type.Boolean({
      description: 'Default false. true: the audio alone is a variant too, for slow links and for listeners.',
    }),
  )

const video = () => Type.Array(rendition(), { minItems: 1, maxItems: 12 })

export const CreateLadder = Type.Object(
  {
    name: name(),
    video: video(),
    audio: audio(),
    audioOnly: audioOnly(),
    resources: notBuilt('engines share the machine'),
  },
  { $id: 'CreateAbrLadder', ...closed },
)
export type CreateLadder = Static<typeof CreateLadder>

export const UpdateLadder = Type.Object(
  {
    name: optional(name()),
    video: optional(video()),
    audio: audio(),
    audioOnly: audioOnly(),
    resources: notBuilt('engines share the machine'),
  },
  { $id: 'UpdateAbrLadder', ...closed, description: 'Engines take it at their next start.' },
)
export type UpdateLadder = Static<typeof UpdateLadder>

export const LadderRecord = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    video: Type.Array(
      Type.Object({
        id: Type.String(),
        label: Type.String(),
        width: Type.Integer(),
        height: Type.Integer(),
        bitrate: Type.Integer(),
        frameRate: optional(Type.Object({ scale: Type.Integer(), value: Type.Integer() })),
        codec: Type.Enum(['h264']),
        copy: optional(Type.Boolean()),
      }),
    ),
    audio: optional(Type.Object({ bitrate: Type.Integer() })),
    audioOnly: Type.Boolean(),
    createdAt: date(),
    updatedAt: date(),
  },
  { $id: 'AbrLadder' },
)
export type LadderRecord = Static<typeof LadderRecord>

export const RegionRecord = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    type: Type.Enum(['cloud', 'onprem']),
    supportedIngestTypes: Type.Array(Type.String()),
  },
  { $id: 'Region' },
)
