import { Type } from 'typebox'
import { closed } from '../validation/closed.ts'

/** From a minute to a week: anyone with a link can play the recording. */
export const RECORDING_LINK_SECONDS = { min: 60, max: 604_800, default: 3600 } as const

const { min, max, default: usual } = RECORDING_LINK_SECONDS
export const SignRecording = Type.Object(
  {
    expiresInSeconds: Type.Optional(
      Type.Integer({ minimum: min, maximum: max, default: usual, description: 'From now.' }),
    ),
  },
  {
    $id: 'SignRecording',
    ...closed,
    description: 'How long the link to a recording is valid.',
    examples: [{ expiresInSeconds: 86_400 }],
  },
)

export const RecordingLinkQuery = Type.Object(
  {
    seconds: Type.Optional(
      Type.Integer({
        minimum: min,
        maximum: max,
        default: usual,
        description: 'How long the link is valid, from now.',
      }),
    ),
  },
  { $id: 'RecordingLinkQuery', ...closed },
)

export const SignedRecording = Type.Object(
  {
    url: Type.String({
      description:
        'Where a page plays the recording without a secret, with ranges and CORS. Add `&download` to save it.',
    }),
    expiresOn: Type.String({ format: 'date-time', description: 'When the link ends, by the clock of Sluice.' }),
  },
  { $id: 'SignedRecording', ...closed },
)
