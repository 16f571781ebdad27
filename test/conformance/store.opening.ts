import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteQueryCompiler,
} from 'kysely'
import { expect } from 'vitest'
import { up } from '../../src/store/migrations/0012_access_log_repeats.ts'
import { up as renameEngineStates } from '../../src/store/migrations/0016_engine_states.ts'
import { up as addFeedReports } from '../../src/store/migrations/0018_feed_reports.ts'
import { up as renameHostKeys } from '../../src/store/migrations/0020_host_keys.ts'
import { up as addOperations } from '../../src/store/migrations/0019_operations.ts'
import { DatabaseTooNew } from '../../src/store/migrations/migrate.ts'
import { openStore } from '../../src/store/open.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { quiet } from './store.samples.ts'

const opener = fileURLToPath(new URL('./store.opener.ts', import.meta.url))

/** Several processes and several instances in this one open a new database at the same moment; all of them succeed. */
export async function expectConcurrentOpens(url: string): Promise<void> {
  const processes = Array.from({ length: 3 }, () => promisify(execFile)(process.execPath, [opener, url]))
  const instances = Array.from({ length: 3 }, () => openStore({ url, log: quiet }))
  await Promise.all(processes)
  for (const store of await Promise.all(instances)) {
    await store.ping()
    await store.close()
  }
}

/** `execute` runs SQL on the database directly. */
export async function expectNewerRefused(url: string, execute: (sql: string) => Promise<void>): Promise<void> {
  await openStore({ url, log: quiet }).then((store) => store.close())
  await execute(`insert into kysely_migration (name, timestamp) values ('9999_future', '2100-01-01')`)
  const opening = openStore({ url, log: quiet })
  await expect(opening).rejects.toBeInstanceOf(DatabaseTooNew)
  await expect(opening).rejects.toThrow('9999_future')
}

/** A row from before the access log counted repeats, and one that a node of that version writes beside this one. */
export async function expectAccessLogUpgrade(
  url: string,
  execute: (sql: string) => Promise<void>,
  engine: 'sqlite' | 'postgres',
): Promise<void> {
  await openStore({ url, log: quiet }).then((store) => store.close())
  const earlier = (id: string, atMs: number) =>
    execute(`insert into access_log (account_id, at_ms, id, source, action, protocol, stream_name, address, allowed, message)
      values ('early', ${atMs}, '${id}', 'admission', 'view', 'hls', 'show', '192.0.2.1', 0, 'no')`)
  // A later index contains the count.
  await execute('drop index access_log_codes')
  for (const column of ['count', 'last_at_ms']) await execute(`alter table access_log drop column "${column}"`)
  await earlier('before', 7)
  for (const sql of await statementsOf(up, engine)) await execute(sql)
  await earlier('beside', 8)
  const store = await openStore({ url, log: quiet })
  expect(await store.read.accessLog.page({ accountId: 'early', limit: 10 })).toMatchObject([
    { id: 'beside', count: 1, atMs: 8, lastAtMs: 8 },
    { id: 'before', count: 1, atMs: 7, lastAtMs: 7 },
  ])
  await store.close()
}

/** What was there before tokens had a last use and decisions a trace, and what a node of that version writes beside this one. */
export async function expectOperationsUpgrade(
  url: string,
  execute: (sql: string) => Promise<void>,
  engine: 'sqlite' | 'postgres',
): Promise<void> {
  await openStore({ url, log: quiet }).then((store) => store.close())
  const indexes = { label: 'label', added: 'added_at_ms' }
  for (const name of [
    'access_log_codes',
    'access_log_id',
    'deliveries_undelivered',
    'deliveries_type',
    'deliveries_again',
  ])
    await execute(`drop index ${name}`)
  for (const [name, key] of Object.entries(indexes)) {
    await execute(`drop index tokens_by_${name}`)
    await execute(`create index tokens_by_${name} on tokens (account_id, kind, ${key}, id)`)
  }
  await execute(`drop trigger token_uses_add${engine === 'postgres' ? ' on tokens' : ''}`)
  if (engine === 'postgres') await execute('drop function token_uses_add')
  await execute('drop table token_uses')
  await execute('alter table access_log drop column trace')
  const hash = (label: string) => (engine === 'sqlite' ? `x'${label}'` : `'\\x${label}'`)
  const earlier = async (label: string): Promise<void> => {
    await execute(`insert into tokens (account_id, kind, label, streams, has_patterns, is_active, allowed_origins,
        allowed_ip_addresses, bind_ips_on_usage, allowed_countries, denied_countries, end_sessions_on_update,
        subscribe_requires_auth, record, enable_thumbnails, multisource, added_at_ms, version, value_hash, value_sealed)
      values ('early', 'publish', '${label}', '[]', 0, 1, '[]', '[]', 0, '[]', '[]', 1, 0, 0, 0, 1, 1, 1,
        ${hash(label)}, ${hash(label)})`)
    await execute(`insert into access_log (account_id, at_ms, id, source, action, protocol, stream_name, address, allowed,
        message) values ('early', 7, '${label}', 'admission', 'view', 'hls', 'show', '192.0.2.1', 0, 'no')`)
  }
  await earlier('aa')
  for (const sql of await statementsOf(addOperations, engine)) await execute(sql)
  await earlier('bb')
  const store = await openStore({ url, log: quiet })
  const query = { accountId: 'early', kind: 'publish' as const, descending: false, offset: 0, limit: 10 }
  for (const sortBy of ['Name', 'AddedOn', 'LastUsedOn'] as const) {
    const tokens = await store.read.tokens.list({ ...query, sortBy, only: { nowMs: 1, state: 'ready' } })
    expect(tokens.map(({ label, lastUsedAtMs }) => [label, lastUsedAtMs])).toEqual([
      ['aa', undefined],
      ['bb', undefined],
    ])
  }
  for (const id of ['aa', 'bb'])
    expect(await store.read.accessLog.get('early', id)).toMatchObject({ count: 1, trace: null })
  await store.close()
}

