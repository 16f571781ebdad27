import { Type, type TObject, type TSchema } from 'typebox'
import type { FastifyInstance } from 'fastify'
import { ok, type Result } from '../../../base/result.ts'
import { analyse, analyseAsCsv, type Report, type ReportName, REPORTS } from '../../../commands/usage/reports.ts'
import { listTrackingIds } from '../../../commands/usage/trackingIds.ts'
import { PROTOCOLS } from '../../../core/access/protocols.ts'
import type { Failure } from '../../../core/errors.ts'
import type { Mac } from '../../../core/pages/cursor.ts'
import { accountSeries } from '../../../commands/streams/series.ts'
import type { Context } from '../../../commands/context.ts'
import { SERIES_METRICS, SERIES_RANGES } from '../../../core/streams/seriesQuery.ts'
import { daysMaxOf } from '../../../core/usage/query.ts'
import { accountOf } from '../auth.ts'
import { count, pageCursor } from '../fieldSchemas.ts'
import { document } from '../openapi.ts'
import { longText, sendFailure, sendJsonText, sendResult } from '../problem.ts'
import { audienceRoutes, timeZone } from './audienceRoutes.ts'
import { wantsCsv } from './csv.ts'
import { recordRoutes } from './recordRoutes.ts'
import { makeReport, tooManyReports } from './reportTurns.ts'

type AnyQuery = { Querystring: Record<string, unknown> }

/** Reports of transferred bytes. */
export function usageRoutes(app: FastifyInstance, ctx: Context, sign: Mac): void {
  for (const name of Object.keys(REPORTS) as ReportName[]) {
    const { operationId, summary, data } = TEXTS[name]
    app.get<AnyQuery>(
      `/api/analytics/${name}`,
      document('analytics', summary, { operationId, querystring: queryOf(REPORTS[name]), data, csv: true }),
      async (request, reply) => {
        const about = [ctx, accountOf(request), name, request.query] as const
        const isCsv = wantsCsv(request)
        const made = await makeReport(request, () => (isCsv ? analyseAsCsv(...about) : asJson(analyse(...about))))
        if (made === null) return sendFailure(reply, tooManyReports(reply))
        if (!made.ok) return sendFailure(reply, made.error)
        if (!isCsv) return sendJsonText(reply, made.value)
        reply
          .header('Vary', 'Accept')
          .header('Content-Disposition', `attachment; filename="${name.replaceAll('/', '-')}.csv"`)
        return reply.type('text/csv; charset=utf-8').send(made.value)
      },
    )
  }
  app.get<AnyQuery>(
    '/api/analytics/tracking/ids',
    document('analytics', 'Tracking ids with traffic, with their bytes, in the order of the ids', {
      operationId: 'listTrackingIds',
      querystring: TrackedQuery,
      answer: TrackedAnswer,
    }),
    async (request, reply) => {
      const page = await listTrackingIds(ctx, sign, accountOf(request), request.query)
      return page.ok ? reply.send({ status: 'success', ...page.value }) : sendFailure(reply, page.error)
    },
  )
  app.get<{ Querystring: Record<string, unknown> }>(
    '/api/analytics/live_series',
    document('analytics', 'Viewers and bytes of the account by minute, for the last hour or day', {
      operationId: 'readLiveSeries',
      querystring: SeriesQuery,
      data: SeriesData,
    }),
    async (request, reply) => sendResult(reply, await accountSeries(ctx, accountOf(request), request.query)),
  )
  audienceRoutes(app, ctx)
  recordRoutes(app, ctx)
}

async function asJson(report: ReturnType<typeof analyse>): Promise<Result<string, Failure>> {
  const made = await report
  return made.ok ? ok(await longText({ status: 'success' }, made.value)) : made
}

