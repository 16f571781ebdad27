import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { Client, escapeLiteral } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { postgresDialect, sqliteDialect } from '../../src/store/dialects.ts'
import { Executor, type Query, type QueryAnswer, type SqlDialect } from '../../src/store/executor.ts'
import { openStore } from '../../src/store/open.ts'
import { types } from '../../src/store/postgres/pool.ts'
import type { Reads, Tx } from '../../src/store/store.ts'
import { changesSinceSeq, changesSinceSnapshot } from '../../src/store/tables/changes.ts'
import { readDue } from '../../src/store/tables/due.ts'
import { readsOf, txOf } from '../../src/store/verbs.ts'
import { audienceCases } from './store.plansAudience.ts'
import { accountId, NOW, TABLES } from './store.plans.rows.ts'
import { quiet } from './store.samples.ts'
import { freshDatabase, postgresUrl } from '../support/postgres.ts'

/** Rows of each large table. All are of one account, as with most users. */
const ROWS = 20_000
/** The most rows of a table that one statement may read; each asks for no more. */
const READ_MAX = 2000
interface Subject {
  readonly reads: Reads
  readonly tx: Tx
  readonly changes: () => Promise<unknown>
  readonly due: () => Promise<unknown>
  readonly hash: Uint8Array
}

const page = { accountId, limit: 100 }
const anHour = { ...page, fromMs: NOW - (NOW % 3_600_000), untilMs: NOW - (NOW % 3_600_000) + 3_600_000 }
const after = { atMs: NOW + 10_000, id: 'm' }

/**
 * The most frequent statements, and those that a timer repeats every second or so. The last text is in the plan of SQLite:
 * what finds the rows, where the account alone would find them, too, and many more.
 */
