import type { Insertable } from 'kysely'
import type { LogSource } from '../core/access/logQuery.ts'
import type { Protocol } from '../core/access/protocols.ts'
import type { Action } from '../core/access/types.ts'
import type { HlsCodecs } from '../core/hls/feedRungs.ts'
import type { RecordingState } from '../core/recordings/types.ts'
import { mapFlagColumns } from '../core/tokens/flags.ts'
import type { AccessLogRow } from './accessLog.ts'
import { CHANNEL_TABLES } from './channelsSchema.ts'
import {
  BYTES,
  BYTES_OR_NULL,
  FLAG,
  FLAG_OR_NULL,
  NUMBER,
  NUMBER_OR_NULL,
  SERIAL,
  TEXT,
  TEXT_OR_NULL,
  XID,
} from './columns.ts'
import { NODE_TABLES } from './nodesSchema.ts'
import { PULL_TABLES } from './pullsSchema.ts'
import { RESTREAM_TABLES } from './restreamSchema.ts'
import { RUN_TABLES } from './runsSchema.ts'
import { USAGE_TABLES } from './usageSchema.ts'
import { USER_TABLES } from './usersSchema.ts'
import { VIEWER_TABLES } from './viewersSchema.ts'
import type { DeliveryState } from './webhooks.ts'

/**
 * Every table, as both SQL dialects see it. Booleans are 0 or 1, times are epoch milliseconds, lists and objects are JSON
 * text, bytes are `Uint8Array`: the types that SQLite and PostgreSQL share.
 */
