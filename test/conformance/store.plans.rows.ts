// The rows of the databases of `store.plans.test.ts`.

import { audienceRows } from './store.plansAudience.ts'

/** The account of all rows. */
export const accountId = 'abc123'
export const NOW = 1_760_000_000_000
const [FEW, MANY] = ['i % 100 = 0', 'i % 100 > 0']

const of = { account_id: `'${accountId}'`, stream_name: `'show-' || (i % 500)` }
const hourly = { ...of, hour_ms: `${NOW} - ${NOW} % 3600000 + (i / 500) * 3600000` }
const ended = `case when ${FEW} then null else ${NOW} + i end`

/** SQL of the columns of row `i`, which both dialects have. */
export const TABLES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  tokens: {
    account_id: `'${accountId}'`,
    kind: `case when i % 2 = 0 then 'publish' else 'subscribe' end`,
    label: `'label-' || i`,
    ...columns('streams allowed_origins allowed_ip_addresses renditions restream', `'[]'`),
    ...columns('allowed_countries denied_countries', `'[]'`),
    hls_codecs: `'h264'`,
    ...columns(
      `has_patterns is_active bind_ips_on_usage max_viewers end_sessions_on_update end_at_expiry subscribe_requires_auth record
      enable_thumbnails multisource display_srt_passphrase enable_utc_insertion transcode`,
      '1',
    ),
    added_at_ms: `${NOW} + i`,
    version: '1',
    value_hash: 'HASH',
    value_sealed: 'HASH',
  },
  sessions: {
    id: `'s-' || i`,
    action: `'view'`,
    protocol: `'whep'`,
    ...of,
    token_id: 'i % 1000',
    address: `'192.0.2.1'`,
    node: `'n-' || (i % 4)`,
    started_at_ms: `${NOW} + i`,
    // Half of them are open, as on a busy node.
    ended_at_ms: `case when i % 8 < 4 then null else ${NOW} + i end`,
    ...columns('bytes_in bytes_out cache_bytes spare', '1'),
  },
  feeds: {
    id: `'f-' || i`,
    session_id: `'s-' || i`,
    ...of,
    source: `'source-' || i`,
    token_id: 'i',
    secured: '0',
    node: `'n-' || (i % 4)`,
    started_at_ms: `${NOW} + i`,
    ended_at_ms: ended,
    ...columns('most_viewers bytes_out', '0'),
  },
  feed_health: {
    feed_id: `'f-' || (i % 5000 + 1)`,
    at_ms: `${NOW} + (i / 5000) * 10000`,
    ...columns('bitrate_in frame_rate keyframe_ms packet_loss round_trip_ms b_frames width height', '1000'),
    ...columns('video_codec audio_codec', `'h264'`),
  },
  outbox: {
    account_id: `'${accountId}'`,
    type: `'feeds'`,
    event: `'started'`,
    // About the size of an event: in a table of few pages a scan would be the right choice.
    data: `'{"name":"${'x'.repeat(400)}"}'`,
    created_at_ms: `${NOW} + i`,
  },
  deliveries: {
    id: `'d-' || i`,
    event_id: `'e-' || i`,
    webhook_id: 'i % 10',
    account_id: `'${accountId}'`,
    type: `'feeds'`,
    event: `'started'`,
    state: `case when ${MANY} then 'delivered' when i % 200 = 0 then 'pending' else 'waiting' end`,
    created_at_ms: `${NOW} + i`,
    not_before_ms: `${NOW} + i`,
  },
  delivery_payloads: { id: `'d-' || i`, data: `'{}'` },
  changes: { kind: `'token'`, account_id: `'${accountId}'`, ref_id: 'i', at_ms: `${NOW} + i` },
  access_log: {
    ...of,
    at_ms: `${NOW} + i`,
    id: `'a-' || i`,
    source: `'admission'`,
    action: `'view'`,
    protocol: `'whep'`,
    token_id: 'i % 1000',
    address: `'192.0.2.' || (i % 200)`,
    allowed: `case when ${FEW} then 0 else 1 end`,
    message: `'yes'`,
    count: '1',
    last_at_ms: `${NOW} + i`,
  },
  audit: {
    account_id: `'${accountId}'`,
    at_ms: `${NOW} + i`,
    actor: `'cli'`,
    action: `'publish_token.create'`,
    subject: 'i',
  },
  usage: {
    ...of,
    span: `case when i % 24 = 0 then 'day' else 'hour' end`,
    at_ms: hourly.hour_ms,
    protocol: `'whep'`,
    token_id: 'i',
    ...columns('tracking_id country', `''`),
    ...columns('bytes_in bytes_out cache_bytes', '1'),
  },
  audience: audienceRows(of, NOW),
  serving_nodes: {
    id: `'n-' || i`,
    host_key: `'here'`,
    ...columns('pid seen_at_ms alive_until_ms', '1'),
  },
  node_usage: {
    ...hourly,
    node_id: `'n-' || i`,
    ord: 'i',
    protocol: `'whep'`,
    token_id: 'i',
    ...columns('tracking_id country', `''`),
    ...columns('bytes_in bytes_out', '1'),
  },
  viewer_holders: { holder: `'token/' || i`, viewers: '1' },
  viewer_seats: { holder: `'token/' || i`, viewer: `'s-' || i`, session_id: `'s-' || i`, node_id: `'n-' || i` },
  restream_events: {
    account_id: `'${accountId}'`,
    stream_name: `'show-' || i`,
    feed_id: `'feed-' || i`,
    ...columns('label url', `''`),
    ord: '0',
    status: `'live'`,
    at_ms: `${NOW} + i`,
  },
  restream_hourly: {
    ...hourly,
    feed_id: `'feed-' || i`,
    ...columns('live_ms bytes_in bytes_out', '1'),
  },
  channels: {
    id: `'ch-' || i`,
    account_id: `'${accountId}'`,
    name: `'Channel ' || i`,
    external_ids: `'[]'`,
    timeout_seconds: '60',
    status: `'stopped'`,
    created_at_ms: `${NOW} + i`,
  },
  runs: {
    id: `'run-' || i`,
    account_id: `'${accountId}'`,
    channel_id: `'ch-' || (i % 500)`,
    engine_id: `'en-' || (i % 1000)`,
    config: `'{}'`,
    start_type: `'user'`,
    start_id: `'1'`,
    started_at_ms: `${NOW} + i`,
    ended_at_ms: ended,
    heartbeat_at_ms: `${NOW} + i`,
  },
  recordings: {
    id: `'r-' || i`,
    ...of,
    token_id: 'i % 1000',
    feed_id: `'f-' || i`,
    state: `'completed'`,
    started_at_ms: `${NOW} + i`,
    tracks: `'[]'`,
    ...columns('host_key node', `'n'`),
  },
}

function columns(names: string, value: string): Record<string, string> {
  return Object.fromEntries(names.split(/\s+/).map((name) => [name, value]))
}
