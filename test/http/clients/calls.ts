/** One call of an operation. `$name` in its arguments is a value that an earlier answer gave. */
export interface Call {
  readonly operation: string
  /** Parameters by name; `body` is the body. */
  readonly args: Readonly<Record<string, unknown>>
  /** Names for parts of the answer: where they are in it. */
  readonly saves: Readonly<Record<string, string>>
  /** The class of the status that is expected. */
  readonly answer: '2' | '4'
}

const call = (operation: string, args: Call['args'] = {}, saves: Call['saves'] = {}): Call => ({
  operation,
  args,
  saves,
  answer: '2',
})

/** Something that a test does not have: the answer is a refusal that the document describes. */
const refused = (operation: string, args: Call['args']): Call => ({ ...call(operation, args), answer: '4' })

const streams = [{ streamName: 'show' }]
const dates = { startDate: '2026-01-01', stopDate: '2026-01-08' }
const series = { ...dates, resolution: 'Day' }
const span = { start: '2026-01-01T00:00:00.000Z', end: '2026-01-08T00:00:00.000Z' }

const tokens = (Kind: 'Publish' | 'Subscribe'): Call[] => {
  const tokenId = `$${Kind}`
  return [
    call(`create${Kind}Token`, { body: { label: 'a', streams } }, { [Kind]: 'data.id' }),
    call(`read${Kind}Token`, { tokenId }),
    call(`update${Kind}TokenV1`, { tokenId, body: { label: 'b' } }),
    call(`update${Kind}Token`, { tokenId, body: { bindIpsOnUsage: 2 } }),
    call(`list${Kind}Tokens`, { sortBy: 'LastUsedOn', isDescending: true, state: 'ready', includeValue: false }),
    call(`list${Kind}TokensByName`, { name: 'show', filterBy: 'StreamName', itemsOnPage: 5 }),
    call(`list${Kind}TokenBoundIps`, { tokenId }),
    call(`clear${Kind}TokenBoundIps`, { tokenId }),
    call(`disable${Kind}Tokens`, { body: { tokenIds: [tokenId, 999_999] } }),
    call(`enable${Kind}Tokens`, { body: { tokenIds: [tokenId] } }),
  ]
}

const TOKENS: readonly Call[] = [
  call('readAccountInfo', {}, { account: 'data.accountId' }),
  ...tokens('Publish'),
  ...tokens('Subscribe'),
  call('listPublishTokensByCluster', { cluster: 'auto', itemsOnPage: 5 }),
  call('listActivePublishTokenIds', { streamId: '$stream' }),
  call('listUsablePublishTokenIds', { streamId: '$stream' }),
  call('listAllActivePublishTokenIds'),
  call('signSubscribeToken', { tokenId: '$Subscribe', body: { streamName: 'show', jti: 'guest' } }),
  call('revokeSelfSignedTokens', { tokenId: '$Subscribe', body: { jti: 'guest' } }),
  call('syncRestream', { tokenId: '$Publish' }),
  call('reprioritizeStream', { body: { tokenId: '$Publish', updatePriority: 3 } }),
  call('testPattern', { body: { pattern: 's.*', streamNames: ['show', 'other'] } }),
  call('checkAccess', {
    body: { action: 'publish', protocol: 'whip', streamName: 'other', ip: '192.0.2.1', tokenId: '$Publish' },
  }),
  call('listAccessLog', { tokenId: '$Publish', allowed: false }, { decision: 'data.0.id' }),
  call('readAccessLogEntry', { decisionId: '$decision' }),
  call('readAccessSummary', { source: 'check' }),
  call('readLogAdmissions'),
  call('updateLogAdmissions', { body: { isEnabled: false } }),
]

const PULLS: readonly Call[] = [
  call(
    'createPull',
    { body: { tokenId: '$Publish', streamName: 'show', url: 'rtsp://camera.example.com/main', enabled: false } },
    { pull: 'data.id' },
  ),
  call('listPulls'),
  call('readPull', { pullId: '$pull' }),
  call('updatePull', { pullId: '$pull', body: { label: 'Door' } }),
  call('deletePull', { pullId: '$pull' }),
]

