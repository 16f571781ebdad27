/**
 * Requests as documents, clients and samples of hosted services with this interface make them: their fields and values.
 * A request for something that Sluice does not do lists the reason.
 */
export interface ClientRequest {
  readonly what: string
  readonly method: string
  /** `PUBLISH`, `SUBSCRIBE` and `WEBHOOK` stand for ids, `ACCOUNT` for the account. */
  readonly path: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
  /** The fields that request missing features, and no others; absent: the request succeeds. */
  readonly refused?: readonly string[]
}

const stream = (streamName: string, isRegex?: boolean) => ({
  streamName,
  ...(isRegex === undefined ? {} : { isRegex }),
})
const cascade = { isEnabled: true, clusters: ['phx-1', 'sgp-1'] }
const restream = [{ label: 'platform', url: 'rtmp://live.example.com/app', key: '0123456789abcdef0123456789abcdef' }]
const twoStreams = [stream('container1/.+', true), stream('master_stream', false)]
const changes = {
  addTokenStreams: [stream('newStream1'), stream('special_regex_stream[0-9]+', true)],
  removeTokenStreams: ['container1/.+'],
}

/** The body of a client that fills in every field with values without effect. */
const everyField = {
  label: 'every field',
  streams: [stream('every-field', false)],
  expires: null,
  subscribeRequiresAuth: false,
  drm: false,
  record: false,
  clip: false,
  multisource: true,
  lowLatencyRtmp: true,
  enableUTCInsertion: null,
  enableThumbnails: false,
  displaySrtPassphrase: false,
  geoCascade: { isEnabled: false, clusters: [] },
  restream: [],
  priority: null,
  encoderProfileId: null,
  allowedOrigins: [],
  allowedIpAddresses: [],
  bindIpsOnUsage: null,
  originCluster: 'auto',
  allowedCountries: [],
  deniedCountries: [],
}

