import type { Maker } from './maker.ts'

/** Sessions, feeds, usage and recordings. */
export async function mediaSchema(make: Maker): Promise<void> {
  await sessions(make)
  await feeds(make)
  await usage(make)
  await recordings(make)
}

async function sessions(make: Maker): Promise<void> {
  await make.table(
    'sessions',
    `id text key, action text, protocol text, account_id text, stream_name text, source_id text null, layer text null,
    token_id big null, jti text null, tracking_id text null, address text, origin text null, country text null,
    device text null, browser text null, priority big null, spare flag,
    node text, feed_id text null, started_at_ms big, ended_at_ms big null, end_reason text null, kick text null,
    bytes_in big, bytes_out big, cache_bytes big, quality text null, custom_viewer_data text null`,
  )
  // Their totals are written each minute, and a row that stays in its page touches no index. With 20,000 sessions that saves a
  // third of the WAL, and a tenth of the processor time of PostgreSQL.
  await make.fillPages('sessions', 85)
  const open = 'ended_at_ms is null'
  await make.index('sessions_open', 'sessions', ['account_id', 'id'], open)
  await make.index('sessions_viewers', 'sessions', ['account_id', 'id'], "action = 'view'")
  await make.index('sessions_token', 'sessions', ['token_id', 'id'], open)
  await make.index('sessions_node', 'sessions', ['node', 'action', 'id'], open)
  // Each node asks for these every few seconds, and there are hardly any.
  await make.index('sessions_kicked', 'sessions', ['node'], `kick is not null and ${open}`)
  // The viewers of a stream, and when the last one left.
  await make.index('sessions_stream', 'sessions', ['account_id', 'stream_name', 'action', 'ended_at_ms'])
  await make.index('sessions_ended', 'sessions', ['ended_at_ms'], 'ended_at_ms is not null')
}

async function feeds(make: Maker): Promise<void> {
  await make.table(
    'feeds',
    `id text key, session_id text, account_id text, stream_name text, source text, layer text null, token_id big, secured flag,
    priority big null, regions text null, record_switch flag null, node text, started_at_ms big, ended_at_ms big null,
    reading text null, most_viewers big, bytes_out big`,
  )
  const open = 'ended_at_ms is null'
  // One feed per source over all nodes.
  await make.unique('feeds_source', 'feeds', ['account_id', 'stream_name', 'source'], open)
  await make.index('feeds_session', 'feeds', ['session_id'], open)
  await make.index('feeds_node', 'feeds', ['node'], open)
  await make.index('feeds_stream', 'feeds', ['account_id', 'stream_name', 'ended_at_ms'])
  await make.index('feeds_broadcasts', 'feeds', ['account_id', 'ended_at_ms', 'id'], 'ended_at_ms is not null')
  await make.index('feeds_ended', 'feeds', ['ended_at_ms'], 'ended_at_ms is not null')
  await make.table('feed_bytes', 'feed_id feed, node_id text, bytes_out big', ['feed_id', 'node_id'])
  await make.table(
    'feed_health',
    `feed_id feed, at_ms big, bitrate_in big null, frame_rate big null, keyframe_ms big null, packet_loss big null,
    round_trip_ms big null, b_frames big null, width big null, height big null, video_codec text null,
    audio_codec text null`,
    ['feed_id', 'at_ms'],
  )
  await make.index('feed_health_old', 'feed_health', ['at_ms'])
  await make.table('viewing', 'account_id text, stream_name text, attempt_at_ms big, viewed flag', [
    'account_id',
    'stream_name',
  ])
  await make.index('viewing_viewed', 'viewing', ['account_id', 'stream_name'], 'viewed = 1')
  const columns = 'account_id text, stream_name text, node_id node, whep big, hls big, bitrate_out big'
  await make.table('stream_nodes', columns, ['account_id', 'stream_name', 'node_id'])
  await make.index('stream_nodes_node', 'stream_nodes', ['node_id'])
  await make.table('viewer_holders', 'holder text key, viewers big')
  const seat = ['holder', 'viewer', 'session_id']
  await make.table('viewer_seats', 'holder text, viewer text, session_id text, node_id text', seat)
  await make.index('viewer_seats_node', 'viewer_seats', ['node_id'])
  await make.index('viewer_seats_session', 'viewer_seats', ['session_id'])
}

