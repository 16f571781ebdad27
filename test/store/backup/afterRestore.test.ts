import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { COUNT_UNDER_WAY, resetStatements } from '../../../src/store/backup/afterRestore.ts'
import { openStore } from '../../../src/store/open.ts'
import { quiet } from '../../conformance/store.samples.ts'

const BACKUP_MS = 1000
const RESTORE_MS = 2000

/** Rows that no server may find that begins with a restored copy. */
const UNDER_WAY = [
  `deliveries where state in ('pending', 'waiting', 'started')`,
  'outbox',
  'webhooks where disabled_until_ms > 0 or disabled_reason is not null or probed_at_ms > 0 or failures_in_row > 0',
  'sessions where ended_at_ms is null or kick is not null',
  'feeds where ended_at_ms is null or reading is not null',
  'viewing where viewed = 1',
  `recordings where state = 'recording' or ended_at_ms is null`,
  `recordings where state = 'processing'`,
  'runs where ended_at_ms is null',
  'engine_states where node is not null or alive_until_ms is not null',
  'ingest_claims',
  `engines where status <> 'stopped' or status_message is not null`,
  `channels where status <> 'stopped'`,
  'node_usage',
  'stream_nodes',
  'viewer_seats',
  'viewer_holders',
  'node_facts',
  'serving_nodes',
  'reload_requests',
  'delivery_nodes',
  'acme_renewals where leased_until_ms is not null or due_at_ms > 0 or failures > 0 or problem is not null',
  'dashboard_sessions',
  'setup_codes where used_at_ms is null',
  'changes',
  `meta where key = 'changes_floor' and value <> 0`,
]

const delivery = (id: string, state: string, attempt: string) =>
  `insert into deliveries (id, event_id, webhook_id, account_id, type, event, state, created_at_ms, attempt, not_before_ms, node)
    values ('${id}', '${id}', 1, 'a', 'channel', 'channel.created', '${state}', 1, ${attempt}, 1, 'n1')`

/** A session and its feed that began at this time. */
const broadcast = (id: string, startedAtMs: number) => `
  insert into sessions (id, action, protocol, account_id, stream_name, address, node, started_at_ms, kick, spare, bytes_in, bytes_out,
      cache_bytes)
    values ('${id}', 'publish', 'rtmp', 'a', '${id}', '192.0.2.1', 'n1', ${startedAtMs}, 'kicked', 0, 0, 0, 0);
  insert into feeds (id, session_id, account_id, stream_name, source, token_id, secured, node, started_at_ms, reading, most_viewers,
      bytes_out)
    values ('${id}', '${id}', 'a', '${id}', '', 1, 0, 'n1', ${startedAtMs}, '{}', 0, 0)`

const run = (id: string, startedAtMs: number, heartbeatAtMs: number) =>
  `insert into runs (id, account_id, channel_id, engine_id, config, start_type, start_id, started_at_ms, heartbeat_at_ms)
    values ('${id}', 'a', 'ch_1', 'en_1', '{}', 'user', '1', ${startedAtMs}, ${heartbeatAtMs})`

