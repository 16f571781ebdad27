import { Readable } from 'node:stream'
import { Type } from 'typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readViewerRecords } from '../../../commands/audience/viewerRecords.ts'
import type { Context } from '../../../commands/context.ts'
import {
  RECORD_NAMES_MAX,
  RECORD_OPERATORS,
  RECORD_SEARCHES,
  type RecordForm,
} from '../../../core/audience/recordQuery.ts'
import { RECORD_FORMATS, type RecordFormat, type ViewerRecord } from '../../../core/audience/records.ts'
import { failure } from '../../../core/errors.ts'
import { accountOf } from '../auth.ts'
import { sayRetryAfter } from '../limits.ts'
import { document } from '../openapi.ts'
import { sendFailure } from '../problem.ts'
import { wantsCsv } from './csv.ts'
import { type Download, DOWNLOADS, Downloads } from './downloads.ts'
import { viewerQualityFields } from './qualityData.ts'

const RETRY_MS = 10_000
const TOO_MANY = `An account reads ${DOWNLOADS.ofAccount} downloads of records at once, and a node serves ${DOWNLOADS.ofNode}: try again later`

/** A line for each connection of a viewer. */
export function recordRoutes(app: FastifyInstance, ctx: Context): void {
  const downloads = new Downloads()
  const send = (request: FastifyRequest, reply: FastifyReply, form: RecordForm, given: unknown) => {
    const accountId = accountOf(request)
    const records = readViewerRecords(ctx, accountId, form, given)
    if (!records.ok) return sendFailure(reply, records.error)
    const download: Download = { accountId, waitsSinceMs: null, end: () => body.destroy() }
    const now = () => ctx.clock.monotonic()
    if (!downloads.add(download, now())) {
      sayRetryAfter(reply, RETRY_MS)
      return sendFailure(reply, failure('rate_limited', TOO_MANY))
    }
    const format = RECORD_FORMATS[wantsCsv(request) ? 'csv' : 'jsonl']
    const body = Readable.from(textOf(records.value, format, (waits) => (download.waitsSinceMs = waits ? now() : null)))
    // Also when the client is gone before its end.
    body.once('close', () => downloads.delete(download))
    reply.header('Vary', 'Accept').type(`${format.type}; charset=utf-8`)
    return reply.send(body)
  }
  app.get<{ Querystring: Record<string, unknown> }>(
    '/api/reports/viewers',
    document('analytics', 'A record of each connection of a viewer, oldest first', {
      operationId: 'readViewerRecords',
      querystring: RecordQuery,
      lines: ViewerRecordLine,
    }),
    async (request, reply) => send(request, reply, 'query', request.query),
  )
  for (const form of ['v1', 'v2'] as const) {
    const { path, operationId, body } = HOSTED[form]
    app.post(
      path,
      document('analytics', 'The same, asked for as hosted services are', {
        operationId,
        body,
        lines: ViewerRecordLine,
      }),
      async (request, reply) => send(request, reply, form, request.body),
    )
  }
}

/** One page of records at a time: the next one is read when the client has taken it. */
async function* textOf(
  pages: AsyncIterable<readonly ViewerRecord[]>,
  { head, line }: RecordFormat,
  waits: (isWaiting: boolean) => void,
) {
  if (head !== '') yield head
  for await (const records of pages) {
    waits(true)
    yield records.map(line).join('')
    waits(false)
  }
}

const time = (description: string, example: string) => Type.Optional(Type.String({ description, examples: [example] }))
const search = Type.Optional(Type.Enum([...RECORD_SEARCHES], { default: 'Ongoing_Completed' }))
const names = (description: string) =>
  Type.Array(Type.String({ maxLength: 256 }), { minItems: 1, maxItems: RECORD_NAMES_MAX, description })

const TIMES = {
  startedAfter: time('ISO 8601 with a zone, or a day; inclusive.', '2026-01-01'),
  startedBefore: time('Exclusive.', '2026-02-01'),
  completedAfter: time('Of the end, inclusive. Connections that last are not concerned.', '2026-01-01'),
  completedBefore: time('Of the end, exclusive.', '2026-02-01'),
}

const RecordQuery = Type.Object({
  ...TIMES,
  search,
  streamName: Type.Optional(names('Only these streams.')),
  trackingId: Type.Optional(names('Only these tracking ids; an empty one: without a tracking id.')),
  after: Type.Optional(
    Type.String({ description: 'Only what comes after this `recordId`, such as that of the last line.' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, description: 'The most lines; without it all.' })),
})

const operator = (of: readonly string[]) => Type.Optional(Type.Enum([...of], { default: of[0] ?? '' }))
const [orEqual = '', greater = '', less = '', lessOrEqual = ''] = RECORD_OPERATORS
const after = operator([orEqual, greater])
const before = operator([less, lessOrEqual])

const hosted = {
  search,
  streamNames: Type.Optional(names('Only these streams.')),
  trackingIds: Type.Optional(
    Type.Array(Type.Union([Type.String({ maxLength: 256 }), Type.Null()]), {
      minItems: 1,
      maxItems: RECORD_NAMES_MAX,
      description: 'Only these tracking ids; null: without one.',
    }),
  ),
}
const example = { search: 'Completed', streamNames: ['show'] }

const HOSTED = {
  v1: {
    path: '/api/records/viewers',
    operationId: 'searchViewerRecords',
    body: Type.Object(
      {
        startTime: time('Of the start.', '2026-01-01T00:00:00Z'),
        startOperator: operator([orEqual, greater, less, lessOrEqual]),
        endTime: time('Of the end. Connections that last are not concerned.', '2026-02-01T00:00:00Z'),
        endOperator: operator([less, lessOrEqual, orEqual, greater]),
        ...hosted,
      },
      { examples: [{ startTime: '2026-01-01T00:00:00Z', startOperator: 'GreaterThanOrEqualTo', ...example }] },
    ),
  },
  v2: {
    path: '/api/v2/records/viewers',
    operationId: 'searchViewerRecordsV2',
    body: Type.Object(
      {
        ...TIMES,
        startedAfterOperator: after,
        startedBeforeOperator: before,
        completedAfterOperator: after,
        completedBeforeOperator: before,
        ...hosted,
      },
      { examples: [{ completedAfter: '2026-01-01T00:00:00Z', completedBefore: '2026-02-01T00:00:00Z', ...example }] },
    ),
  },
}

const text = (description: string) => Type.String({ description })
const orNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description })
const none = (description: string) => Type.Null({ description })

const ViewerRecordLine = Type.Object({
  recordId: text('The id of the session.'),
  previousRecordId: none('Always null: Sluice joins no two connections.'),
  startTime: text('ISO 8601.'),
  endTime: orNull('Null: it lasts.'),
  duration: Type.Integer({ minimum: 0, description: 'Seconds, until now if it lasts.' }),
  bytes: Type.Integer({ minimum: 0, description: 'Sent to the viewer, also by caches.' }),
  clientId: orNull('The `jti` of a self-signed token.'),
  clusterId: text('`auto`.'),
  country: orNull('ISO 3166-1 alpha-2.'),
  ipAddress: orNull('Null: it was forgotten.'),
  userAgent: none('Always null: of a `User-Agent` Sluice keeps `device` and `browser`.'),
  streamName: text(''),
  trackingId: orNull(''),
  customViewerData: orNull('As the claim of a self-signed token.'),
  protocol: text(''),
  site: orNull('The host of the page.'),
  device: orNull('As in the audience.'),
  browser: orNull('As in the audience.'),
  endReason: orNull('As in logs.'),
  ...viewerQualityFields,
})