/** A state of an engine that was there before its table had this name, and one that a node of that version writes beside this one. */
export async function expectEngineStatesUpgrade(
  url: string,
  execute: (sql: string) => Promise<void>,
  engine: 'sqlite' | 'postgres',
): Promise<void> {
  await openStore({ url, log: quiet }).then((store) => store.close())
  const earlier = (id: string, failures: number) =>
    execute(`insert into engine_lives (engine_id, account_id, channel_id, wanted, failures) values ('${id}', 'early', 'ch_1', 1, ${failures})
      on conflict (engine_id) do update set failures = excluded.failures`)
  if (engine === 'postgres') await execute('drop view engine_lives')
  await execute('alter table engine_states rename to engine_lives')
  await earlier('en_before', 1)
  for (const sql of await statementsOf(renameEngineStates, engine)) await execute(sql)
  if (engine === 'postgres') for (const failures of [2, 3]) await earlier('en_beside', failures)
  const store = await openStore({ url, log: quiet })
  expect(await store.read.engineStates.get('en_before')).toMatchObject({ accountId: 'early', failures: 1 })
  if (engine === 'postgres') expect(await store.read.engineStates.get('en_beside')).toMatchObject({ failures: 3 })
  await store.close()
}

/** Statements of the version in which a host key was a place. */
const EARLIER_NODE = {
  insert: (id: string) => `insert into nodes (id, place, pid, seen_at_ms, alive_until_ms, url)
    values ('${id}', 'old:/data', 7, 1, 9, null)`,
  list: 'select *, case when alive_until_ms < 5 then 1 else 0 end as expired from nodes order by id',
  renew: `update nodes set seen_at_ms = 2, alive_until_ms = 8 where id = 'beside' and alive_until_ms <> -1`,
  lockShared: `select id from nodes where id = 'beside' and alive_until_ms <> -1 for key share`,
  lock: `select * from nodes where id = 'beside' for update skip locked`,
  delete: `delete from nodes where id = 'gone'`,
}

/** Runs SQL that the server has prepared once for the whole test, and returns the rows. */
type RunPrepared = (sql: string) => Promise<object[]>

/**
 * A node that was there before its table and column had these names; and, on PostgreSQL, one that a process of that
 * version adds, finds, renews, locks and removes with the statements that it prepared before.
 */
export async function expectHostKeysUpgrade(
  url: string,
  execute: (sql: string) => Promise<void>,
  runPrepared?: RunPrepared,
): Promise<void> {
  await openStore({ url, log: quiet }).then((store) => store.close())
  if (runPrepared) await execute('drop view nodes')
  await execute('alter table serving_nodes rename column host_key to place')
  await execute('alter table serving_nodes rename to nodes')
  await execute(EARLIER_NODE.insert('before'))
  const { list, renew, lockShared, lock, delete: remove } = EARLIER_NODE
  if (runPrepared) for (const sql of [list, renew, lockShared, lock, remove]) await runPrepared(sql)
  for (const sql of await statementsOf(renameHostKeys, runPrepared ? 'postgres' : 'sqlite')) await execute(sql)
  if (runPrepared) await expectEarlierNodes(runPrepared)
  const store = await openStore({ url, log: quiet })
  const [before, beside] = await store.read.nodes.list()
  expect(before).toMatchObject({ id: 'before', hostKey: 'old:/data', pid: 7, seenAtMs: 1, url: null })
  if (runPrepared) expect(beside).toMatchObject({ id: 'beside', hostKey: 'old:/data', seenAtMs: 2 })
  await store.close()
}

