import type { FastifyInstance } from 'fastify'
import { Type, type TProperties } from 'typebox'
import { readAudience } from '../../../commands/audience/readAudience.ts'
import type { Context } from '../../../commands/context.ts'
import { PROTOCOLS_OF } from '../../../core/access/protocols.ts'
import { AUDIENCE_BY, AUDIENCE_RESOLUTIONS } from '../../../core/audience/query.ts'
import { audienceCsv } from '../../../core/audience/report.ts'
import { DEVICES } from '../../../core/channels/device.ts'
import { accountOf } from '../auth.ts'
import { count, dateTime } from '../fieldSchemas.ts'
import { document } from '../openapi.ts'
import { sendFailure, sendResult } from '../problem.ts'
import { wantsCsv } from './csv.ts'
import { QualityData } from './qualityData.ts'
import { makeReport, tooManyReports } from './reportTurns.ts'

/** Who watched, how long, and how many at once. */
export function audienceRoutes(app: FastifyInstance, ctx: Context): void {
  app.get<{ Querystring: Record<string, unknown> }>(
    '/api/analytics/audience',
    document('analytics', 'Views, viewers, watch time and the most at once, beside the range before', {
      operationId: 'readAudience',
      querystring: AudienceQuery,
      data: AudienceData,
      csv: true,
    }),
    async (request, reply) => {
      const report = await makeReport(request, () => readAudience(ctx, accountOf(request), request.query))
      if (report === null) return sendFailure(reply, tooManyReports(reply))
      if (!wantsCsv(request)) return sendResult(reply, report)
      if (!report.ok) return sendFailure(reply, report.error)
      reply.header('Vary', 'Accept').header('Content-Disposition', 'attachment; filename="audience.csv"')
      return reply.type('text/csv; charset=utf-8').send(audienceCsv(report.value))
    },
  )
}

const only = (description: string, example: string) =>
  Type.Optional(Type.String({ maxLength: 255, description, examples: [example] }))

/** The zone of days and months. */
export const timeZone = () =>
  Type.Optional(
    Type.String({ default: 'UTC', description: 'A name of the IANA database.', examples: ['Europe/Vienna'] }),
  )

const AudienceQuery = Type.Object({
  startDate: Type.String({
    description: 'Inclusive. A date in `timeZone`, or an ISO 8601 time with a zone on a whole hour.',
    examples: ['2026-01-31'],
  }),
  stopDate: Type.String({ description: 'Exclusive; at most 400 days later.', examples: ['2026-02-07'] }),
  timeZone: timeZone(),
  resolution: Type.Optional(
    Type.Enum([...AUDIENCE_RESOLUTIONS], { description: 'Adds a series; by the hour for at most 31 days.' }),
  ),
  by: Type.Optional(
    Type.String({
      description: `Divides the figures: one or several of ${AUDIENCE_BY.join(', ')}, with commas.`,
      examples: ['streamName,country'],
    }),
  ),
  streamName: Type.Optional(Type.String({ maxLength: 128, description: 'Only this stream.' })),
  protocol: Type.Optional(Type.Enum([...PROTOCOLS_OF.view], { description: 'Only this protocol.' })),
  country: only('Only this country, ISO 3166-1 alpha-2; ZZ: not known.', 'AT'),
  site: only('Only pages of this host; `unknown`: players outside of browsers.', 'www.example.com'),
  device: only(`Only this kind of device: ${DEVICES.join(', ')} or \`unknown\`.`, 'mobile'),
  browser: only('Only this family of browsers or players.', 'Safari'),
})

const figures = {
  views: count('Sessions with media for at least 5 seconds that began in this time.'),
  viewers: count('Different viewers of these views, by signed id or else address; an estimate within about 2%.'),
  watchSeconds: count('How long the views lasted in this time, added up.'),
  mostAtOnce: count('The most views at one moment.'),
  quality: Type.Optional(QualityData),
}
const span = { from: dateTime('UTC, inclusive.'), until: dateTime('UTC, exclusive.') }
const rows = (more: TProperties, description: string) =>
  Type.Optional(Type.Array(Type.Object({ ...more, ...figures }), { description }))
const values = (of: string) => rows({ value: Type.String() }, `By ${of}, the 100 with the most watch time.`)

const AudienceData = Type.Object({
  ...span,
  total: Type.Object(figures),
  before: Type.Object({ ...span, ...figures }, { description: 'The same of as many days before.' }),
  series: rows({ time: dateTime('The beginning of the hour, day or month of `timeZone`.') }, 'Every time of the span.'),
  by: Type.Object(Object.fromEntries(AUDIENCE_BY.map((of) => [of, values(of)]))),
})
