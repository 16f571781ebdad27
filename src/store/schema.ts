import type { DbBoolean } from './columns.ts'
import type { Generated } from 'kysely'
import type { ChannelTables } from './channelsSchema.ts'
import type { UserTables } from './usersSchema.ts'

/**
 * Every table, as both SQL dialects see it. Booleans are 0 or 1, times are epoch milliseconds, lists and objects are JSON
 * text, bytes are `Uint8Array`: the types that SQLite and PostgreSQL share.
 */
export interface DB extends ChannelTables, UserTables {
  accounts: { id: string; name: string; created_at_ms: number }
  secrets: SecretTable
  credentials: CredentialTable
  tokens: TokenTable
  /** One row per entry of a token's `streams`, for searches. The token row has the list itself. */
  token_streams: {
    token_id: number
    ord: number
    account_id: string
    kind: string
    stream_name: string
    is_regex: DbBoolean
  }
  /** The number of tokens, spread over slots so that concurrent creates do not wait for one row. */
  token_counts: { account_id: string; kind: string; slot: number; n: number }
  /** `ord` is dense: 1 to the number of bound addresses. */
  bindings: { token_id: number; ord: number; address: string; first_used_at_ms: number; last_used_at_ms: number }
  revocations: { token_id: number; jti: string; at_ms: number }
  /** One row for each token, which a trigger adds. 0: it was never used. */
  token_uses: { token_id: number; account_id: string; kind: string; last_used_at_ms: number }
  changes: ChangeTable
  outbox: OutboxTable
  webhooks: WebhookTable
  deliveries: DeliveryTable
  /** By the id of the delivery. `data` is the event as JSON; the other columns are the bytes that were sent. */
  delivery_payloads: {
    id: string
    data: string
    body: Uint8Array | null
    content_type: string | null
    headers: string | null
  }
  /** Nodes that send deliveries; `alive_until_ms` is the end of the lease. */
  delivery_nodes: { id: string; alive_until_ms: number }
  /** Processes that serve. */
  serving_nodes: NodeTable
  /** Requests to a serving node to read its configuration again. `answer` is JSON; null until the node answered. */
  reload_requests: { id: string; node_id: string; is_check: DbBoolean; asked_at_ms: number; answer: string | null }
  /** What a name in the files of `provision/` made. */
  provisioned: { account_id: string; kind: string; name: string; resource_id: string }
  /** Accounts, certificates and answers to challenges of ACME. */
  acme_values: { id: string; value_sealed: Uint8Array; changed_at_ms: number }
  /** By the id of a certificate. */
  acme_renewals: {
    id: string
    leased_until_ms: number | null
    due_at_ms: number
    failures: number
    problem: string | null
  }
  sessions: SessionTable
  feeds: FeedTable
  /** Bytes to viewers at other nodes than the feed's own. The row is deleted with its feed. */
  feed_bytes: { feed_id: string; node_id: string; bytes_out: number }
  stream_nodes: StreamNodeTable
  /** By stream: the last attempt to view it off the air, and whether it has, or just had, viewers. */
  viewing: { account_id: string; stream_name: string; attempt_at_ms: number; viewed: DbBoolean }
  account_minutes: AccountMinuteTable
  usage_hourly: UsageTable
  /** How far each log of a cache is counted. */
  cache_logs: { id: string; position: number; counted_at_ms: number }
  recordings: RecordingTable
  audit: AuditTable
  access_log: AccessLogTable
  /**
   * Single numbers: `changes_floor` (the last pruned position), `ping` (written to test that the database is writable) and
   * `start` (which grows with each start of a server).
   */
  meta: { key: string; value: number }
}

interface SecretTable {
  id: Generated<number>
  account_id: string
  name: string
  hash: Uint8Array
  hint: string
  created_at_ms: number
  refreshed_at_ms: number | null
  /** Null: never used. */
  used_at_ms: number | null
}

interface CredentialTable {
  id: Generated<number>
  account_id: string
  name: string
  key: string
  secret_hash: Uint8Array
  scope: 'read' | 'write'
  created_at_ms: number
  used_at_ms: number | null
}

export interface TokenTable {
  id: Generated<number>
  account_id: string
  kind: string
  label: string
  streams: string
  /** 1 when an entry of `streams` is a pattern. */
  has_patterns: DbBoolean
  is_active: DbBoolean
  allowed_origins: string
  allowed_ip_addresses: string
  bind_ips_on_usage: number
  allowed_countries: string
  denied_countries: string
  end_sessions_on_update: DbBoolean
  end_at_expiry: DbBoolean
  subscribe_requires_auth: DbBoolean
  record: DbBoolean
  enable_thumbnails: DbBoolean
  multisource: DbBoolean
  priority: number | null
  /** JSON: the renditions that a publish token asks for. */
  renditions: string
  tracking_id: string | null
  added_at_ms: number
  expires_at_ms: number | null
  version: number
  revoked_before_ms: number | null
  value_hash: Uint8Array
  value_sealed: Uint8Array
}