/** Unknown values are empty or 0, because a key cannot contain null. */
async function usage(make: Maker): Promise<void> {
  await make.table(
    'usage',
    `account_id text, span text, stream_name text, at_ms big, protocol text, token_id big, tracking_id text, country text,
    bytes_in big, bytes_out big, cache_bytes big`,
    ['account_id', 'span', 'stream_name', 'at_ms', 'country', 'protocol', 'token_id', 'tracking_id'],
  )
  await make.index('usage_time', 'usage', ['account_id', 'span', 'at_ms'])
  await make.index('usage_tracking', 'usage', ['account_id', 'span', 'tracking_id', 'at_ms'], "tracking_id <> ''")
  await make.index('usage_old', 'usage', ['span', 'at_ms'])
  await make.sizes('usage', {
    usage: '1000000 1000000 500000 5000 10 5 4 2 1',
    usage_time: '1000000 1000000 500000 100',
    usage_tracking: '1000000 1000000 500000 100 2',
    usage_old: '1000000 500000 1000',
  })
  await make.table(
    'node_usage',
    `node_id node, ord big, account_id text, hour_ms big, stream_name text, protocol text, token_id big, tracking_id text,
    country text, bytes_in big, bytes_out big`,
    ['node_id', 'ord'],
  )
  await make.index('node_usage_stream', 'node_usage', ['account_id', 'stream_name', 'hour_ms'])
  await make.table(
    'restream_hourly',
    'account_id text, hour_ms big, stream_name text, feed_id text, live_ms big, bytes_in big, bytes_out big',
    ['account_id', 'hour_ms', 'stream_name', 'feed_id'],
  )
  await make.index('restream_hourly_old', 'restream_hourly', ['hour_ms'])
  await make.table(
    'restream_events',
    `id serial, account_id text, stream_name text, feed_id text, ord big, label text, url text, status text,
    problem text null, at_ms big`,
  )
  await make.index('restream_events_stream', 'restream_events', ['account_id', 'stream_name', 'id'])
  await make.index('restream_events_feed', 'restream_events', ['feed_id', 'id'])
  await make.index('restream_events_old', 'restream_events', ['at_ms'])
  await make.table(
    'account_minutes',
    'account_id text, minute_ms big, node text, viewers big, bytes_in big, bytes_out big',
    ['account_id', 'minute_ms', 'node'],
  )
  await make.index('account_minutes_old', 'account_minutes', ['minute_ms'])
  await audience(make)
  await make.table('cache_logs', 'id text key, position big, counted_at_ms big')
  await make.index('cache_logs_counted', 'cache_logs', ['counted_at_ms'])
}

/**
 * By stream and hour, UTC day or UTC month. The row without a stream is that of the account. Rows may have 70 kB, so the key is
 * an index of its own: without rowids the table would be its key's index, and a search would read the rows that it passes. The
 * wide `parts` are the last column, because SQLite reads a column behind them through all of their pages.
 */
async function audience(make: Maker): Promise<void> {
  await make.table(
    'audience',
    `account_id text, span text, stream_name text, at_ms big, views big, watch_ms big, most big, quality text, viewers text,
    parts text`,
  )
  await make.unique('audience_key', 'audience', ['account_id', 'span', 'stream_name', 'at_ms'])
  await make.index('audience_time', 'audience', ['account_id', 'span', 'at_ms'])
  await make.index('audience_old', 'audience', ['at_ms'])
  await make.sizes('audience', {
    audience_key: '1000000 1000000 500000 5000 1',
    audience_time: '1000000 1000000 500000 100',
    audience_old: '1000000 100',
  })
}

/** Their media are files outside the database. */
async function recordings(make: Maker): Promise<void> {
  await make.table(
    'recordings',
    `id text key, account_id text, stream_name text, token_id big, feed_id text, state text, started_at_ms big,
    ended_at_ms big null, bytes big null, duration_ms big null, tracks text, problem text null, host_key text, node text,
    expires_at_ms big null`,
  )
  await make.index('recordings_account', 'recordings', ['account_id', 'id'])
  await make.index('recordings_stream', 'recordings', ['account_id', 'stream_name', 'id'])
  await make.index('recordings_token', 'recordings', ['account_id', 'token_id', 'id'])
  const unfinished = "state in ('recording', 'processing', 'deleting')"
  await make.index('recordings_unfinished', 'recordings', ['host_key'], unfinished)
  await make.index('recordings_under_way', 'recordings', ['feed_id'], "state = 'recording'")
  const finished = "expires_at_ms is not null and state in ('completed', 'error')"
  await make.index('recordings_expiry', 'recordings', ['expires_at_ms'], finished)
}
