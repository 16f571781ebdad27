import { readFileSync } from 'node:fs'
import { type TProperties, type TSchema, Type } from 'typebox'
import { Check } from 'typebox/schema'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runApp, type RunningApp } from '../support/app.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { publish } from '../support/testNode.ts'

/** An operation of hosted services, with the shape that their clients expect in `data`. `$name` is what an answer gave before. */
interface Operation {
  readonly operation: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /api/${string}`
  readonly query?: string
  readonly body?: unknown
  readonly data: TSchema
  /** The name for `data.id`. */
  readonly saves?: string
}

const closed = { additionalProperties: false } as const
const text = Type.String()
const int = Type.Integer()
const flag = Type.Boolean()
const texts = Type.Array(text)
const date = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z$' })
const may = (schema: TSchema) => Type.Optional(Type.Union([schema, Type.Null()]))
const optional = (fields: TProperties): TProperties =>
  Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, may(schema)]))
/** An object with these fields and no others. The second ones may be absent, and the last ones are of Sluice alone. */
const object = (fields: TProperties, absent: TProperties = {}, own: readonly string[] = []) =>
  Type.Object(
    { ...fields, ...optional(absent), ...optional(Object.fromEntries(own.map((name) => [name, Type.Unknown()]))) },
    closed,
  )
const map = (schema: TSchema) => Type.Record(text, schema)

const cascade = object({ isEnabled: flag, clusters: texts })
const countries = { allowedCountries: texts, deniedCountries: texts }
const common = {
  id: int,
  label: text,
  token: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  addedOn: date,
  isActive: flag,
  streams: Type.Array(object({ streamName: text, isRegex: flag })),
  allowedOrigins: texts,
  allowedIpAddresses: texts,
  ...countries,
  originCluster: text,
}
const absent = { name: text, expiresOn: date, bindIpsOnUsage: int }
const OWN = [
  'endSessionsOnUpdate',
  'endAtExpiry',
  'lastUsedOn',
  'hlsRenditions',
  'hlsCodecs',
  'recordingDays',
  'transcode',
] as const

const publishToken = object(
  {
    ...common,
    subscribeRequiresAuth: flag,
    record: flag,
    clip: flag,
    multisource: flag,
    enableThumbnails: flag,
    lowLatencyRtmp: flag,
    integrationId: text,
    displaySrtPassphrase: flag,
    drm: flag,
    geoCascade: cascade,
    restream: Type.Array(object({ url: text, key: text, label: text, enabled: flag })),
    effectiveSettings: object({ originCluster: text, ...countries, geoCascade: cascade, enableUTCInsertion: flag }),
  },
  { ...absent, enableUTCInsertion: flag, priority: int, encoderProfileId: text, srtPassphrase: text },
  OWN,
)
const subscribeToken = object(
  { ...common, effectiveSettings: object({ originCluster: text, ...countries }) },
  { ...absent, tracking: object({ trackingId: text }) },
  OWN,
)
const webhook = object(
  {
    id: int,
    url: text,
    secret: text,
    isFeedHooks: flag,
    isMediaHooks: flag,
    isRecordingHooks: flag,
    isThumbnailHooks: flag,
    isTranscoderHooks: flag,
    isViewerConnectionHooks: flag,
  },
  { filter: text, disabled: object({ until: date, reason: text }, {}, ['sentences']) },
  ['isClipHooks', 'isRestreamHooks', 'isFeedHealthHooks'],
)
const cluster = object({
  id: text,
  name: text,
  rtmp: text,
  srt: text,
  location: object({ city: text, region: text, country: text }),
  features: object({ transcoding: flag }),
})
const clusters = object({ defaultCluster: text, availableClusters: Type.Array(cluster) })

const bytes = { bytesOut: int, bytesIn: int }
/** Bytes that caches have sent are reported beside, if there are any. */
const moved = object(bytes, {}, ['bytesFromCaches'])
const restreamed = object({ secondsUsed: int, ...bytes })
const total = object({ ...bytes, standardStream: moved, restream: restreamed, geoCascade: moved }, {}, [
  'bytesFromCaches',
])
const series = object({
  bandwidth: map(moved),
  standardStream: map(moved),
  restream: map(restreamed),
  geoCascade: map(moved),
})
const durations = { publishDuration: int, viewDuration: int, publishes: int, views: int }
const ofCountry = map(object(bytes, durations, ['bytesFromCaches']))
const viewsOfCountry = map(object({ bytes: int, views: int }))
const tracked = Type.Array(object({ ...bytes }, { streamName: text, trackingId: text }, ['bytesFromCaches']))

const number = Type.Number()
const monitored = { streamId: text, clusterId: text, startTime: date }
const summary = {
  ...monitored,
  streamName: text,
  clusters: texts,
  secureStream: flag,
  isRecordingAllowed: flag,
  multisource: flag,
  live: flag,
  viewerCount: int,
}
const place = { country: text, city: text, continent: text, coordinates: Type.Array(number), sub: texts, ip: text }
const runs = Type.Array(object({}, { started: date, ended: date, error: text }))
const feed = {
  ...monitored,
  feedId: text,
  serverId: text,
  active: flag,
  isRecordingAllowed: flag,
  isRedundant: flag,
  tokenId: int,
  client: object({}, place),
  restreams: Type.Array(object({ label: text, index: int, url: text, active: flag, events: runs })),
}
const absentOfFeed = { sourceId: text, simulcastId: text, endTime: date, priority: int }
const encodingStat = object(
  { timestamp: date },
  {
    resolution: object({ width: number, height: number }),
    bitRate: object({}, { audioBitrate: number, videoBitrate: number }),
    videoCodec: text,
    audioCodec: text,
    frames: number,
    rtt: number,
    bufferTime: number,
    bFrames: number,
  },
)
const encoding = object(
  { encodingId: text, encodingStats: Type.Array(encodingStat) },
  { iFrameRate: number, bFrameRate: number, pFrameRate: number },
)
const measured = {
  feedStats: Type.Array(object({ timestamp: date, packetLoss: number })),
  trackDetails: Type.Array(object({ trackId: text, encodingDetails: Type.Array(encoding) })),
}
const details = object({ ...feed, ...measured }, { ...absentOfFeed, type: text, frameRate: number, packetLoss: number })
const streamOf = (schema: TSchema) =>
  object({ ...summary, hasRedundant: flag, restreaming: flag, feeds: Type.Array(schema) }, { endTime: date })
const pageOf = (schema: TSchema) =>
  object({
    pagination: object({ totalItems: int, totalPages: int, itemsOnPage: int }),
    data: Type.Array(schema, { minItems: 1 }),
  })

const dates = 'startDate=2026-01-01&stopDate=2026-01-03'
const daily = `${dates}&resolution=Day`
const report = (path: string, query: string, data: TSchema): Operation => ({
  operation: `GET /api/analytics/${path}`,
  query,
  data,
})

const streams = [{ streamName: 'show' }]
const tokensOf = (kind: 'publish' | 'subscribe', record: TSchema): Operation[] => [
  { operation: `POST /api/${kind}_token`, body: { label: 'a', streams }, data: record, saves: kind },
  { operation: `GET /api/${kind}_token/$${kind}`, data: record },
  {
    operation: `PUT /api/${kind}_token/$${kind}`,
    body: { label: 'b', updateAllowedOrigins: ['a.example'] },
    data: record,
  },
  { operation: `PUT /api/v2/${kind}_token/$${kind}`, body: { allowedOrigins: [], bindIpsOnUsage: 2 }, data: record },
  { operation: `GET /api/${kind}_token/list`, query: 'sortBy=Name&page=1&itemsOnPage=10', data: Type.Array(record) },
  {
    operation: `GET /api/${kind}_token/list_by_name`,
    query: 'name=sh&page=1&itemsOnPage=10&filterBy=StreamName',
    data: Type.Array(record),
  },
]

const ids = object({ tokenIds: Type.Array(int) })
const stopped = object({ stoppingLevel: text })
const on = { isEnabled: true, clusters: ['all'] }

const expirationDays = Type.Union([object({ days: int }), Type.Null()])
const expiration = object({ timelines: Type.Null(), recordings: expirationDays, clips: Type.Null() })

const OPERATIONS: readonly Operation[] = [
  ...tokensOf('publish', publishToken),
  ...tokensOf('subscribe', subscribeToken),
  { operation: 'GET /api/publish_token/list_by_cluster', query: 'cluster=auto', data: Type.Array(publishToken) },
  { operation: 'GET /api/publish_token/active', query: 'streamId=$account/show', data: ids },
  { operation: 'GET /api/publish_token/active/all', data: ids },
  { operation: 'POST /api/publish_token/$publish/restream/sync', data: flag },
  {
    operation: 'PATCH /api/publish_token/disable',
    body: { tokenIds: ['$publish', 999_999] },
    data: object({
      successfulTokens: Type.Array(int),
      failedTokens: Type.Array(object({ tokenId: int, errorMessage: text })),
    }),
  },
  {
    operation: 'POST /api/webhooks',
    body: { url: 'https://hooks.example.com/', isFeedHooks: true },
    data: webhook,
    saves: 'webhook',
  },
  { operation: 'GET /api/webhooks/$webhook', data: webhook },
  { operation: 'GET /api/webhooks/list', query: 'itemCount=5', data: Type.Array(webhook) },
  { operation: 'PUT /api/webhooks/$webhook', body: { isMediaHooks: true, filter: 's.*' }, data: webhook },
  { operation: 'POST /api/webhooks/test/Feeds', body: { streamName: 'show' }, data: flag },
  { operation: 'DELETE /api/webhooks/$webhook', data: flag },
  report('account/total', dates, total),
  report('account/series', daily, series),
  report('account/geo', dates, object({ geo: viewsOfCountry })),
  report('streams/geo', `${dates}&streamNames=show`, map(object({ geo: viewsOfCountry }))),
  report('account/geo_total', dates, object({ geo: ofCountry })),
  report('account/geo_series', daily, object({ geo: map(ofCountry) })),
  report('streams/total', `${dates}&streamNames=show`, map(total)),
  report('streams/series', `${daily}&streamNames=show`, map(series)),
  report('streams/geo_total', `${dates}&streamNames=show`, object({ geo: map(ofCountry) })),
  report('streams/geo_series', `${daily}&streamNames=show`, object({ geo: map(map(ofCountry)) })),
  report('tracking/total', `${dates}&trackingIds=one`, map(tracked)),
  report('tracking/series', `${daily}&trackingIds=one`, map(map(tracked))),
  report('tracking/streams/total', `${dates}&streamNames=show`, map(tracked)),
  report('tracking/streams/series', `${daily}&streamNames=show`, map(map(tracked))),
  report('media/storage/usage', '', object({ totalBytes: int, recordings: int, clips: int, timelines: int, vod: int })),
  { operation: 'GET /api/record_files/usage', data: object({ totalBytes: int }) },
  { operation: 'GET /api/v3/account/info', data: object({ accountId: text }) },
  { operation: 'GET /api/v3/account/security', data: object(countries) },
  { operation: 'PUT /api/v3/account/security', body: { deniedCountries: ['FR'] }, data: object(countries) },
  { operation: 'GET /api/v3/account/media/expiration', data: expiration },
  { operation: 'PUT /api/v3/account/media/expiration', body: { recordings: { days: 30 } }, data: expiration },
  { operation: 'GET /api/geo/account', data: object(countries) },
  { operation: 'POST /api/geo/account', body: { updateDeniedCountries: [] }, data: object(countries) },
  { operation: 'GET /api/v3/account/distribution', data: object({ geoCascade: cascade }) },
  { operation: 'PUT /api/v3/account/distribution', body: { geoCascade: on }, data: object({ geoCascade: cascade }) },
  { operation: 'GET /api/account/geo_cascade', data: cascade },
  { operation: 'PUT /api/account/geo_cascade', body: { isEnabled: false }, data: cascade },
  { operation: 'GET /api/cluster', data: clusters },
  { operation: 'PUT /api/cluster', body: { defaultCluster: 'auto' }, data: clusters },
  {
    operation: 'GET /api/monitoring/streams',
    query: 'sortBy=ViewerCount&isActive=true&cluster=auto&itemsOnPage=5',
    data: pageOf(streamOf(object(feed, absentOfFeed))),
  },
  { operation: 'GET /api/monitoring/streams/live', data: streamOf(details) },
  { operation: 'GET /api/monitoring/summary', data: pageOf(object(summary, { endTime: date })) },
  { operation: 'GET /api/monitoring/summary/live', data: object(summary, { endTime: date }) },
  { operation: 'POST /api/thumbnails', body: { streamName: 'live' }, data: flag },
  { operation: 'POST /api/stream/reprioritize', body: { tokenId: '$publish', updatePriority: 3 }, data: stopped },
  { operation: 'POST /api/stream/stop', body: { streamId: '$account/live' }, data: stopped },
  { operation: 'POST /api/stream/stop/all', data: stopped },
  { operation: 'DELETE /api/publish_token/$publish', data: flag },
  { operation: 'DELETE /api/subscribe_token/$subscribe', data: flag },
]

/** Of WHIP and WHEP, which answer no JSON. */
const OFFERS = 2
/** Records of viewers, in two versions, which are lines of JSON: test/http/viewerRecords.test.ts. */
const RECORDS = 2

/** One of each row of "Operations that answer 404" in docs/guides/from-hosted-services.md. */
const NOT_ANSWERED = [
  'GET /api/v3/media/assets',
  'GET /api/record_files/list',
  'GET /api/v2/record_files/list',
  'GET /api/v3/account/media/storage',
  'GET /api/analytics/transcoder/total',
  'GET /api/analytics/drm/total',
  'GET /api/analytics/media/storage/usage/billing',
  'GET /api/transcoders',
  'GET /api/encoders/profiles',
  'POST /api/multitrackvideo/configuration',
  'POST /api/director/publish',
  'GET /api/analytics/storage/series',
]

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp({ engine: new ScriptedEngine() })
  const { json } = await sluice.call('POST', '/api/publish_token', { label: 'live', streams: [{ streamName: 'live' }] })
  await publish({ ctx: sluice.app.ctx }, { presented: json.data.token, streamName: 'live' })
})
afterAll(() => sluice.close())

it(`answers ${OPERATIONS.length} operations of hosted services in the shape that their clients expect`, async () => {
  const saved: Record<string, unknown> = { account: sluice.accountId }
  const filled = (value: string) => value.replace(/\$(\w+)/g, (_, name: string) => String(saved[name]))
  for (const { operation, query = '', body, data, saves } of OPERATIONS) {
    const [method = '', path = ''] = filled(operation).split(' ')
    const sent = body && JSON.parse(filled(JSON.stringify(body)).replace(/"(\d+)"/g, '$1'))
    const answer = await sluice.call(method, query === '' ? path : `${path}?${filled(query)}`, sent)
    expect([operation, answer.status, Object.keys(answer.json)]).toEqual([operation, 200, ['status', 'data']])
    expect([operation, Check(data, answer.json.data), answer.json.data]).toEqual([operation, true, answer.json.data])
    if (saves) saved[saves] = answer.json.data.id
  }
})

it('answers their offers over WHIP and WHEP', async () => {
  const { json } = await sluice.call('POST', '/api/publish_token', { label: 'whip', streams: [{ streamName: 'whip' }] })
  await publish({ ctx: sluice.app.ctx }, { presented: json.data.token, streamName: 'whip' })
  const headers = { 'content-type': 'application/sdp', authorization: `Bearer ${json.data.token}` }
  for (const [path, own] of [
    ['/api/whip/whip?codec=h264', headers],
    [`/api/whep/${sluice.accountId}/whip`, { 'content-type': 'application/sdp' }],
  ] as const) {
    const answer = await fetch(sluice.base + path, { method: 'POST', headers: own, body: 'v=0\r\n' })
    expect([path, answer.status, answer.headers.get('content-type')]).toEqual([path, 201, 'application/sdp'])
    expect(answer.headers.get('location')).toMatch(/^\/api\/wh[ie]p\/resource\//)
    expect(await answer.text()).toMatch(/^v=0/)
  }
})

it('are as many as the guide says, each once', () => {
  const distinct = new Set(OPERATIONS.map(({ operation }) => operation))
  expect(distinct.size).toBe(OPERATIONS.length)
  const guide = readFileSync(new URL('../../docs/guides/from-hosted-services.md', import.meta.url), 'utf8')
  expect(guide).toContain(`answers ${OPERATIONS.length + OFFERS + RECORDS} operations`)
})

it('are held to their shapes: a field that is absent, of another type or unknown is seen', () => {
  const right = { totalBytes: 1, recordings: 1, clips: 0, timelines: 0, vod: 0 }
  const usage = OPERATIONS.find(({ operation }) => operation.endsWith('/storage/usage'))?.data ?? Type.Never()
  const { vod: _vod, ...less } = right
  const seen = [right, less, { ...right, clips: '0' }, { ...right, more: 1 }].map((data) => Check(usage, data))
  expect(seen).toEqual([true, false, false, false])
  expect(Check(object({ a: date }, { b: int }), { a: '2026-01-31T09:30:00Z', b: null })).toBe(true)
  expect(Check(object({ a: date }), { a: '31 January' })).toBe(false)
})

it.each(NOT_ANSWERED)('answers 404 to %s, which the guide lists', async (operation) => {
  const [method = '', path = ''] = operation.split(' ')
  expect((await sluice.call(method, path)).status).toBe(404)
})