interface ChangeTable {
  seq: Generated<number>
  /** PostgreSQL only: the transaction that wrote the row, because there `seq` is not the order of commits. */
  xid: Generated<string>
  kind: 'token' | 'secret' | 'credential' | 'kick' | 'feed'
  account_id: string
  ref_id: number
  at_ms: number
}

interface OutboxTable {
  id: Generated<number>
  account_id: string
  type: string
  event: string
  subject: string | null
  data: string
  created_at_ms: number
}

export interface WebhookTable {
  id: Generated<number>
  account_id: string
  url: string
  secret_sealed: Uint8Array
  /** JSON: the kinds of events that it gets; for a webhook of the channels interface the names of events. */
  events: string
  filter: string | null
  failures_in_row: number
  disabled_until_ms: number | null
  disabled_reason: string | null
  added_at_ms: number
  /** `wh_…`: a webhook of the channels interface, which uses the columns from here on; null: one of the token interface. */
  public_id: string | null
  name: string | null
  description: string | null
  active: DbBoolean | null
  updated_at_ms: number | null
  /** Last probe during a pause, or the begin of the pause. */
  probed_at_ms: number | null
}

export interface DeliveryTable {
  id: string
  event_id: string
  webhook_id: number
  account_id: string
  type: string
  event: string
  subject: string | null
  state: string
  created_at_ms: number
  started_at_ms: number | null
  ended_at_ms: number | null
  status_code: number | null
  duration_ms: number | null
  answer: string | null
  error: string | null
  redelivery_of: string | null
  /** The node that started it. */
  node: string | null
  /** 1, 2, … for webhooks of the channels interface; null: Sluice never retries it. */
  attempt: number | null
  /** The end of the wait in the state `waiting`. */
  not_before_ms: number | null
}

export interface SessionTable {
  id: string
  action: string
  protocol: string
  account_id: string
  stream_name: string
  source_id: string | null
  token_id: number | null
  jti: string | null
  tracking_id: string | null
  address: string
  origin: string | null
  country: string | null
  node: string
  feed_id: string | null
  started_at_ms: number
  ended_at_ms: number | null
  end_reason: string | null
  /** Why the session must end; null: it need not. */
  kick: string | null
  bytes_in: number
  bytes_out: number
  /** Bytes that caches sent, which are not in `bytes_out`. */
  cache_bytes: number
}

export interface FeedTable {
  id: string
  session_id: string
  account_id: string
  stream_name: string
  /** Empty: the source without an id. */
  source: string
  token_id: number
  secured: DbBoolean
  node: string
  started_at_ms: number
  ended_at_ms: number | null
  /** JSON of what its node measured last; null: nothing yet, or the feed is over. */
  reading: string | null
  /** Viewers of the stream at once at all nodes, and bytes to those of the feed's own, while it was on the air. */
  most_viewers: number
  bytes_out: number
}

/** The viewers of a stream at a node that serves them. The row is deleted with its node. */
interface StreamNodeTable {
  account_id: string
  stream_name: string
  node_id: string
  whep: number
  hls: number
  bitrate_out: number
}

/** By account, minute and node: the most viewers at once, and bytes. */
interface AccountMinuteTable {
  account_id: string
  minute_ms: number
  node: string
  viewers: number
  bytes_in: number
  bytes_out: number
}

/** Unknown: 0 or empty. */
export interface UsageTable {
  account_id: string
  hour_ms: number
  stream_name: string
  protocol: string
  token_id: number
  tracking_id: string
  country: string
  bytes_in: number
  bytes_out: number
  /** The part of `bytes_out` that caches sent. */
  cache_bytes: number
}

export interface NodeTable {
  id: string
  host_key: string
  pid: number
  seen_at_ms: number
  alive_until_ms: number
  url: string | null
  /** The id of the key that it seals with. */
  key_id: string | null
  version: string | null
  cores: number | null
  /** Null: not measured yet. */
  cpu_percent: number | null
}

export interface RecordingTable {
  id: string
  account_id: string
  stream_name: string
  token_id: number
  feed_id: string
  state: string
  started_at_ms: number
  ended_at_ms: number | null
  bytes: number | null
  duration_ms: number | null
  /** JSON. */
  tracks: string
  problem: string | null
  /** The host key of the node that has the file. */
  host_key: string
  node: string
}

interface AuditTable {
  id: Generated<number>
  account_id: string
  at_ms: number
  actor: string
  address: string | null
  request_id: string | null
  action: string
  subject: string
  before: string | null
  after: string | null
}

export interface AccessLogTable {
  account_id: string
  at_ms: number
  id: string
  source: string
  action: string
  protocol: string
  stream_name: string
  token_id: number | null
  jti: string | null
  address: string
  origin: string | null
  country: string | null
  allowed: DbBoolean
  code: string | null
  message: string
  count: number
  last_at_ms: number
  /** JSON: the steps of the decision. Null: nothing was decided. */
  trace: string | null
}
