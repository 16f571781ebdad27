import { Type } from 'typebox'
import { START_FAILURES } from '../../../core/quality/playerReport.ts'
import { VIEWER_QUALITY, type ViewerQuality } from '../../../core/quality/viewerQuality.ts'
import { count } from '../fieldSchemas.ts'

const orNull = (description: string) =>
  Type.Union([Type.Number({ minimum: 0 }), Type.Null()], { description: `${description} Null: not reported.` })

/** How well it played, as an answer has it. */
export const QualityData = Type.Object(
  {
    players: count('Sessions whose player reported.'),
    started: count('Those that showed a picture.'),
    startSeconds: orNull('From the wish to play to the first picture, the average.'),
    startSecondsMedian: orNull('The same, the median.'),
    startSeconds95: orNull('What 95 of 100 starts did not exceed.'),
    failures: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
      description: `Sessions without a picture, by reason: ${START_FAILURES.join(', ')}.`,
    }),
    playedSeconds: count('How long players showed moving pictures.'),
    stalls: count('How often they stopped after the first picture.'),
    stalledSeconds: Type.Number({ minimum: 0, description: 'How long they stood still.' }),
    behindSeconds: orNull('Behind the live edge, the average over reports.'),
    droppedPercent: orNull('Of the pictures that were decoded, those that were not shown.'),
    switches: count('Changes between WHEP and HLS.'),
    heights: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
      description:
        'Seconds that were played, by the height of the picture: the highest of 2160 to 144 that is not above it.',
    }),
    cmcd: Type.Object(
      {
        players: count('Sessions of players that send CMCD (CTA-5004).'),
        startSeconds: orNull('From the session to the first request that is not urgent (`su`), the average.'),
        starved: count('How often a buffer ran empty (`bs`).'),
        bufferSeconds: orNull('What is buffered (`bl`), the average over requests.'),
        kbps: orNull('Measured throughput (`mtp`), the average over requests.'),
      },
      { description: 'Of players over HLS that send CMCD.' },
    ),
  },
  { description: 'How well it played. Absent: no player reported.' },
)

const TEXTS: Partial<Record<keyof ViewerQuality, readonly string[]>> = {
  reportedBy: ['player', 'cmcd'],
  startFailure: START_FAILURES,
}

/** How well one session played: the same fields in records and in the list of sessions. */
export const viewerQualityFields = Object.fromEntries(
  Object.entries(VIEWER_QUALITY).map(([name, description]) => {
    const texts = TEXTS[name as keyof ViewerQuality]
    const value = texts === undefined ? Type.Number({ minimum: 0 }) : Type.Enum([...texts])
    return [name, Type.Union([value, Type.Null()], { description })]
  }),
)