const USAGE: readonly Call[] = [
  ...[
    'readAccountUsage',
    'readAccountUsageByCountry',
    'readAccountUsageByProtocol',
    'readAccountUsageByToken',
    'readAccountViewsByCountry',
  ].map((name) => call(name, dates)),
  ...['readAccountUsageSeries', 'readAccountUsageByCountrySeries'].map((name) => call(name, series)),
  ...['readStreamUsage', 'readStreamUsageByCountry', 'readStreamViewsByCountry', 'readStreamUsageByTrackingId'].map(
    (name) => call(name, { ...dates, streamNames: ['show', 'other'] }),
  ),
  ...['readStreamUsageSeries', 'readStreamUsageByCountrySeries', 'readStreamUsageByTrackingIdSeries'].map((name) =>
    call(name, { ...series, streamNames: ['show'] }),
  ),
  call('readTrackingUsage', { ...dates, trackingIds: ['customer'] }),
  call('readTrackingUsageSeries', { ...series, trackingIds: ['customer'] }),
  call('listTrackingIds', { ...dates, prefix: 'c', limit: 1 }),
]

const SESSIONS: readonly Call[] = [
  call('listStreamsOnAir', { limit: 1 }),
  call('readLiveSeries', { metric: 'viewers', range: 'hour' }),
  // A line for each record is no JSON, so there are none.
  call('readViewerRecords', { streamName: 'nobody', limit: 5 }),
  call('searchViewerRecords', { body: { streamNames: ['nobody'] } }),
  call('searchViewerRecordsV2', { body: { streamNames: ['nobody'], search: 'Completed' } }),
  call('readAudience', { startDate: '2026-01-01', stopDate: '2026-02-01', by: 'country' }),
  call('listBroadcasts', { limit: 1 }),
  call('listEndedStreams', { search: 'show', limit: 1 }),
  call('listBroadcastsOfStream', { streamName: 'show', limit: 1 }),
  call('listRestreamEvents', { streamName: 'show', limit: 1 }),
  refused('readThumbnail', { streamName: 'show' }),
  refused('requestThumbnail', { body: { streamName: 'absent' } }),
  call('readMediaUsage'),
  call('readRecordingUsage'),
  refused('readStreamHealth', { streamName: 'show' }),
  call('listMonitoredStreams', { sortBy: 'ViewerCount', isActive: true, cluster: ['auto'], itemsOnPage: 5 }),
  refused('readMonitoredStream', { streamName: 'nothing' }),
  call('listMonitoredSummaries', { searchSubstring: 'show', isDescending: false }),
  refused('readMonitoredSummary', { streamName: 'nothing' }),
  call('readServer'),
  call('readClusters'),
  call('updateDefaultCluster', { body: { defaultCluster: 'auto' } }),
  call('readAccountSecurity'),
  call('updateAccountSecurity', { body: { deniedCountries: [] } }),
  call('readAccountCountries'),
  call('updateAccountCountries', { body: { updateAllowedCountries: [] } }),
  refused('switchRecording', { streamName: 'show', body: { record: false } }),
  call('readMediaExpiration'),
  call('updateMediaExpiration', { body: { recordings: { days: 30 } } }),
  call('readAccountDistribution'),
  call('updateAccountDistribution', { body: { geoCascade: { isEnabled: false } } }),
  call('readAccountGeoCascade'),
  call('updateAccountGeoCascade', { body: { isEnabled: true, clusters: ['all'] } }),
  call('readAttention'),
  call('readStorage'),
  call('readConfiguration'),
  call('readExamination'),
  call('examineServer'),
  call('readServerStorage'),
  call('readUpkeep'),
  call('readBackup'),
  refused('downloadBackup', {}),
  call('createBackup'),
  call('listNodes'),
  refused('drainNode', { nodeId: 'no-node' }),
  refused('reloadNode', { nodeId: 'no-node' }),
  call('listSessions', { action: 'view', limit: 1 }, { session: 'data.0.id' }),
  call('endSession', { sessionId: '$session' }),
  call('stopStream', { body: { streamId: '$stream' } }),
  call('stopAllStreams'),
  call('listRecordings', { limit: 1 }, { recording: 'data.0.id' }),
  call('readRecording', { recordingId: '$recording' }),
  refused('downloadRecording', { recordingId: '$recording' }),
  refused('readRecordingThumbnail', { recordingId: '$recording' }),
  refused('signRecording', { recordingId: '$recording', body: { expiresInSeconds: 60 } }),
  refused('readRecordingLink', { recordingId: '$recording', seconds: 60 }),
  call('deleteRecording', { recordingId: '$recording' }),
]