const ROWS = `
  insert into accounts (id, name, created_at_ms, allowed_countries, denied_countries, log_admissions, version)
    values ('a', 'A', 1, '[]', '[]', 0, 0);
  ${delivery('d1', 'pending', 'null')}; ${delivery('d2', 'waiting', '2')}; ${delivery('d3', 'started', '1')};
  ${delivery('d4', 'delivered', 'null')};
  insert into outbox (account_id, type, event, data, created_at_ms) values ('a', 'feeds', 'started', '{}', 1);
  insert into webhooks (account_id, url, secret_sealed, events, failures_in_row, disabled_until_ms, disabled_reason, added_at_ms,
      probed_at_ms)
    values ('a', 'https://hooks.example.com/', x'01', '[]', 5, 9999, '[]', 1, 1);
  ${broadcast('early', 1)}; ${broadcast('late', BACKUP_MS + 1)};
  insert into viewing values ('a', 'show', 1, 1);
  insert into recordings (id, account_id, stream_name, token_id, feed_id, state, started_at_ms, ended_at_ms, tracks, host_key, node)
    values ('r1', 'a', 'show', 1, 'early', 'recording', 1, null, '[]', 'far', 'n1'),
      ('r2', 'a', 'show', 1, 'early', 'processing', 1, 5, '[]', 'far', 'n1');
  ${run('ru_1', 1, 7)}; ${run('ru_2', 9, 7)};
  insert into channels (id, account_id, name, external_ids, timeout_seconds, status, created_at_ms)
    values ('ch_1', 'a', 'Stage', '[]', 0, 'playing', 1);
  insert into engines (id, account_id, channel_id, name, region, abr_ladder_id, priority, status, status_message, created_at_ms,
      updated_at_ms, restream)
    values ('en_1', 'a', 'ch_1', 'Main', 'local', 'al_1', 0, 'playing', 'slow', 1, 1, '[]');
  insert into engine_states (engine_id, account_id, channel_id, wanted, failures, node, alive_until_ms)
    values ('en_1', 'a', 'ch_1', 1, 0, 'n1', 1);
  insert into ingest_claims values ('in_1', 'n1', 1, 1, 1);
  insert into serving_nodes (id, host_key, pid, seen_at_ms, alive_until_ms) values ('n1', 'far', 1, 1, 1);
  insert into node_facts (node_id, version, cores) values ('n1', '1', 1);
  insert into stream_nodes values ('a', 'show', 'n1', 1, 0, 0);
  insert into viewer_holders values ('token/1', 1);
  insert into viewer_seats values ('token/1', 'v', 'early', 'n1');
  insert into node_usage values ('n1', 1, 'a', 3600000, 'show', 'whep', 1, 't', 'NL', 1, 10);
  insert into usage values ('a', 'hour', 'show', 3600000, 'whep', 1, 't', 'NL', 2, 20, 3);
  insert into reload_requests (id, node_id, is_check, asked_at_ms) values ('q', 'n1', 0, 1);
  insert into delivery_nodes values ('n1', 1);
  insert into acme_renewals values ('a', 1, 1, 1, 'no');
  insert into users (account_id, email, password_hash, role, created_at_ms) values ('a', 'a@example.com', '', 'admin', 1);
  insert into dashboard_sessions (hash, user_id, created_at_ms, seen_at_ms, expires_at_ms, address, user_agent)
    select x'01', id, 1, 1, 1, '192.0.2.1', '' from users;
  insert into setup_codes values (x'02', 'a', 'admin', 0, 1, 1, null), (x'03', 'a', 'admin', 0, 1, 1, 1);
  insert into changes (kind, account_id, ref_id, at_ms) values ('kick', 'a', 0, 1);
  update meta set value = 5 where key = 'changes_floor';`

test('a restored copy has nothing that was under way, and its ends are those that were known last', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-restored-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const url = join(folder, 'sluice.db')
  await (await openStore({ url, log: quiet })).close()
  const db = new DatabaseSync(url)
  onTestFinished(() => db.close())
  const all = (sql: string) =>
    db
      .prepare(sql)
      .all()
      .map((row) => Object.values(row).join(' '))
  const left = () => UNDER_WAY.filter((rows) => all(`select count(*) from ${rows}`)[0] !== '0')
  db.exec(ROWS)
  expect(left()).toEqual(UNDER_WAY)
  expect(all(COUNT_UNDER_WAY)).toEqual(['2 4'])
  for (const statement of resetStatements('sqlite', RESTORE_MS, BACKUP_MS)) db.exec(statement)
  expect(left()).toEqual([])
  const states = `select id || ' ' || state, ended_at_ms from`
  const given = ['d1 unknown 2000', 'd2 unknown 2000', 'd3 unknown 2000', 'd4 delivered ']
  expect(all(`${states} deliveries order by id`)).toEqual(given)
  expect(all('select attempt, not_before_ms from deliveries order by id')).toEqual([' ', ' ', ' ', ' 1'])
  expect(all(`${states} recordings order by id`)).toEqual(['r1 error 1000', 'r2 error 5'])
  const ends = 'select id, ended_at_ms from'
  expect(all(`${ends} sessions order by id`)).toEqual(['early 1000', 'late 1001'])
  expect(all(`${ends} feeds order by id`)).toEqual(['early 1000', 'late 1001'])
  expect(all(`${ends} runs order by id`)).toEqual(['ru_1 7', 'ru_2 9'])
  expect(all('select wanted from engine_states union all select count(*) from setup_codes')).toEqual(['1', '1'])
  const columns = 'span, stream_name, at_ms, token_id, tracking_id, bytes_in, bytes_out, cache_bytes'
  expect(all(`select ${columns} from usage order by span, stream_name`)).toEqual([
    'day  0 0  1 10 0',
    'day show 0 1 t 1 10 0',
    'hour  3600000 0  1 10 0',
    'hour show 3600000 1 t 3 30 3',
    'month  0 0  1 10 0',
    'month show 0 1 t 1 10 0',
  ])
  expect(all('select account_id, at_ms, actor, action, subject from audit')).toEqual([
    'a 2000 cli backup.restore 1970-01-01T00:00:01.000Z',
  ])
})