const TABLES = {
  ...CHANNEL_TABLES,
  ...PULL_TABLES,
  ...RESTREAM_TABLES,
  ...RUN_TABLES,
  ...USAGE_TABLES,
  ...USER_TABLES,
  ...NODE_TABLES,
  ...VIEWER_TABLES,
  accounts: {
    id: TEXT,
    name: TEXT,
    created_at_ms: NUMBER,
    allowed_countries: TEXT,
    denied_countries: TEXT,
    /** Null: `auto`. */
    default_cluster: TEXT_OR_NULL,
    /** Null: off. */
    geo_cascade: TEXT_OR_NULL,
    /** Null: recordings stay. */
    recording_days: NUMBER_OR_NULL,
    log_admissions: FLAG,
    version: NUMBER,
  },
  secrets: {
    id: SERIAL,
    account_id: TEXT,
    name: TEXT,
    hash: BYTES,
    hint: TEXT,
    created_at_ms: NUMBER,
    refreshed_at_ms: NUMBER_OR_NULL,
    /** Null: never used. */
    used_at_ms: NUMBER_OR_NULL,
  },
  credentials: {
    id: SERIAL,
    account_id: TEXT,
    name: TEXT,
    key: TEXT,
    secret_hash: BYTES,
    scope: TEXT as 'read' | 'write',
    created_at_ms: NUMBER,
    used_at_ms: NUMBER_OR_NULL,
  },
  tokens: {
    id: SERIAL,
    account_id: TEXT,
    kind: TEXT,
    label: TEXT,
    streams: TEXT,
    /** 1 when an entry of `streams` is a pattern. */
    has_patterns: FLAG,
    is_active: FLAG,
    allowed_origins: TEXT,
    allowed_ip_addresses: TEXT,
    bind_ips_on_usage: NUMBER,
    allowed_countries: TEXT,
    denied_countries: TEXT,
    ...mapFlagColumns(() => FLAG),
    /** A region or `auto`; null: as the account says. */
    origin_cluster: TEXT_OR_NULL,
    /** JSON: regions, or `all`; null: as the account says. */
    geo_cascade: TEXT_OR_NULL,
    priority: NUMBER_OR_NULL,
    /** JSON: the renditions that a publish token asks for. */
    renditions: TEXT,
    hls_codecs: TEXT as HlsCodecs,
    /** JSON: the targets of a publish token, without their keys. */
    restream: TEXT,
    tracking_id: TEXT_OR_NULL,
    /** 0: no limit. */
    max_viewers: NUMBER,
    /** 0: they stay; null: as the account says. */
    recording_days: NUMBER_OR_NULL,
    added_at_ms: NUMBER,
    expires_at_ms: NUMBER_OR_NULL,
    version: NUMBER,
    revoked_before_ms: NUMBER_OR_NULL,
    value_hash: BYTES,
    value_sealed: BYTES,
  },
  /** One row per entry of a token's `streams`, for searches. The token row has the list itself. */
  token_streams: { token_id: NUMBER, ord: NUMBER, account_id: TEXT, kind: TEXT, stream_name: TEXT, is_regex: FLAG },
  /** The number of tokens, spread over slots so that concurrent creates do not wait for one row. */
  token_counts: { account_id: TEXT, kind: TEXT, slot: NUMBER, n: NUMBER },
  /** `ord` is dense: 1 to the number of bound addresses. */
  bindings: { token_id: NUMBER, ord: NUMBER, address: TEXT, first_used_at_ms: NUMBER, last_used_at_ms: NUMBER },
  revocations: { token_id: NUMBER, jti: TEXT, at_ms: NUMBER },
  /** The keys of a token's targets. `ord` is their place in `restream` of the token, from 1. */
  restream_keys: { id: SERIAL, token_id: NUMBER, ord: NUMBER, key_sealed: BYTES },
  /** One row for each token, which a trigger adds. 0: it was never used. */
  token_uses: { token_id: NUMBER, account_id: TEXT, kind: TEXT, last_used_at_ms: NUMBER },
  changes: {
    seq: SERIAL,
    /** PostgreSQL only: the transaction that wrote the row, because there `seq` is not the order of commits. */
    xid: XID,
    kind: TEXT as 'token' | 'secret' | 'account' | 'kick' | 'feed' | 'recording',
    account_id: TEXT,
    ref_id: NUMBER,
    /** Of a feed or a recording; null: any of the account. */
    stream_name: TEXT_OR_NULL,
    at_ms: NUMBER,
  },
  outbox: {
    id: SERIAL,
    account_id: TEXT,
    type: TEXT,
    event: TEXT,
    subject: TEXT_OR_NULL,
    data: TEXT,
    created_at_ms: NUMBER,
  },
  webhooks: {
    id: SERIAL,
    account_id: TEXT,
    url: TEXT,
    secret_sealed: BYTES,
    /** JSON: the kinds of events that it gets; for a webhook of the channels interface the names of events. */
    events: TEXT,
    filter: TEXT_OR_NULL,
    failures_in_row: NUMBER,
    disabled_until_ms: NUMBER_OR_NULL,
    disabled_reason: TEXT_OR_NULL,
    added_at_ms: NUMBER,
    /** `wh_…`: a webhook of the channels interface, which uses the columns from here on; null: one of the token interface. */
    public_id: TEXT_OR_NULL,
    name: TEXT_OR_NULL,
    description: TEXT_OR_NULL,
    active: FLAG_OR_NULL,
    updated_at_ms: NUMBER_OR_NULL,
    /** Last probe during a pause, or the begin of the pause. */
    probed_at_ms: NUMBER_OR_NULL,
  },
  deliveries: {
    id: TEXT,
    event_id: TEXT,
    webhook_id: NUMBER,
    account_id: TEXT,
    type: TEXT,
    event: TEXT,
    subject: TEXT_OR_NULL,
    state: TEXT as DeliveryState,
    created_at_ms: NUMBER,
    started_at_ms: NUMBER_OR_NULL,
    ended_at_ms: NUMBER_OR_NULL,
    status_code: NUMBER_OR_NULL,
    duration_ms: NUMBER_OR_NULL,
    answer: TEXT_OR_NULL,
    error: TEXT_OR_NULL,
    redelivery_of: TEXT_OR_NULL,
    /** The node that started it. */
    node: TEXT_OR_NULL,
    /** 1, 2, … for webhooks of the channels interface; null: Sluice never retries it. */
    attempt: NUMBER_OR_NULL,
    /** The end of the wait in the state `waiting`. */
    not_before_ms: NUMBER_OR_NULL,
  },
  /** By the id of the delivery. `data` is the event as JSON; the other columns are the bytes that were sent. */
  delivery_payloads: { id: TEXT, data: TEXT, body: BYTES_OR_NULL, content_type: TEXT_OR_NULL, headers: TEXT_OR_NULL },
  /** Nodes that send deliveries; `alive_until_ms` is the end of the lease. */
  delivery_nodes: { id: TEXT, alive_until_ms: NUMBER },
  /** What a name in the files of `provision/` made. */
  provisioned: { account_id: TEXT, kind: TEXT, name: TEXT, resource_id: TEXT },
  /** Accounts, certificates and answers to challenges of ACME. */
  acme_values: { id: TEXT, value_sealed: BYTES, changed_at_ms: NUMBER },
  /** By the id of a certificate. */
  acme_renewals: {
    id: TEXT,
    leased_until_ms: NUMBER_OR_NULL,
    due_at_ms: NUMBER,
    failures: NUMBER,
    /** JSON. */
    problem: TEXT_OR_NULL,
  },
  sessions: {
    id: TEXT,
    action: TEXT as Action,
    protocol: TEXT as Protocol,
    account_id: TEXT,
    stream_name: TEXT,
    source_id: TEXT_OR_NULL,
    /** Empty: that of a publisher without a source id. */
    layer: TEXT_OR_NULL,
    token_id: NUMBER_OR_NULL,
    jti: TEXT_OR_NULL,
    tracking_id: TEXT_OR_NULL,
    address: TEXT,
    origin: TEXT_OR_NULL,
    country: TEXT_OR_NULL,
    priority: NUMBER_OR_NULL,
    spare: FLAG,
    /** Families of the viewer's program, without its `User-Agent`. */
    device: TEXT_OR_NULL,
    browser: TEXT_OR_NULL,
    /** As the claim of a self-signed token. */
    custom_viewer_data: TEXT_OR_NULL,
    node: TEXT,
    feed_id: TEXT_OR_NULL,
    started_at_ms: NUMBER,
    ended_at_ms: NUMBER_OR_NULL,
    end_reason: TEXT_OR_NULL,
    /** Why the session must end; null: it need not. */
    kick: TEXT_OR_NULL,
    bytes_in: NUMBER,
    bytes_out: NUMBER,
    /** Bytes that caches sent, which are not in `bytes_out`. */
    cache_bytes: NUMBER,
    /** JSON: what the viewer's player reported, by hour; null: nothing. */
    quality: TEXT_OR_NULL,
  },
  feeds: {
    id: TEXT,
    session_id: TEXT,
    account_id: TEXT,
    stream_name: TEXT,
    /** Empty: the source without an id. */
    source: TEXT,
    layer: TEXT_OR_NULL,
    token_id: NUMBER,
    secured: FLAG,
    /** Of its publisher; null: the lowest. */
    priority: NUMBER_OR_NULL,
    /** Whether users have it recorded; null: publisher and token say it. */
    record_switch: FLAG_OR_NULL,
    /** JSON: those whose nodes may show it; null: all. */
    regions: TEXT_OR_NULL,
    node: TEXT,
    started_at_ms: NUMBER,
    ended_at_ms: NUMBER_OR_NULL,
    /** JSON of what its node measured last; null: nothing yet, or the feed is over. */
    reading: TEXT_OR_NULL,
    /** Viewers of the stream at once at all nodes, and bytes to those of the feed's own, while it was on the air. */
    most_viewers: NUMBER,
    bytes_out: NUMBER,
  },
  /** Bytes to viewers at other nodes than the feed's own. The row is deleted with its feed. */
  feed_bytes: { feed_id: TEXT, node_id: TEXT, bytes_out: NUMBER },
  /** What arrived of a feed in ten seconds. Shares are parts of a million. The row is deleted with its feed. */
  feed_health: {
    feed_id: TEXT,
    at_ms: NUMBER,
    bitrate_in: NUMBER_OR_NULL,
    frame_rate: NUMBER_OR_NULL,
    keyframe_ms: NUMBER_OR_NULL,
    packet_loss: NUMBER_OR_NULL,
    round_trip_ms: NUMBER_OR_NULL,
    b_frames: NUMBER_OR_NULL,
    width: NUMBER_OR_NULL,
    height: NUMBER_OR_NULL,
    video_codec: TEXT_OR_NULL,
    audio_codec: TEXT_OR_NULL,
  },
  recordings: {
    id: TEXT,
    account_id: TEXT,
    stream_name: TEXT,
    token_id: NUMBER,
    feed_id: TEXT,
    state: TEXT as RecordingState,
    started_at_ms: NUMBER,
    ended_at_ms: NUMBER_OR_NULL,
    bytes: NUMBER_OR_NULL,
    duration_ms: NUMBER_OR_NULL,
    /** JSON. */
    tracks: TEXT,
    /** JSON. */
    problem: TEXT_OR_NULL,
    /** The host key of the node that has the file. */
    host_key: TEXT,
    node: TEXT,
    /** Null: it stays. */
    expires_at_ms: NUMBER_OR_NULL,
  },
  audit: {
    id: SERIAL,
    account_id: TEXT,
    at_ms: NUMBER,
    actor: TEXT,
    address: TEXT_OR_NULL,
    request_id: TEXT_OR_NULL,
    action: TEXT,
    subject: TEXT,
    before: TEXT_OR_NULL,
    after: TEXT_OR_NULL,
  },
  access_log: {
    account_id: TEXT,
    at_ms: NUMBER,
    id: TEXT,
    source: TEXT as LogSource,
    action: TEXT as Action,
    protocol: TEXT as Protocol,
    stream_name: TEXT,
    token_id: NUMBER_OR_NULL,
    jti: TEXT_OR_NULL,
    address: TEXT,
    origin: TEXT_OR_NULL,
    country: TEXT_OR_NULL,
    allowed: FLAG,
    code: TEXT_OR_NULL as AccessLogRow['code'],
    message: TEXT,
    count: NUMBER,
    last_at_ms: NUMBER,
    /** JSON: the steps of the decision. Null: nothing was decided. */
    trace: TEXT_OR_NULL,
  },
  /**
   * Single numbers: `changes_floor` (the last pruned position), `ping` (written to test that the database is writable) and
   * `start` (which grows with each start of a server).
   */
  meta: { key: TEXT, value: NUMBER },
}