const WEBHOOKS: readonly Call[] = [
  call('createWebhook', { body: { url: '$receiver', isFeedHooks: true } }, { webhook: 'data.id' }),
  call('readWebhook', { webhookId: '$webhook' }),
  call('updateWebhook', { webhookId: '$webhook', body: { filter: 's.*' } }),
  call('listWebhooks', { itemCount: 1, isDescending: true }),
  call('testWebhooks', { webhookType: 'Feeds', body: { streamName: 'show' } }),
  call('testWebhook', { webhookId: '$webhook', webhookType: 'Feeds', body: {} }),
  call('listWebhookDeliveries', { webhookId: '$logged', state: 'skipped', type: 'feeds' }, { delivery: 'data.0.id' }),
  call('readWebhookDelivery', { webhookId: '$logged', deliveryId: '$delivery' }),
  call('redeliverWebhookEvent', { webhookId: '$logged', deliveryId: '$delivery' }),
  call('redeliverWebhookEvents', { webhookId: '$logged', body: { states: ['failed', 'skipped'] } }),
  call('deleteWebhook', { webhookId: '$webhook' }),
]

const channelId = '$channel'
const engine = { name: 'Main', region: 'local', quality: { abrLadderId: '$ladder' } }
const video = [{ width: 640, height: 360, bitrate: 800_000 }]

const CHANNELS: readonly Call[] = [
  call('listRegions', {}, { region: 'data.0.id' }),
  call('readRegion', { regionId: '$region' }),
  call('listLadders', { limit: 1 }, { ladder: 'data.0.id' }),
  call('createChannel', { body: { name: 'Stage' } }, { channel: 'data.id' }),
  call('listChannels', { name: 'Stage', limit: 1 }),
  call('readChannel', { channelId, include: 'ingests,engines' }),
  call('updateChannel', { channelId, body: { name: 'Main stage' } }),
  refused('setSlate', { channelId }),
  refused('readSlate', { channelId }),
  refused('deleteSlate', { channelId }),
  call(
    'createIngest',
    { channelId, body: { name: 'Camera', type: 'rtmp-push', region: 'local' } },
    { ingest: 'data.id' },
  ),
  call('listIngests', { channelId, limit: 1 }),
  call('readIngest', { ingestId: '$ingest' }),
  call('updateIngest', { ingestId: '$ingest', body: { name: 'Camera 1' } }),
  call('rotateIngestKey', { ingestId: '$ingest' }),
  call('createEngine', { channelId, body: { ...engine, ingestId: '$ingest' } }, { engine: 'data.id' }),
  call('createIngestEngine', { ingestId: '$ingest', body: engine }, { spare: 'data.id' }),
  // Before its channel starts: an engine that is not at rest yet is not deleted.
  call('deleteEngine', { engineId: '$spare' }),
  call('listEngines', { channelId }),
  call('listIngestEngines', { ingestId: '$ingest' }),
  call('readEngine', { engineId: '$engine' }),
  call('updateEngine', { engineId: '$engine', body: { priority: 1 } }),
  call('syncEngineRestream', { engineId: '$engine' }),
  call('createDistribution', { channelId, body: { name: 'Web' } }, { distribution: 'data.id' }),
  call('listDistributions', { channelId }),
  call('readDistribution', { distributionId: '$distribution' }),
  call('updateDistribution', { distributionId: '$distribution', body: { name: 'Site' } }),
  call('createDistributionKey', { distributionId: '$distribution', body: { key: 'k'.repeat(64) } }, { key: 'data.id' }),
  call('listDistributionKeys', { distributionId: '$distribution' }),
  call('readDistributionKey', { distributionId: '$distribution', keyId: '$key' }),
  call('signViewerToken', { distributionId: '$distribution', keyId: '$key', body: { trackingId: 'guest' } }),
  call('deleteDistributionKey', { distributionId: '$distribution', keyId: '$key' }),
  call('deleteDistributionKeys', { distributionId: '$distribution' }),
  call('createLadder', { body: { name: 'Small', video } }, { own: 'data.id' }),
  call('readLadder', { ladderId: '$own' }),
  call('updateLadder', { ladderId: '$own', body: { name: 'Smaller' } }),
  call('deleteLadder', { ladderId: '$own' }),
]