const FREQUENT: readonly (readonly [string, (on: Subject) => Promise<unknown>, search?: string])[] = [
  ['a token by its hash', ({ reads, hash }) => reads.tokens.findByHash(hash)],
  [
    'a page of tokens',
    ({ reads }) => reads.tokens.list({ ...page, kind: 'publish', sortBy: 'AddedOn', descending: true, offset: 0 }),
  ],
  [
    'a page of tokens by their last use',
    ({ reads }) => reads.tokens.list({ ...page, kind: 'publish', sortBy: 'LastUsedOn', descending: true, offset: 0 }),
  ],
  ['a session by its id', ({ reads }) => reads.sessions.get('s-7')],
  ['the sessions of a token', ({ reads }) => reads.sessions.page({ ...page, tokenId: 100 }), 'token_id=?'],
  ['a page of sessions', ({ reads }) => reads.sessions.page({ ...page, after: 's-5' })],
  ['the sessions of a node that must end', ({ reads }) => reads.sessions.kicked('n-1', 100), 'sessions_kicked'],
  ['streams without viewers', ({ reads }) => reads.viewing.idle(NOW, 100), 'sessions_stream'],
  ['the sessions of a dead node', ({ tx }) => tx.sessions.endOfNode('n-1', { atMs: NOW, reason: 'lost', limit: 20 })],
  [
    'the seat of a viewer',
    ({ tx }) =>
      tx.viewerSeats.take({ viewer: 'v', sessionId: 'v', node: 'n-7' }, [{ holder: 'token/7', of: 'token', most: 2 }]),
  ],
  ['seats of viewers who leave', ({ tx }) => tx.viewerSeats.free(['s-7', 's-8'])],
  ['seats of a dead node', ({ tx }) => tx.viewerSeats.freeOfNode('n-7', 100)],
  ['the usage of sessions', ({ tx }) => tx.sessions.count([{ id: 's-100', bytesIn: 1, bytesOut: 1 }])],
  ['the usage of a node', ({ tx }) => tx.usage.foldNode('n-7', 100)],
  ['the streams on the air', ({ reads }) => reads.feeds.onAir({ ...page, streamName: 'show-100' })],
  ['the feeds of a node', ({ reads }) => reads.feeds.openIds('n-1')],
  ['the feeds of streams', ({ reads }) => reads.feeds.openOf([{ accountId, streamName: 'show-100' }])],
  ['feeds whose recording users switched', ({ reads }) => reads.feeds.switched('n-1')],
  ['past broadcasts', ({ reads }) => reads.feeds.broadcasts(page)],
  [
    'the last end of a stream',
    ({ reads }) => reads.feeds.lastEnd({ accountId, streamName: 'show-100', sourceId: null }),
    'feeds_stream',
  ],
  ['streams off the air', ({ reads }) => reads.feeds.broadcasts({ ...page, isLast: true }), 'feeds_broadcasts'],
  [
    'the reports of feeds',
    ({ tx }) => tx.feeds.report([{ feedId: 'f-1', reading: '{}', mostViewers: 1, bytesOut: 1 }]),
  ],
  ['the next events', ({ tx }) => tx.outbox.take(100)],
  [
    'webhooks with deliveries',
    ({ reads }) =>
      reads.deliveries.due({ after: 0, without: { accountIds: ['a'], webhookIds: [1] }, upTo: 10, limit: 10 }),
  ],
  ['the deliveries of a webhook', ({ tx }) => tx.deliveries.claim({ webhookId: 0, take: 10, cap: 10 })],
  ['how many deliveries wait', ({ reads }) => reads.deliveries.queue(10)],
  ['whether a retry is due', ({ reads }) => reads.deliveries.isRetryDue(NOW)],
  ['changes since a position', ({ changes }) => changes()],
  ['what is due', ({ due }) => due()],
  ['a page of channels', ({ reads }) => reads.channels.page({ ...page, after })],
  ['the runs of a channel', ({ reads }) => reads.runs.page({ channelId: 'ch-7', limit: 100 }), 'channel_id=?'],
  ['a page of the access log', ({ reads }) => reads.accessLog.page({ ...page, after }), 'PRIMARY KEY'],
  ['the access log of a token', ({ reads }) => reads.accessLog.page({ ...page, tokenId: 7 }), 'token_id=?'],
  [
    'the access log of a stream in a time',
    ({ reads }) => reads.accessLog.page({ ...page, streamName: 'show-7', fromMs: NOW, untilMs: 2 * NOW }),
    'stream_name=?',
  ],
  ['the access log of an address', ({ reads }) => reads.accessLog.page({ ...page, address: '192.0.2.7' }), 'address=?'],
  ['the access log of a code', ({ reads }) => reads.accessLog.page({ ...page, code: 'expired' }), 'code=?'],
  ['the refusals', ({ reads }) => reads.accessLog.page({ ...page, allowed: false }), 'access_log_refused'],
  [
    'the usage of a stream',
    ({ reads }) =>
      reads.usage.sum({
        accountId,
        fromMs: NOW - 7_200_000,
        untilMs: 2 * NOW,
        groupBy: ['slot'],
        slots: [NOW - 7_200_000, NOW, 2 * NOW],
        streamNames: ['show-7'],
        limit: 100,
      }),
    'node_usage_stream',
  ],
  [
    'the usage of a tracking id that is forgotten',
    ({ tx }) => tx.viewerTraces.forgetUsage(accountId, 't', 100),
    'usage_tracking',
  ],
  ...audienceCases({ accountId, nowMs: NOW }),
  [
    'the history of a stream',
    ({ reads }) =>
      reads.feedHealth.points({
        accountId,
        streamName: 'show-7',
        limit: 100,
        fromMs: NOW,
        untilMs: NOW + 3_600_000,
        slotMs: 10_000,
      }),
    'stream_name=?',
  ],
  [
    'the feeds of a stream in the last hour',
    ({ reads }) => reads.feeds.recent({ accountId, streamName: 'show-7', sinceMs: NOW + 19_900, limit: 100 }),
    'stream_name=?',
  ],
  // Retention finds nothing old most of the time.
  ['old decisions', ({ tx }) => tx.accessLog.prune(NOW, 100)],
  ['old changes in the audit log', ({ tx }) => tx.audit.prune(NOW, 100)],
  ['old deliveries', ({ tx }) => tx.deliveries.prune(NOW, 100)],
  ['old sessions and feeds', ({ tx }) => tx.sessions.prune(NOW, 100)],
  ['old usage', ({ tx }) => tx.usage.prune(NOW - 7_200_000, 100)],
  [
    'the events of the targets of a stream',
    ({ reads }) => reads.restreamEvents.page({ ...page, streamName: 'show-100' }),
  ],
  ['the events of the targets of feeds', ({ reads }) => reads.restreamEvents.ofFeeds(page.accountId, ['feed-1'])],
  ['what has no end of targets', ({ tx }) => tx.restreamEvents.unfinished(['feed-1', 'feed-2'])],
  [
    'an event of a target',
    ({ tx }) =>
      tx.restreamEvents.add(
        {
          accountId: page.accountId,
          streamName: 'show-100',
          feedId: 'feed-1',
          index: 0,
          label: '',
          url: 'rtmp://a/b',
          status: 'live',
          problem: null,
          atMs: NOW,
        },
        200,
      ),
  ],
  ['old events of targets', ({ tx }) => tx.restreamEvents.prune(NOW - 7_200_000, 100)],
  ['old usage of restreams', ({ tx }) => tx.restreamHours.prune(NOW - 7_200_000, 100)],
  ['an old history', ({ tx }) => tx.feedHealth.prune(NOW, 100), 'at_ms<?'],
  ['old runs', ({ tx }) => tx.runs.prune(NOW, 100)],
  ['recordings whose days are over', ({ reads }) => reads.recordings.expired(NOW, 200)],
  ['a page of recordings', ({ reads }) => reads.recordings.page({ ...page, after: 'r-5' })],
]