const SeriesQuery = Type.Object({
  metric: Type.Optional(
    Type.String({
      description: `One or several of ${SERIES_METRICS.join(', ')}; without it all.`,
      examples: ['viewers'],
    }),
  ),
  range: Type.Optional(Type.Enum([...SERIES_RANGES], { default: 'hour' })),
})

const slots = (description: string) => Type.Optional(Type.Array(Type.Integer({ minimum: 0 }), { description }))

const SeriesData = Type.Object({
  range: Type.Enum([...SERIES_RANGES]),
  slotSeconds: Type.Integer({ description: 'The length of a slot: 60.' }),
  from: Type.String({
    format: 'date-time',
    description: 'The beginning of the first slot. The last one is in progress.',
  }),
  series: Type.Object(
    {
      viewers: slots('The most at once.'),
      bytesOut: slots('To viewers.'),
      bytesIn: slots('From publishers.'),
    },
    { description: 'One value for each slot.' },
  ),
})

function queryOf(report: Report): TObject {
  const { names, resolutions } = report
  const date = (description: string, example: string) => Type.String({ description, examples: [example] })
  return Type.Object({
    startDate: date('Inclusive. A date in `timeZone`, or an ISO 8601 time on a whole hour.', '2026-01-01'),
    stopDate: date(`Exclusive; at most ${daysMaxOf(report)} days later.`, '2026-01-31'),
    timeZone: timeZone(),
    ...(names ? { [names]: Type.Array(Type.String({ maxLength: 128 }), { minItems: 1, maxItems: 10 }) } : {}),
    ...(resolutions ? { resolution: Type.Enum([...resolutions]) } : {}),
    mediaOnly: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          '`bytesOut` of viewers and `bytesIn` of publishers alone, without the reports that each is sent about media.',
      }),
    ),
  })
}

const moved = {
  bytesOut: count(),
  bytesIn: count(),
  bytesFromCaches: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'The part of `bytesOut` that caches sent, from their logs; absent if none.',
    }),
  ),
}
const Moved = Type.Object(moved)
const Restream = Type.Object({ secondsUsed: count(), ...moved })
const by = (schema: TSchema, description: string) => Type.Record(Type.String(), schema, { description })
const bySlot = (schema: TSchema) =>
  by(schema, 'By the beginning of each hour, day or month of `timeZone`, ISO 8601 UTC: 2026-01-31T00:00:00Z.')
const WATCHED = {
  publishDuration: count('How long broadcasts of publishers there lasted in this time, seconds.'),
  viewDuration: count('How long views lasted in this time, seconds.'),
  publishes: count('Broadcasts that began in this time.'),
  views: count('Views that began in this time: sessions with media for at least 5 seconds.'),
}
const COUNTRIES = 'By country, ISO 3166-1 alpha-2; ZZ where it is not known.'
const ByCountry = by(Type.Object({ ...moved, ...WATCHED }), COUNTRIES)
/** A series of many hours has bytes alone. */
const ByCountryInSlot = by(Type.Object({ ...moved, ...Type.Partial(Type.Object(WATCHED)).properties }), COUNTRIES)
const ViewsByCountry = by(Type.Object({ bytes: count('In both directions.'), views: WATCHED.views }), COUNTRIES)
const geo = (schema: TSchema) => Type.Object({ geo: schema })

