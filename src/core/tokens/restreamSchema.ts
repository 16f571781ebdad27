import { Type } from 'typebox'
import { RESTREAM_LIMITS } from '../restream/targets.ts'
import { flag, orNull } from './schemaParts.ts'
import { closed } from '../validation/closed.ts'

const targetUrl = () =>
  Type.String({
    minLength: 1,
    maxLength: RESTREAM_LIMITS.urlMax,
    description:
      'Its address: `rtmp://` or `rtmps://` with the application, without the key; `whip://` or `whips://` ' +
      'with the path of a WHIP endpoint; `srt://` with a port, `streamid`, `passphrase` and `latency` (milliseconds); ' +
      'or `rtsp://` or `rtsps://` with user and password. Records show the ends of secrets.',
    examples: ['rtmps://live.example.com/app', 'srt://studio.example.com:9000?passphrase=correct-horse&latency=500'],
  })
const targetLabel = () => Type.String({ maxLength: RESTREAM_LIMITS.labelMax, description: 'A name for people.' })
/** The targets of a body. */
export const restreamBody = () =>
  Type.Array(
    Type.Object(
      {
        url: targetUrl(),
        key: Type.Optional(
          Type.String({
            maxLength: RESTREAM_LIMITS.keyMax,
            format: 'password',
            description: `Its stream key, of ${RESTREAM_LIMITS.keyMin} characters or more. SRT and RTSP have none: leave it out.`,
            examples: ['live_0123456789'],
          }),
        ),
        label: Type.Optional(orNull(targetLabel(), 'A name for people.')),
        enabled: flag('false: nothing is sent to it. Default true.'),
        transcode: flag(
          'true: video other than H.264 is encoded again, and what SRT and RTSP get becomes H.264 and AAC. Default false.',
        ),
      },
      closed,
    ),
    { maxItems: RESTREAM_LIMITS.targetsMax },
  )
const targetRecord = () => ({
  url: targetUrl(),
  key: Type.String({ description: 'The end of its stream key; empty of SRT and RTSP.', examples: ['••••6789'] }),
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
