import type { StreamRef } from '../../src/core/streams/streamId.ts'
import { randomBytes, randomUUID } from 'node:crypto'
import type { NodeUsage, Session } from '../../src/core/sessions/types.ts'
import { mapFlags, TOKEN_FLAGS } from '../../src/core/tokens/flags.ts'
import type { StoreLog } from '../../src/store/log.ts'
import type {
  AccessLogRow,
  AuditRow,
  DueKinds,
  Run,
  Scheduler,
  SessionEnd,
  Store,
  StoredFeed,
  StoredToken,
  StoredWebhook,
} from '../../src/store/store.ts'

export const quiet: StoreLog = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** An account id for one test: 6 characters, unique. */
export function newAccount(): string {
  return randomBytes(3).toString('hex')
}

export type NewToken = Omit<StoredToken, 'id' | 'version'>

export function newToken(over: Partial<NewToken> = {}): NewToken {
  return {
    kind: 'publish',
    accountId: 'nobody',
    label: 'camera',
    streams: [{ streamName: 'stage', isRegex: false }],
    isActive: true,
    allowedOrigins: [],
    allowedIpAddresses: [],
    bindIpsOnUsage: 0,
    allowedCountries: [],
    deniedCountries: [],
    ...mapFlags(TOKEN_FLAGS, (_name, { byDefault }) => byDefault),
    originCluster: '',
    geoCascade: null,
    priority: null,
    hlsRenditions: [],
    hlsCodecs: 'h264',
    restream: [],
    trackingId: null,
    maxViewers: 0,
    recordingDays: null,
    addedAtMs: 1_750_000_000_000,
    expiresAtMs: null,
    revokedBeforeMs: null,
    valueHash: new Uint8Array(randomBytes(32)),
    valueSealed: new Uint8Array([1, 2, 3]),
    ...over,
  }
}

export function insert(store: Store, over: Partial<NewToken>): Promise<StoredToken> {
  return store.transaction((tx) => tx.tokens.insert(newToken(over)))
}

/** A row of usage of a node. */
export const nodeUsage = (over: Partial<NodeUsage>): NodeUsage => ({
  ord: 1,
  hourMs: 0,
  accountId: 'nobody',
  streamName: 'stage',
  protocol: 'whep',
  tokenId: null,
  trackingId: null,
  country: null,
  bytesIn: 0,
  bytesOut: 0,
  ...over,
})

/** Adds bytes to the hourly sums, as a node does that has gone since. */
export function addUsage(store: Store, ...usage: readonly Partial<NodeUsage>[]): Promise<void> {
  const id = randomUUID()
  return store.transaction(async (tx) => {
    await tx.nodes.insert({ id, hostKey: id, pid: 1, url: null }, 1000)
    await tx.usage.put(
      id,
      usage.map((one, ord) => nodeUsage({ ...one, ord })),
    )
    await tx.usage.foldNode(id, usage.length)
    await tx.nodes.delete(id)
  })
}

export function auditRow(accountId: string, subject: string): AuditRow {
  return {
    accountId,
    atMs: 1_750_000_000_000,
    actor: { kind: 'cli' },
    address: null,
    requestId: null,
    action: 'publish_token.create',
    subject,
    before: null,
    after: '{}',
  }
}

export function accessRow(over: Partial<AccessLogRow>): AccessLogRow {
  return {
    id: randomBytes(11).toString('hex'),
    accountId: 'nobody',
    atMs: 1_750_000_000_000,
    source: 'admission',
    action: 'view',
    protocol: 'hls',
    streamName: 'stage',
    tokenId: null,
    jti: null,
    address: '192.0.2.1',
    origin: null,
    country: null,
    allowed: true,
    code: null,
    message: 'admitted',
    count: 1,
    lastAtMs: over.atMs ?? 1_750_000_000_000,
    trace: null,
    ...over,
  }
}

export function newWebhook(over: Partial<StoredWebhook> = {}): Omit<StoredWebhook, 'id'> {
  return {
    accountId: 'nobody',
    url: 'https://hooks.example.org/',
    secretSealed: new Uint8Array([0, 1, 2]),
    hooks: {
      feeds: true,
      recording: false,
      thumbnail: true,
      transcoder: false,
      restream: false,
      feedHealth: true,
      viewerConnection: true,
    },
    filter: null,
    failuresInRow: 0,
    disabled: null,
    addedAtMs: 1_750_000_000_000,
    ...over,
  }
}

/** A run that is still open. */
export const newRun = (over: Partial<Run> = {}): Run => ({
  id: `rn_${randomBytes(11).toString('hex')}`,
  accountId: 'nobody',
  channelId: `ch_${randomBytes(11).toString('hex')}`,
  engineId: `en_${randomBytes(11).toString('hex')}`,
  config: { ingest: { type: 'rtmp-push' }, abrLadderId: 'ab_default', drm: false },
  start: { type: 'api', id: 'credential:1' },
  stop: null,
  keptBy: null,
  startedAtMs: 1_750_000_000_000,
  endedAtMs: null,
  heartbeatAtMs: 1_750_000_000_000,
  ...over,
})

export const newScheduler = (over: Partial<Scheduler> = {}): Scheduler => ({
  id: `sc_${randomBytes(11).toString('hex')}`,
  accountId: 'nobody',
  name: 'Daily',
  enabled: true,
  status: 'idle',
  channels: [{ channelId: 'ch_1' }],
  startDate: '2030-01-01',
  startTime: '10:00',
  endDate: null,
  endTime: '11:00',
  recurrence: null,
  timeZone: 'UTC',
  occurrence: null,
  seenUntilMs: 1_750_000_000_000,
  nextAtMs: 1_750_000_001_000,
  createdAtMs: 1_750_000_000_000,
  updatedAtMs: 1_750_000_000_000,
  ...over,
})

/** The end of a session without bytes. */
export const ending = (id: string, atMs: number, reason: SessionEnd['reason']): SessionEnd => ({
  id,
  atMs,
  reason,
  bytesIn: 0,
  bytesOut: 0,
})

/** A viewer's session. */
export const newSession = (over: Partial<Session> = {}): Session => ({
  id: randomBytes(11).toString('hex'),
  action: 'view',
  protocol: 'whep',
  accountId: 'nobody',
  streamName: 'stage',
  sourceId: null,
  layer: null,
  tokenId: null,
  jti: null,
  trackingId: null,
  address: '192.0.2.1',
  origin: null,
  country: null,
  startedAtMs: 1000,
  ...over,
})

/** A feed on the air at the node `n`. */
export const openFeed = (over: Partial<StoredFeed> & StreamRef): StoredFeed => ({
  feedId: randomUUID(),
  sessionId: randomBytes(11).toString('hex'),
  sourceId: null,
  layer: null,
  tokenId: 1,
  secured: false,
  priority: null,
  recordSwitch: null,
  regions: null,
  startedAtMs: 1000,
  node: 'n',
  ...over,
})

/** There is no work of any kind. */
export const NOTHING_DUE: DueKinds = {
  changes: false,
  deliveries: false,
  schedulers: false,
  reloads: false,
  drain: false,
  pulls: false,
  engines: false,
}