const Total = Type.Object({ ...moved, standardStream: Moved, restream: Restream, geoCascade: Moved })
const Series = Type.Object({
  bandwidth: bySlot(Moved),
  standardStream: bySlot(Moved),
  restream: bySlot(Restream),
  geoCascade: bySlot(Moved),
})
const TrackedQuery = Type.Object({
  startDate: Type.String({ description: 'As in the reports.', examples: ['2026-01-01'] }),
  stopDate: Type.String({ examples: ['2026-02-01'] }),
  timeZone: timeZone(),
  prefix: Type.Optional(Type.String({ maxLength: 128, description: 'Only ids that begin with this; case counts.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  cursor: pageCursor,
})

const TrackedAnswer = Type.Object({
  status: Type.Enum(['success']),
  data: Type.Array(Type.Object({ trackingId: Type.String(), ...moved })),
  pagination: Type.Object({ hasMore: Type.Boolean(), cursor: Type.Optional(Type.String()) }),
})

const PerStream = Type.Array(Type.Object({ streamName: Type.String(), ...moved }))
const PerTrackingId = Type.Array(
  Type.Object({
    trackingId: Type.Optional(Type.String({ description: 'Absent: counted under no tracking id.' })),
    ...moved,
  }),
)

const TEXTS: Readonly<Record<ReportName, { operationId: string; summary: string; data: TSchema }>> = {
  'account/total': { operationId: 'readAccountUsage', summary: 'Bytes of the account', data: Total },
  'account/series': { operationId: 'readAccountUsageSeries', summary: 'Bytes of the account over time', data: Series },
  'account/geo': {
    operationId: 'readAccountViewsByCountry',
    summary: 'Bytes and views of the account by country; the older form of `geo_total`',
    data: geo(ViewsByCountry),
  },
  'account/geo_total': {
    operationId: 'readAccountUsageByCountry',
    summary: 'Bytes, broadcasts and views of the account by country',
    data: geo(ByCountry),
  },
  'account/geo_series': {
    operationId: 'readAccountUsageByCountrySeries',
    summary: 'Bytes, broadcasts and views of the account by country over time',
    data: geo(bySlot(ByCountryInSlot)),
  },
  'account/protocol_total': {
    operationId: 'readAccountUsageByProtocol',
    summary: 'Bytes of the account by protocol',
    data: by(Moved, `By protocol: ${PROTOCOLS.join(', ')}.`),
  },
  'account/token_total': {
    operationId: 'readAccountUsageByToken',
    summary: 'Bytes of the account by token: the 100 tokens with the most, the most first',
    data: Type.Array(
      Type.Object({
        tokenId: Type.Optional(Type.Integer({ description: 'Absent: viewers without a token.' })),
        ...moved,
      }),
    ),
  },
  'streams/total': { operationId: 'readStreamUsage', summary: 'Bytes of streams', data: by(Total, 'By stream name.') },
  'streams/series': {
    operationId: 'readStreamUsageSeries',
    summary: 'Bytes of streams over time',
    data: by(Series, 'By stream name.'),
  },
  'streams/geo': {
    operationId: 'readStreamViewsByCountry',
    summary: 'Bytes and views of streams by country; the older form of `geo_total`',
    data: by(geo(ViewsByCountry), 'By stream name.'),
  },
  'streams/geo_total': {
    operationId: 'readStreamUsageByCountry',
    summary: 'Bytes, broadcasts and views of streams by country',
    data: geo(by(ByCountry, 'By stream name.')),
  },
  'streams/geo_series': {
    operationId: 'readStreamUsageByCountrySeries',
    summary: 'Bytes, broadcasts and views of streams by country over time',
    data: geo(by(bySlot(ByCountryInSlot), 'By stream name.')),
  },
  'tracking/total': {
    operationId: 'readTrackingUsage',
    summary: 'Bytes under tracking ids, by stream',
    data: by(PerStream, 'By tracking id.'),
  },
  'tracking/series': {
    operationId: 'readTrackingUsageSeries',
    summary: 'Bytes under tracking ids over time',
    data: by(bySlot(PerStream), 'By tracking id.'),
  },
  'tracking/streams/total': {
    operationId: 'readStreamUsageByTrackingId',
    summary: 'Bytes of streams, by tracking id',
    data: by(PerTrackingId, 'By stream name.'),
  },
  'tracking/streams/series': {
    operationId: 'readStreamUsageByTrackingIdSeries',
    summary: 'Bytes of streams over time, by tracking id',
    data: by(bySlot(PerTrackingId), 'By stream name.'),
  },
}
