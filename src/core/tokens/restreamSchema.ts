import { Type } from 'typebox'
import { RESTREAM_LIMITS } from '../restream/targets.ts'
import { flag, orNull } from './schemaParts.ts'

const closed = { additionalProperties: false } as const

const targetUrl = () =>
  Type.String({
    minLength: 1,
    maxLength: RESTREAM_LIMITS.urlMax,
    description: 'Its address without the key: `rtmp://` or `rtmps://`, with the application.',
    examples: ['rtmps://live.example.com/app'],
  })
const targetLabel = () => Type.String({ maxLength: RESTREAM_LIMITS.labelMax, description: 'A name for people.' })
/** The targets of a body. */
export const restreamBody = () =>
  Type.Array(
    Type.Object(
      {
        url: targetUrl(),
        key: Type.String({
          minLength: RESTREAM_LIMITS.keyMin,
          maxLength: RESTREAM_LIMITS.keyMax,
          format: 'password',
          description: 'Its stream key.',
          examples: ['live_0123456789'],
        }),
        label: Type.Optional(orNull(targetLabel(), 'A name for people.')),
        enabled: flag('false: nothing is sent to it. Default true.'),
        transcode: flag('true: video other than H.264, which RTMP does not carry, is encoded again. Default false.'),
      },
      closed,
    ),
    { maxItems: RESTREAM_LIMITS.targetsMax },
  )
const targetRecord = () => ({
  url: targetUrl(),
  key: Type.String({ description: 'The end of its stream key.', examples: ['••••6789'] }),
  label: targetLabel(),
  enabled: Type.Boolean(),
  transcode: Type.Boolean(),
})

const ABOUT = 'Other servers that get what is published.'

export const RESTREAM_TEXT = `${ABOUT} Replaces the list; [] clears it. A key as records show it keeps the key of the target with the same URL.`

/** The targets of a record. */
export const restreamRecord = () =>
  Type.Array(Type.Object(targetRecord(), closed), {
    description: `${ABOUT} The keys are shown by their last characters only.`,
  })