const PUBLISH: readonly ClientRequest[] = [
  {
    what: 'the least that creates a token',
    method: 'POST',
    path: '/api/publish_token',
    body: { label: 'simple_token', streams: [stream('stream1')] },
  },
  {
    what: 'three streams for a month',
    method: 'POST',
    path: '/api/publish_token',
    body: {
      streams: [stream('MainCam', false), stream('BackupCam', false), stream('StageCam', false)],
      label: 'DevTestToken',
      expires: 2_592_000,
    },
  },
  {
    what: 'any stream',
    method: 'POST',
    path: '/api/publish_token',
    body: { streams: [stream('.*', true)], label: 'any' },
  },
  {
    what: 'a token of a mobile app',
    method: 'POST',
    path: '/api/publish_token/',
    body: { label: 'app', streams: [stream('app')], subscribeRequiresAuth: true, record: false, multisource: false },
  },
  {
    what: 'a token with a geographic and a web restriction',
    method: 'POST',
    path: '/api/publish_token',
    body: {
      label: 'geo',
      streams: [stream('geo')],
      allowedCountries: ['US', 'CA'],
      allowedOrigins: ['example.com', '*.example.com'],
    },
  },
  {
    what: 'an origin cluster that the service chooses',
    method: 'POST',
    path: '/api/publish_token',
    body: { label: 'cluster', streams: [stream('cluster')], originCluster: '' },
  },
  { what: 'every field, with nothing in it', method: 'POST', path: '/api/publish_token', body: everyField },
  {
    what: 'every field, as a list of nulls',
    method: 'POST',
    path: '/api/publish_token',
    body: {
      ...Object.fromEntries(Object.keys(everyField).map((name) => [name, null])),
      label: 'nulls',
      streams: [stream('nulls')],
    },
  },
  {
    what: 'one stream, passed on to regions and to a platform',
    method: 'POST',
    path: '/api/publish_token',
    body: { label: 'simple_token', streams: [stream('stream1', false)], geoCascade: cascade, restream },
  },
  {
    what: 'one stream, passed on to a platform',
    method: 'POST',
    path: '/api/publish_token',
    body: { label: 'simple_token', streams: [stream('stream1', false)], restream },
  },
  {
    what: 'a pattern, passed on to regions and to a platform',
    method: 'POST',
    path: '/api/publish_token',
    body: { label: 'regex_token', streams: twoStreams, geoCascade: cascade, restream },
  },
  {
    what: 'an hour, passed on to regions and to a platform',
    method: 'POST',
    path: '/api/publish_token',
    body: {
      label: 'temp_token',
      expires: 3600,
      streams: [stream('temp_stream', false)],
      geoCascade: cascade,
      restream,
    },
  },
  {
    what: 'a named cluster',
    method: 'POST',
    path: '/api/publish_token',
    body: { label: 'cluster', streams: [stream('cluster')], originCluster: 'fra-1' },
    refused: ['originCluster'],
  },
  {
    what: 'clips and a licence',
    method: 'POST',
    path: '/api/publish_token',
    body: { label: 'clip', streams: [stream('clip')], clip: true, drm: true },
    refused: ['clip', 'drm'],
  },
  {
    what: 'another label and value',
    method: 'PUT',
    path: '/api/publish_token/PUBLISH',
    body: { label: 'new_label_name', refreshToken: true },
  },
  {
    what: 'other streams on the first path',
    method: 'PUT',
    path: '/api/publish_token/PUBLISH',
    body: { label: 'new_regex_token_name', subscribeRequiresAuth: true, ...changes },
  },
  {
    what: 'another label and value on the second path',
    method: 'PUT',
    path: '/api/v2/publish_token/PUBLISH',
    body: { label: 'new_label_name', refreshToken: true },
  },
  {
    what: 'fields of the first path that ask for nothing',
    method: 'PUT',
    path: '/api/publish_token/PUBLISH',
    body: { updateGeoCascade: { isEnabled: false }, updateRestream: [], updateOriginCluster: '' },
  },
  {
    what: 'fields of the second path that ask for nothing',
    method: 'PUT',
    path: '/api/v2/publish_token/PUBLISH',
    body: {
      geoCascade: { isEnabled: false, clusters: null },
      restream: [],
      originCluster: 'auto',
      lowLatencyRtmp: false,
    },
  },
  {
    what: 'targets of the first path',
    method: 'PUT',
    path: '/api/publish_token/PUBLISH',
    body: { updateRestream: restream },
  },
  {
    what: 'no address rules any more',
    method: 'PUT',
    path: '/api/publish_token/PUBLISH',
    body: { bindIpsOnUsage: 0, updateAllowedIpAddresses: [] },
  },
  {
    what: 'one token',
    method: 'GET',
    path: '/api/publish_token/PUBLISH',
    headers: { 'content-type': 'application/json' },
  },
  { what: 'the first page', method: 'GET', path: '/api/publish_token/list?page=1&itemsOnPage=10' },
  {
    what: 'a page by age, as Python writes it',
    method: 'GET',
    path: '/api/publish_token/list?sortBy=AddedOn&page=1&itemsOnPage=10&isDescending=True',
  },
  {
    what: 'a page by name',
    method: 'GET',
    path: '/api/publish_token/list_by_name?page=1&itemsOnPage=10&name=temp&filterBy=TokenOrStreamName',
  },
  {
    what: 'tokens on the air, the stream twice as curl sends it',
    method: 'GET',
    path: '/api/publish_token/active?streamId=ACCOUNT/stream1&streamId=ACCOUNT/stream1',
  },
  { what: 'all tokens on the air', method: 'GET', path: '/api/publish_token/active/all' },
  { what: 'tokens to switch off', method: 'PATCH', path: '/api/publish_token/disable', body: { tokenIds: [100] } },
]