export type DB = typeof TABLES
type Table = keyof DB

/** A row as it is written. */
export type NewRowOf<T extends Table> = Insertable<DB[T]>

/** The names of the columns of a table. */
export const namesOf = <T extends Table>(table: T) =>
  Object.keys(TABLES[table]) as unknown as readonly (keyof DB[T] & string)[]

/** The same without some of them, such as an id that the database assigns. */
export const namesWithout = <T extends Table, C extends keyof DB[T] & string>(table: T, ...columns: readonly C[]) =>
  namesOf(table).filter((column): column is Exclude<typeof column, C> => !columns.includes(column as C))

/** The type of a column that takes no null, in PostgreSQL. */
export type SqlType = 'text' | 'bigint'

/**
 * The types of the columns of a table, in its order.
 * @throws if one of them may be null, or holds bytes
 */
export function sqlTypesOf<T extends Table>(table: T): Readonly<Record<keyof DB[T] & string, SqlType>> {
  const types = Object.entries(TABLES[table]).map(([column, value]) => {
    if (typeof value === 'string') return [column, 'text']
    if (typeof value === 'number') return [column, 'bigint']
    throw new Error(`${table}.${column} is neither text nor a number`)
  })
  return Object.fromEntries(types) as Record<keyof DB[T] & string, SqlType>
}