async function expectEarlierNodes(runPrepared: RunPrepared): Promise<void> {
  const { insert, list, renew, lockShared, lock, delete: remove } = EARLIER_NODE
  for (const id of ['beside', 'gone']) await runPrepared(insert(id))
  for (const sql of [renew, lockShared, lock, remove]) await runPrepared(sql)
  expect(await runPrepared(list)).toMatchObject([
    { id: 'before', place: 'old:/data', expired: 0 },
    { id: 'beside', place: 'old:/data', alive_until_ms: '8' },
  ])
  expect(await runPrepared(lock)).toMatchObject([{ id: 'beside', place: 'old:/data' }])
  expect(await runPrepared(lockShared)).toEqual([{ id: 'beside' }])
}

/** Statements of the version in which nodes measured nothing. Each feed that begins gets an id of its own. */
const EARLIER_FEED = {
  begin: `insert into feeds (id, session_id, account_id, stream_name, source, token_id, secured, node, started_at_ms)
    select 'feed_' || count(*), 'session', 'early', 'show', '', 1, 0, 'n', 1 from feeds`,
  list: 'select * from feeds where ended_at_ms is null order by started_at_ms limit 10',
  lock: `select * from feeds where account_id = 'early' and ended_at_ms is null order by id for update`,
  end: `update feeds set ended_at_ms = 2 where session_id = 'session' and ended_at_ms is null returning *`,
  prune: 'delete from feeds where id in (select id from feeds where ended_at_ms < 9 limit 10)',
}

/**
 * A feed from before nodes measured their feeds; and one that a process of that version begins, finds, locks, ends and
 * removes, on PostgreSQL with the statements that it prepared before.
 */
export async function expectFeedReportsUpgrade(
  url: string,
  execute: (sql: string) => Promise<void>,
  runPrepared?: RunPrepared,
): Promise<void> {
  await openStore({ url, log: quiet }).then((store) => store.close())
  for (const table of ['feed_reports', 'account_minutes']) await execute(`drop table ${table}`)
  for (const index of ['feeds_broadcasts', 'tokens_expiring', 'tokens_countries']) await execute(`drop index ${index}`)
  const { begin, list, lock, end, prune } = EARLIER_FEED
  const run = runPrepared ?? execute
  for (const sql of runPrepared ? [prune, begin, list, lock, end] : [begin, end]) await run(sql)
  for (const sql of await statementsOf(addFeedReports, runPrepared ? 'postgres' : 'sqlite')) await execute(sql)
  await run(begin)
  if (runPrepared) for (const sql of [list, lock]) expect(await run(sql)).toMatchObject([{ id: 'feed_1' }])
  if (runPrepared) expect(await run(end)).toMatchObject([{ id: 'feed_1', ended_at_ms: '2' }])
  else await run(end)
  const store = await openStore({ url, log: quiet })
  await store.transaction((tx) => tx.feeds.report([{ feedId: 'feed_1', reading: null, mostViewers: 7, bytesOut: 8 }]))
  expect(await store.read.feeds.broadcasts({ accountId: 'early', limit: 10 })).toMatchObject([
    { feedId: 'feed_1', mostViewers: 7, bytesOut: 8 },
    { feedId: 'feed_0', mostViewers: 0, bytesOut: 0 },
  ])
  // The ids begin with the first one again, and the report is gone.
  for (const sql of [prune, begin, end, begin]) await run(sql)
  expect(await store.read.feeds.onAir({ accountId: 'early', limit: 10 })).toMatchObject([
    { feedId: 'feed_1', reading: null, mostViewers: 0 },
  ])
  await store.close()
}

/** What a migration runs. */
async function statementsOf(
  migration: (db: Kysely<unknown>, dialect: 'sqlite' | 'postgres') => Promise<void>,
  engine: 'sqlite' | 'postgres',
): Promise<string[]> {
  const statements: string[] = []
  const db = new Kysely<unknown>({
    dialect: {
      createAdapter: () => (engine === 'sqlite' ? new SqliteAdapter() : new PostgresAdapter()),
      createDriver: () => new DummyDriver(),
      createIntrospector: (of) => new PostgresIntrospector(of),
      createQueryCompiler: () => (engine === 'sqlite' ? new SqliteQueryCompiler() : new PostgresQueryCompiler()),
    },
    log: ({ query }) => void statements.push(query.sql),
  })
  await migration(db, engine)
  return statements
}

/** Queued work is finished, later work is refused, and closing twice is harmless. */
export async function expectOrderlyClose(url: string): Promise<void> {
  const store = await openStore({ url, log: quiet })
  const account = { id: 'closed', name: 'x', createdAtMs: 1 }
  const queued = store.transaction((tx) => tx.accounts.insert(account))
  await Promise.all([store.close(), store.close()])
  await queued
  await expect(store.transaction(() => Promise.resolve())).rejects.toBeInstanceOf(StoreUnavailable)
  await expect(store.read.accounts.list()).rejects.toBeInstanceOf(StoreUnavailable)
  await expect(store.ping()).rejects.toBeInstanceOf(StoreUnavailable)
  const again = await openStore({ url, log: quiet })
  expect(await again.read.accounts.get('closed')).toEqual(account)
  await again.close()
}