const SUBSCRIBE: readonly ClientRequest[] = [
  {
    what: 'one stream for a month',
    method: 'POST',
    path: '/api/subscribe_token',
    body: { streams: [stream('StageCamera')], label: 'DevTestToken', expires: 2_628_000 },
  },
  {
    what: 'one viewer for an hour',
    method: 'POST',
    path: '/api/subscribe_token',
    body: { label: 'show', streams: [{ isRegex: false, streamName: 'show' }], expires: 3600, bindIpsOnUsage: 1 },
    headers: { 'content-type': 'application/json;charset=utf-8', accept: 'application/json, text/plain, */*' },
  },
  {
    what: 'a tracking id',
    method: 'POST',
    path: '/api/subscribe_token',
    body: { streams: [stream('StageCam')], tracking: { trackingId: 'Tracking_ID_1' }, label: 'DevTestToken' },
  },
  {
    what: 'no tracking id',
    method: 'POST',
    path: '/api/subscribe_token',
    body: { streams: [stream('StageCam')], tracking: {}, label: 'DevTestToken', originCluster: 'auto' },
  },
  {
    what: 'fifteen seconds of one page',
    method: 'POST',
    path: '/api/subscribe_token/',
    body: { streams: [stream('show', false)], label: 'page', allowedOrigins: ['viewer.example.com'], expires: 15 },
  },
  {
    what: 'other origins',
    method: 'PUT',
    path: '/api/subscribe_token/SUBSCRIBE',
    body: { updateAllowedOrigins: ['example.com', '*.example.com'] },
  },
  {
    what: 'other streams',
    method: 'PUT',
    path: '/api/subscribe_token/SUBSCRIBE',
    body: { label: 'new_regex_token_name', ...changes },
  },
  {
    what: 'the first spelling on the second path',
    method: 'PUT',
    path: '/api/v2/subscribe_token/SUBSCRIBE',
    body: { updateAllowedIpAddresses: ['192.0.2.0/24'], updateBindIpsOnUsage: 2 },
  },
  { what: 'one token', method: 'GET', path: '/api/subscribe_token/SUBSCRIBE' },
  { what: 'the first page', method: 'GET', path: '/api/subscribe_token/list?page=1&itemsOnPage=10' },
  { what: 'a page by name', method: 'GET', path: '/api/subscribe_token/list_by_name?page=1&itemsOnPage=10&name=temp' },
]

const url = 'https://example-webhook.example.com/path/route'
const hooks = {
  isFeedHooks: true,
  isMediaHooks: true,
  isThumbnailHooks: true,
  isTranscoderHooks: true,
  isViewerConnectionHooks: true,
}

const WEBHOOKS: readonly ClientRequest[] = [
  { what: 'every kind of event', method: 'POST', path: '/api/webhooks', body: { url, ...hooks } },
  {
    what: 'thumbnails alone',
    method: 'POST',
    path: '/api/webhooks',
    body: { isThumbnailHooks: true, isRecordingHooks: false, isFeedHooks: false, url },
  },
  {
    what: 'clips switched off',
    method: 'POST',
    path: '/api/webhooks/',
    body: { url, isFeedHooks: true, isClipHooks: false },
  },
  {
    what: 'clips',
    method: 'POST',
    path: '/api/webhooks',
    body: { url, isFeedHooks: true, isClipHooks: true },
    refused: ['isClipHooks'],
  },
  {
    what: 'another address',
    method: 'PUT',
    path: '/api/webhooks/WEBHOOK',
    body: { ...hooks, url: 'https://new-domain.example.com/other', isMediaHooks: false },
  },
  { what: 'all of them', method: 'GET', path: '/api/webhooks/list?itemCount=10&isDescending=False' },
  {
    what: 'a test',
    method: 'POST',
    path: '/api/webhooks/test/Feeds',
    body: { streamName: 'myStreamName', transcoderName: 'transcoderName' },
  },
  { what: 'a test without a body', method: 'POST', path: '/api/webhooks/test/ViewerConnection' },
]

const dates = 'startDate=2020-01-01&stopDate=2020-04-01'
const hours = 'startDate=2020-03-01T00:00:00Z&stopDate=2020-03-01T05:00:00Z'
const report = (path: string): ClientRequest => ({ what: 'a report', method: 'GET', path: `/api/analytics/${path}` })

const ofAccount = (method: string, path: string, body?: object): ClientRequest => ({
  what: 'what an account says for its tokens',
  method,
  path,
  ...(body ? { body } : {}),
})
const lowerCase = { isenabled: true, clusters: ['all'] }