/** They also read all rows of the account that nodes have not added to the sums yet, which are few, but many here. */
const REPORTS: typeof FREQUENT = [
  [
    'the usage of an account',
    ({ reads }) => reads.usage.sum({ ...anHour, groupBy: ['slot', 'country'], slots: [anHour.fromMs] }),
    'span=? AND stream_name=? AND at_ms>?',
  ],
  ['the usage of tokens', ({ reads }) => reads.usage.sum({ ...anHour, groupBy: ['tokenId'] }), 'usage_time'],
  [
    'the usage of a tracking id',
    ({ reads }) => reads.usage.sum({ ...anHour, groupBy: ['slot'], slots: [anHour.fromMs], trackingIds: ['t'] }),
    'usage_tracking',
  ],
  [
    'the tracking ids with usage',
    ({ reads }) => reads.usage.tracked({ ...anHour, prefix: '', after: '' }),
    'usage_time',
  ],
]

const casesOf = (all: typeof FREQUENT) => all.map(([name, ask, search = '']) => ({ name, ask, search }))
const CASES = casesOf(FREQUENT)

/** Runs queries, and keeps them. */
class Recorder extends Executor {
  readonly queries: Query[] = []
  readonly #run: (query: Query) => Promise<QueryAnswer>

  constructor(engine: SqlDialect, run: (query: Query) => Promise<QueryAnswer>) {
    super(engine)
    this.#run = run
  }

  override execute(query: Query): Promise<QueryAnswer> {
    this.queries.push(query)
    return this.#run(query)
  }
}