const RUNS: readonly Call[] = [
  call('startChannel', { channelId }),
  call('readChannelMonitoring', { channelId }),
  call('readIngestMonitoring', { ingestId: '$ingest' }),
  call('listIngestMonitoring', { channelId }),
  call('readEngineMonitoring', { engineId: '$engine' }),
  call('listEngineMonitoring', { channelId }),
  call('stopChannel', { channelId }),
  call('startEngine', { engineId: '$engine' }),
  call('stopEngine', { engineId: '$engine' }),
  call('listChannelRuns', { channelId, limit: 1 }),
  call('listEngineRuns', { engineId: '$engine' }),
  refused('readLastEngineRun', { engineId: 'en_1111111111111111111111' }),
  call('readChannelTranscodingMinutes', { channelId, ...span, resolution: 'day' }),
  ...['ChannelBytes', 'ChannelViewingMinutes', 'DistributionBytes', 'DistributionViewingMinutes'].flatMap((report) => {
    const of = report.startsWith('Channel') ? { channelId } : { distributionId: '$distribution' }
    return [
      call(`read${report}`, { ...of, ...span, resolution: 'day' }),
      call(`read${report}ByCountry`, { ...of, ...span }),
      call(`list${report}ByTrackingId`, { ...of, ...span }),
    ]
  }),
]

const SCHEDULERS: readonly Call[] = [
  call(
    'createScheduler',
    { body: { name: 'Daily', channels: [{ channelId }], startDate: '2099-01-01', startTime: '10:00' } },
    { scheduler: 'data.id' },
  ),
  call('listSchedulers', { channelId, sortBy: 'name' }),
  call('readScheduler', { schedulerId: '$scheduler' }),
  call('updateScheduler', { schedulerId: '$scheduler', body: { name: 'Once' } }),
  call('listSchedulerOccurrences', { schedulerId: '$scheduler', from: '2099-01-01', until: '2099-02-01' }),
  call('startScheduler', { schedulerId: '$scheduler' }),
  call('stopScheduler', { schedulerId: '$scheduler' }),
  call('deleteScheduler', { schedulerId: '$scheduler' }),
]

const CHANNEL_WEBHOOKS: readonly Call[] = [
  call('createChannelWebhook', { body: { name: 'All', url: '$receiver', events: ['*'] } }, { hook: 'data.id' }),
  call('listChannelWebhooks'),
  call('readChannelWebhook', { webhookId: '$hook' }),
  call('updateChannelWebhook', { webhookId: '$hook', body: { active: false } }),
  call('readChannelWebhookSecret', { webhookId: '$hook' }),
  call('rotateChannelWebhookSecret', { webhookId: '$hook' }),
  call('testChannelWebhook', { webhookId: '$hook', body: {} }, { log: 'data.id' }),
  call('listChannelWebhookLogs', { webhookId: '$hook' }),
  refused('redeliverChannelWebhookEvent', { webhookId: '$hook', logId: 'lg_1111111111111111111111' }),
  call('listChannelEvents', { limit: 1 }),
  call('deleteChannelWebhook', { webhookId: '$hook' }),
]

const DELETED: readonly Call[] = [
  call('deleteDistribution', { distributionId: '$distribution' }),
  refused('deleteIngest', { ingestId: '$ingest' }),
  call('deletePublishToken', { tokenId: '$Publish' }),
  call('deleteSubscribeToken', { tokenId: '$Subscribe' }),
]

/** Every operation of both documents, in an order in which each finds what it needs. */
export const CALLS: readonly Call[] = [
  ...TOKENS,
  ...PULLS,
  ...USAGE,
  ...SESSIONS,
  ...WEBHOOKS,
  ...CHANNELS,
  ...SCHEDULERS,
  ...RUNS,
  ...CHANNEL_WEBHOOKS,
  ...DELETED,
  refused('deleteChannel', { channelId: 'ch_1111111111111111111111' }),
]
