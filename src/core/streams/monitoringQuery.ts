import { type Static, Type } from 'typebox'
import type { Result } from '../../base/result.ts'
import { CLUSTER } from '../clusters.ts'
import type { FieldErrors } from '../errors.ts'
import { parametersOf } from '../pages/parameters.ts'
import { readQuery } from '../tokens/listQuery.ts'
import { Problems } from '../validation/problems.ts'
import type { MonitoredStream } from './monitoring.ts'

/** What lists of monitored streams are sorted by, as hosted services name it: one entry is all that a new one needs. */
const SORTED_BY: Readonly<Record<string, (stream: MonitoredStream, nowMs: number) => string | number>> = {
  StreamId: ({ streamName }) => streamName,
  Cluster: () => CLUSTER,
  StartTime: ({ startTime }) => startTime,
  Duration: ({ startTime, endTime }, nowMs) =>
    (endTime === undefined ? nowMs : Date.parse(endTime)) - Date.parse(startTime),
  Live: ({ live }) => Number(live),
  ViewerCount: ({ viewerCount }) => viewerCount,
  Restream: ({ restreaming }) => Number(restreaming),
}

const flag = () => Type.Optional(Type.Boolean())

const SUMMARY_FIELDS = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647, default: 1 })),
  itemsOnPage: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 10 })),
  sortBy: Type.Optional(
    Type.Enum(Object.keys(SORTED_BY), { default: 'Live', description: 'Ties are broken by name.' }),
  ),
  isDescending: Type.Optional(Type.Boolean({ default: true })),
  isActive: Type.Optional(Type.Boolean({ description: 'On the air now.' })),
  isSecure: flag(),
  isMultisource: flag(),
  searchSubstring: Type.Optional(
    Type.String({ maxLength: 256, description: 'Text to find in stream names, in any case.' }),
  ),
  isRecordingAllowed: flag(),
  transcoderId: Type.Optional(Type.String({ maxLength: 256, description: 'There are none, so it matches nothing.' })),
}

/** The query without `cluster`, which may be repeated. */
export const MonitoringQuery = Type.Object(
  {
    ...SUMMARY_FIELDS,
    hasRedundant: Type.Optional(Type.Boolean({ description: 'Publishers wait as spares.' })),
    isRestreaming: Type.Optional(Type.Boolean({ description: 'A target takes its media.' })),
  },
  { $id: 'MonitoringQuery', additionalProperties: false },
)

/** The same for the summary, which shows neither spares nor targets. */
export const MonitoringSummaryQuery = Type.Object(SUMMARY_FIELDS, {
  $id: 'MonitoringSummaryQuery',
  additionalProperties: false,
})

export type MonitoringRequest = Static<typeof MonitoringQuery> & { readonly clusters: readonly string[] }

/** Parses the query of the list, or of the summary. Unknown parameters are ignored. */
export function readMonitoringQuery(
  schema: typeof MonitoringQuery | typeof MonitoringSummaryQuery,
  query: Record<string, unknown>,
): Result<MonitoringRequest, FieldErrors> {
  const problems = new Problems()
  const reader = readQuery(schema as typeof MonitoringQuery, query, problems)
  const names = Object.keys(schema.properties) as (keyof Static<typeof MonitoringQuery>)[]
  const known = names.map((name) => [name, reader.value(name)]).filter(([, value]) => value !== undefined)
  const { cluster = [] } = parametersOf(query, ['cluster'])
  return problems.settle({
    ...(Object.fromEntries(known) as Static<typeof MonitoringQuery>),
    clusters: [cluster].flat(),
  })
}

/** One page, as hosted services number them. */
export interface MonitoringPage<S> {
  readonly pagination: { readonly totalItems: number; readonly totalPages: number; readonly itemsOnPage: number }
  readonly data: readonly S[]
}

/** The page of the streams that match. `itemsOnPage` of the answer is the number of its streams. */
export function monitoringPage(
  streams: readonly MonitoredStream[],
  request: MonitoringRequest,
  nowMs: number,
): MonitoringPage<MonitoredStream> {
  const { page = 1, itemsOnPage = 10, sortBy = 'Live', isDescending = true } = request
  const keyOf = SORTED_BY[sortBy] ?? (() => 0)
  const direction = isDescending ? -1 : 1
  const found = streams
    .filter((stream) => matches(stream, request))
    .map((stream) => ({ stream, key: keyOf(stream, nowMs) }))
    .toSorted((a, b) => direction * compare(a.key, b.key) || compare(a.stream.streamName, b.stream.streamName))
    .map(({ stream }) => stream)
  const data = found.slice((page - 1) * itemsOnPage, page * itemsOnPage)
  const totalPages = Math.ceil(found.length / itemsOnPage)
  return { pagination: { totalItems: found.length, totalPages, itemsOnPage: data.length }, data }
}

const compare = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0)

function matches(stream: MonitoredStream, request: MonitoringRequest): boolean {
  const { searchSubstring = '', clusters, transcoderId } = request
  const flags: [boolean | undefined, boolean][] = [
    [request.isActive, stream.live],
    [request.isSecure, stream.secureStream],
    [request.isMultisource, stream.multisource],
    [request.hasRedundant, stream.hasRedundant],
    [request.isRecordingAllowed, stream.isRecordingAllowed],
    [request.isRestreaming, stream.restreaming],
  ]
  return (
    transcoderId === undefined &&
    (clusters.length === 0 || clusters.includes(CLUSTER)) &&
    stream.streamName.toLowerCase().includes(searchSubstring.toLowerCase()) &&
    flags.every(([wish, value]) => wish === undefined || wish === value)
  )
}