/** @param streamName SQL of the stream of row `i`, if it is another one than that of the table */
async function fill(
  { name }: SqlDialect,
  execute: (sql: string) => Promise<unknown>,
  streamName?: string,
): Promise<void> {
  const hash = name === 'postgres' ? `decode(md5(i::text), 'hex')` : `cast(i as blob)`
  await execute(`insert into viewing (account_id, stream_name, attempt_at_ms, viewed)
    values ${[0, 1, 2, 3].map((i) => `('${accountId}', 'show-${i}', 0, 1)`).join()}`)
  for (const [table, original] of Object.entries(TABLES)) {
    const isEdited = streamName !== undefined && 'stream_name' in original
    const row = isEdited ? { ...original, stream_name: streamName } : original
    const values = Object.values(row).map((value) => value.replace('HASH', hash))
    await execute(`insert into ${table} (${Object.keys(row).join(', ')})
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${ROWS})
      select ${values.join(', ')} from n where true on conflict do nothing`)
  }
}

/** The queries of a verb. */
async function queriesOf(
  recorder: Recorder,
  ask: (on: Subject) => Promise<unknown>,
  hash: Uint8Array,
): Promise<Query[]> {
  const since = recorder.dialect.name === 'sqlite' ? changesSinceSeq : changesSinceSnapshot
  const { cursor } = await since(recorder, null)
  const position = recorder.dialect.name === 'sqlite' ? `${ROWS - 5}` : cursor
  const changes = () => since(recorder, position)
  const due = () => readDue(recorder, { nowMs: NOW, cursor: position, node: 'n-7' })
  recorder.queries.length = 0
  await ask({ reads: readsOf(recorder), tx: txOf(recorder), changes, due, hash })
  return [...recorder.queries]
}

describe('on SQLite', () => {
  let folder: string
  let db: DatabaseSync
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-plans-'))
    const url = join(folder, 'sluice.db')
    await openStore({ url, log: quiet }).then((store) => store.close())
    db = new DatabaseSync(url)
    await fill(sqliteDialect, (sql) => Promise.resolve(db.exec(sql)))
  })
  afterAll(() => {
    db.close()
    rmSync(folder, { recursive: true })
  })

  const run = (query: Query): Promise<QueryAnswer> => {
    const rows = db.prepare(query.sql).all(...(query.parameters as SQLInputValue[]))
    return Promise.resolve({ rows, changed: rows.length })
  }

  const planOf = ({ sql, parameters }: Query): string[] =>
    db
      .prepare(`explain query plan ${sql}`)
      .all(...(parameters as SQLInputValue[]))
      .map(({ detail }) => String(detail))

  /** Large tables that the plan reads from end to end. `limit` ends a reading in the order of the key. */
  function scansOf(query: Query): string[] {
    const { sql } = query
    return planOf(query).flatMap((detail) => {
      const [, alias = ''] = /^SCAN (\w+)/.exec(detail) ?? []
      const [, table = alias] = new RegExp(`"(\\w+)" as "${alias}"`).exec(sql) ?? []
      const isInOrder = table === 'outbox' && / limit /.test(sql)
      return table in TABLES && !isInOrder ? [`${detail}: ${sql}`] : []
    })
  }

  test.each([...CASES, ...casesOf(REPORTS)])('$name reads no large table from end to end', async ({ ask, search }) => {
    db.exec('begin')
    onTestFinished(() => db.exec('rollback'))
    const queries = await queriesOf(new Recorder(sqliteDialect, run), ask, Buffer.from('7'))
    expect(queries.length).toBeGreaterThan(0)
    expect(queries.flatMap(scansOf)).toEqual([])
    expect(queries.flatMap(planOf).join()).toContain(search)
  })

  test('a scan is noticed', () => {
    expect(scansOf({ sql: `select id from tokens where label = 'a'`, parameters: [] })).toHaveLength(1)
    expect(scansOf({ sql: `select id from "tokens" as "t" where label = 'a'`, parameters: [] })).toHaveLength(1)
  })
})

const literalOf = (value: unknown): string => {
  if (value === null || value === undefined) return 'null'
  if (value instanceof Uint8Array) return `'\\x${Buffer.from(value).toString('hex')}'`
  if (typeof value === 'string') return escapeLiteral(value)
  const json = JSON.stringify(value)
  return escapeLiteral(Array.isArray(value) ? `{${json.slice(1, -1)}}` : json)
}

interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly Plan[]
}

/** Statistics of PostgreSQL that lead to different plans. */
const SHAPES = [
  { shape: 'many streams', streamName: undefined, cases: CASES },
  {
    shape: 'few streams, one with nearly all rows',
    // They are the first ones, so that a scan for another stream reads them all.
    streamName: `'show-' || case when i < ${ROWS * 0.995} then 0 else i % 9 end`,
    // Its streams are found by what comes after each feed: PostgreSQL compares all of the account there, in 33 ms for 20,000.
    cases: CASES.filter(({ name }) => name !== 'streams off the air'),
  },
]

describe.skipIf(!postgresUrl()).each(SHAPES)('on PostgreSQL with $shape', ({ streamName, cases }) => {
  let database: Awaited<ReturnType<typeof freshDatabase>>
  let client: Client
  beforeAll(async () => {
    database = await freshDatabase()
    await openStore({ url: database.url, log: quiet }).then((store) => store.close())
    client = new Client({ connectionString: database.url, types: types() })
    await client.connect()
    await fill(postgresDialect, (sql) => client.query(sql), streamName)
    await client.query('analyze')
  })
  afterAll(async () => {
    await client.end()
    await database.drop()
  })

  const run = async ({ sql, parameters }: Query): Promise<QueryAnswer> => {
    const { rows, rowCount } = await client.query<object>(sql, [...parameters])
    return { rows, changed: rowCount ?? 0 }
  }

  /** The text that runs it as a prepared statement, for which PostgreSQL may use one plan for all values from the sixth time on. */
  async function preparedAs({ sql, parameters, name = '' }: Query): Promise<string> {
    await client.query('savepoint prepared')
    await client.query(`prepare ${name} as ${sql}`)
    const text = `execute ${name}${parameters.length > 0 ? `(${parameters.map(literalOf).join()})` : ''}`
    for (let n = 0; n < 5; n += 1) await client.query(text)
    await client.query('rollback to savepoint prepared')
    return text
  }

  /** Reads of large tables that read more rows than a page needs. */
  async function longReadsOf({ sql, parameters, name }: Query): Promise<string[]> {
    const explained = name === undefined ? sql : await preparedAs({ sql, parameters, name })
    const { rows } = await client.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
      `explain (analyze, format json) ${explained}`,
      name === undefined ? [...parameters] : [],
    )
    if (name !== undefined) await client.query(`deallocate ${name}`)
    const [first] = rows[0]?.['QUERY PLAN'] ?? []
    return first ? longReadsIn(first.Plan).map((read) => `${read}: ${sql}`) : ['no plan']
  }

  function longReadsIn(plan: Plan): string[] {
    const { 'Node Type': type, 'Relation Name': table, 'Actual Rows': found, 'Actual Loops': loops } = plan
    const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
    const rows = (found + removed) * loops
    const isLong = table !== undefined && / ?Scan$/.test(type) && rows > READ_MAX
    return [...(isLong ? [`${type} of ${rows} rows of ${table}`] : []), ...(plan.Plans ?? []).flatMap(longReadsIn)]
  }

  test.each(cases)('$name reads few rows', async ({ ask }) => {
    await client.query('begin')
    onTestFinished(async () => void (await client.query('rollback')))
    const { rows } = await client.query<{ hash: Uint8Array }>('select value_hash as hash from tokens where id = 7')
    const queries = await queriesOf(new Recorder(postgresDialect, run), ask, rows[0]?.hash ?? new Uint8Array())
    expect(queries.length).toBeGreaterThan(0)
    const long: string[] = []
    for (const query of queries) long.push(...(await longReadsOf(query)))
    expect(long).toEqual([])
  })

  test('a long read is noticed', async () => {
    expect(await longReadsOf({ sql: `select id from tokens where label like '%a'`, parameters: [] })).toHaveLength(1)
  })
})
