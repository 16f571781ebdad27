import { type Static, Type } from 'typebox'
import { saidAsData } from '../notices.ts'
import { flag, orNull } from '../tokens/schemaParts.ts'
import { TOKEN_LIMITS } from '../tokens/types.ts'
import { URL_MAX } from '../validation/outboundUrl.ts'
import { PULL_LIMITS, PULL_STATUSES, PULL_TIMES } from './types.ts'
import { closed } from '../validation/closed.ts'

const tokenId = () =>
  Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'The publish token in whose name the source is published.',
  })
const streamName = () => Type.String({ minLength: 1, maxLength: TOKEN_LIMITS.streamNameMax, examples: ['studio-1'] })
const url = () =>
  Type.String({
    minLength: 1,
    maxLength: URL_MAX,
    description:
      'The source: `rtsp://` or `rtsps://`, with user and password where it wants them, or `rtmp://`, `rtmps://`, `srt://`, `whep://` or `wheps://`.',
    examples: ['rtsp://viewer:secret@camera.example.com/stream1'],
  })
const label = () => Type.String({ maxLength: PULL_LIMITS.labelMax, description: 'A name for people.' })
const when = () =>
  Type.Enum([...PULL_TIMES], {
    type: 'string',
    description:
      '`always`: as long as the server runs. `onDemand`: from the first viewer until 20 seconds after the last.',
  })

const common = {
  label: Type.Optional(orNull(label(), 'A name for people.')),
  enabled: flag('false: it is not dialled. Default true.'),
  when: Type.Optional(orNull(when(), 'Default `always`.')),
}

export const CreatePull = Type.Object(
  { tokenId: tokenId(), streamName: streamName(), url: url(), ...common },
  { $id: 'CreatePull', ...closed, description: 'A source to dial, and the stream to publish it as.' },
)
export type CreatePull = Static<typeof CreatePull>

export const UpdatePull = Type.Object(
  {
    tokenId: Type.Optional(orNull(tokenId(), 'Another publish token.')),
    streamName: Type.Optional(orNull(streamName(), 'Another stream.')),
    url: Type.Optional(orNull(url(), 'Another source. One as records show it keeps the source.')),
    ...common,
  },
  { $id: 'UpdatePull', ...closed, description: 'What to change. Any update dials the source again.' },
)
export type UpdatePull = Static<typeof UpdatePull>

export const PullRecord = Type.Object(
  {
    id: Type.Integer(),
    tokenId: tokenId(),
    streamName: streamName(),
    url: Type.String({
      description: 'The source without its secrets.',
      examples: ['rtsp://viewer:••••@camera.example.com/'],
    }),
    label: label(),
    enabled: Type.Boolean(),
    when: when(),
    addedOn: Type.String({ format: 'date-time' }),
    status: Type.Enum([...PULL_STATUSES], {
      description:
        '`idle`: it waits for a viewer. `refused`: the source refused the login, or the token the stream, three times; an update dials again.',
    }),
    since: Type.String({ format: 'date-time', description: 'Since when it has this status.' }),
    retryAt: Type.Optional(Type.String({ format: 'date-time', description: 'When it is dialled again.' })),
    problem: Type.Optional(Type.String({ description: 'What is wrong, for people.' })),
    problemSentences: Type.Optional(saidAsData()),
    lastProblem: Type.Optional(Type.String({ description: 'The latest problem, also if it is over.' })),
    lastProblemSentences: Type.Optional(saidAsData()),
    lastProblemOn: Type.Optional(Type.String({ format: 'date-time' })),
  },
  { $id: 'PullRecord', ...closed, description: 'A source that Sluice dials.' },
)
export type PullRecord = Static<typeof PullRecord>