const OTHERS: readonly ClientRequest[] = [
  report(`account/total?${dates}`),
  report(`account/series?${dates}&resolution=Month`),
  report(`account/geo_total?${dates}`),
  report(`account/geo_series?${dates}&resolution=Hour`),
  report(`streams/total?${dates}&streamNames=mystream&streamNames=otherstream`),
  report(`streams/series?${hours}&streamNames=mystream&resolution=Hour`),
  report(`streams/geo_total?${dates}&streamNames=mystream`),
  report(`streams/geo_series?${dates}&resolution=Hour&streamNames=mystream`),
  report(`tracking/total?trackingIds=Tracking_ID_1&startDate=2023-02-02&stopDate=2023-07-27`),
  report(`tracking/series?${dates}&resolution=Day&trackingIds=one`),
  report(`tracking/streams/total?${dates}&streamNames=mystream`),
  report(`tracking/streams/series?${dates}&resolution=Day&streamNames=mystream`),
  { what: 'the account', method: 'GET', path: '/api/v3/account/info' },
  ofAccount('GET', '/api/v3/account/security'),
  ofAccount('PUT', '/api/v3/account/media/expiration', { recordings: { days: 365 } }),
  ofAccount('PUT', '/api/v3/account/security', { allowedCountries: [], deniedCountries: ['GB'] }),
  ofAccount('GET', '/api/geo/account'),
  ofAccount('POST', '/api/geo/account', { updateAllowedCountries: [], updateDeniedCountries: [] }),
  ofAccount('GET', '/api/v3/account/distribution'),
  ofAccount('PUT', '/api/v3/account/distribution', { geoCascade: lowerCase }),
  ofAccount('GET', '/api/account/geo_cascade'),
  ofAccount('PUT', '/api/account/geo_cascade', lowerCase),
  { what: 'the clusters', method: 'GET', path: '/api/cluster' },
  { what: 'what media takes', method: 'GET', path: '/api/record_files/usage' },
  report('media/storage/usage'),
  { what: 'the default cluster', method: 'PUT', path: '/api/cluster', body: { defaultCluster: 'auto' } },
  {
    what: 'the tokens of a cluster',
    method: 'GET',
    path: '/api/publish_token/list_by_cluster?cluster=auto&page=1&itemsOnPage=10',
  },
  { what: 'the end of a stream', method: 'POST', path: '/api/stream/stop', body: { streamId: 'ACCOUNT/lk80jny' } },
  { what: 'the end of all streams', method: 'POST', path: '/api/stream/stop/all' },
  { what: 'the end of all streams, with an empty object', method: 'POST', path: '/api/stream/stop/all', body: {} },
  {
    what: 'no token any more',
    method: 'DELETE',
    path: '/api/publish_token/PUBLISH',
    headers: { 'content-type': 'application/json' },
  },
  { what: 'no token any more', method: 'DELETE', path: '/api/subscribe_token/SUBSCRIBE' },
  { what: 'no webhook any more', method: 'DELETE', path: '/api/webhooks/WEBHOOK' },
]

export const CLIENT_REQUESTS = [...PUBLISH, ...SUBSCRIBE, ...WEBHOOKS, ...OTHERS]

/** Fields of a record that clients read without checking whether they exist. */
export const READ_OF_RECORDS = {
  publish: [
    'id name label token addedOn isActive streams allowedOrigins allowedIpAddresses allowedCountries deniedCountries',
    'subscribeRequiresAuth record clip multisource enableThumbnails lowLatencyRtmp integrationId displaySrtPassphrase drm',
    'geoCascade.isEnabled geoCascade.clusters restream.length originCluster effectiveSettings.originCluster',
    'effectiveSettings.allowedCountries effectiveSettings.deniedCountries effectiveSettings.geoCascade.isEnabled',
  ],
  subscribe: [
    'id name label token addedOn isActive streams allowedOrigins allowedIpAddresses allowedCountries deniedCountries',
    'originCluster effectiveSettings.originCluster effectiveSettings.allowedCountries effectiveSettings.deniedCountries',
  ],
} as const
