import { Type } from 'typebox'
import { date, optional, pageQuery, word } from './fields.ts'
import { RESOLUTIONS, SLOTS_MAX } from './analytics.ts'
import { closed } from '../validation/closed.ts'

const span = {
  start: Type.String({ description: 'From this moment on, ISO 8601 with a zone, or a day.', examples: ['2026-01-01'] }),
  end: Type.String({ description: 'Up to this moment, which is not part of it.', examples: ['2026-01-31'] }),
}

const ids = (of: string) => optional(Type.String({ description: `Only these ${of}, separated by commas.` }))

const series = (groups: readonly string[]) => ({
  ...span,
  resolution: word(RESOLUTIONS, `The steps of the report; at most ${SLOTS_MAX} of them.`),
  utcOffset: optional(
    Type.Integer({
      minimum: -720,
      maximum: 840,
      multipleOf: 15,
      description: 'Where days begin: minutes east of UTC.',
    }),
  ),
  groupBy: optional(word(groups, `Default ${groups[0]}.`)),
})

const streamingFormats = optional(Type.String({ description: 'Only these, separated by commas; all is `hls`.' }))

export const ChannelBytesQuery = Type.Object({
  ...series(['channel', 'distribution', 'streaming-format']),
  distributionIds: ids('distributions'),
  streamingFormats,
})

export const DistributionBytesQuery = Type.Object({
  ...series(['distribution', 'streaming-format']),
  streamingFormats,
})

export const ChannelViewingQuery = Type.Object({
  ...series(['channel', 'distribution']),
  distributionIds: ids('distributions'),
})

export const DistributionViewingQuery = Type.Object(series(['distribution']))

export const TranscodingQuery = Type.Object({ ...series(['channel', 'engine']), engineIds: ids('engines') })

export const SpanQuery = Type.Object(span)

export const TrackingQuery = Type.Object({ ...pageQuery, ...span })

const usageAmount = {
  amount: Type.Number(),
  bytesFromCaches: optional(
    Type.Number({ description: 'How many of these bytes caches sent. Absent: none, or the amount is of minutes.' }),
  ),
}

export const Series = Type.Array(
  Type.Object(
    {
      timestamp: date(),
      records: Type.Array(Type.Object({ id: Type.String(), ...usageAmount }, closed)),
    },
    closed,
  ),
  { description: 'Every step of the time in order; without records where there was nothing.' },
)

export const Countries = Type.Array(
  Type.Object(
    { countryCode: Type.String({ description: 'ISO 3166-1 alpha-2; ZZ: not known.' }), ...usageAmount },
    closed,
  ),
)

export const Tracked = Type.Object(
  {
    trackingId: optional(Type.String({ description: 'Absent: viewers without one.' })),
    ...usageAmount,
  },
  { $id: 'Tracked', ...closed },
)
