/**
 * The list of channels with 1,000,000 of them: page 50,000 must cost what page 1 costs. Prints the medians and their ratio
 * for SQLite, and for PostgreSQL when `SLUICE_BENCH_POSTGRES` names a server, such as postgres://postgres@127.0.0.1:5432.
 *
 *   node bench/channel-pages.ts
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { openStore } from '../src/store/open.ts'
import type { Store } from '../src/store/store.ts'
import { median, report } from './lib/report.ts'

const CHANNELS = 1_000_000
const PAGE = 20
const FAR_PAGE = 50_000
const ROUNDS = 401
const TARGET = 1.3

const ACCOUNT = 'k9qd2x'
const log = { info: () => undefined, warn: console.warn, error: console.error }
/** The database generates the rows itself, in the form that the store writes; single inserts would take an hour. */
const FILL = `insert into channels (id, account_id, name, external_ids, timeout_seconds, status, created_at_ms)`

await onSqlite()
const server = process.env['SLUICE_BENCH_POSTGRES']
if (server !== undefined) await onPostgres(server)

async function onSqlite(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const file = join(folder, 'store.db')
  const store = await openStore({ url: file, log })
  const db = new DatabaseSync(file)
  const series = `with recursive n(i) as (select 0 union all select i + 1 from n where i < ${CHANNELS - 1})`
  db.exec(`${series} ${FILL} select 'ch_' || lower(hex(randomblob(11))), '${ACCOUNT}', 'channel ' || i, '[]', 3600,
    'stopped', 1750000000000 + i / 3 from n; analyze`)
  db.close()
  await compare('SQLite', store)
  await store.close()
  rmSync(folder, { recursive: true })
}

async function onPostgres(url: string): Promise<void> {
  const name = `bench_${randomBytes(6).toString('hex')}`
  await onServer(url, `create database ${name}`)
  const own = new URL(url)
  own.pathname = `/${name}`
  const store = await openStore({ url: own.href, log })
  await onServer(
    own.href,
    `${FILL} select 'ch_' || substr(md5(i::text), 1, 22), '${ACCOUNT}', 'channel ' || i, '[]', 3600, 'stopped',
    1750000000000 + i / 3 from generate_series(0, ${CHANNELS - 1}) as i`,
  )
  await onServer(own.href, 'vacuum analyze channels')
  await compare('PostgreSQL', store)
  await store.close()
  await onServer(url, `drop database ${name} with (force)`)
}

async function onServer(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(sql)
  await client.end()
}

/** Interleaved, so that other load on the machine affects both equally. */
async function compare(engine: string, store: Store): Promise<void> {
  const far = await walkTo(store, FAR_PAGE - 1)
  const times: Record<'first' | 'far', number[]> = { first: [], far: [] }
  for (let round = 0; round < ROUNDS; round += 1) {
    times.first.push(await timePage(store))
    times.far.push(await timePage(store, far))
  }
  const ratio = median(times.far) / median(times.first)
  const [first, last] = [times.first, times.far].map((list) => median(list).toFixed(0))
  report({
    what: `page ${FAR_PAGE} of channels / page 1, ${engine}`,
    ratio,
    target: `<= ${TARGET}`,
    met: ratio <= TARGET,
    detail: `page 1 ${first} us, page ${FAR_PAGE} ${last} us`,
  })
}

interface Position {
  atMs: number
  id: string
}

/** The end of page `pages`, reached in strides of a thousand pages. */
async function walkTo(store: Store, pages: number): Promise<Position> {
  let after: Position | undefined
  for (let left = pages * PAGE; left > 0; ) {
    const limit = Math.min(left, 1000 * PAGE)
    const rows = await store.read.channels.page({ accountId: ACCOUNT, limit, ...(after ? { after } : {}) })
    const last = rows.at(-1)
    if (!last || rows.length < limit) throw new Error('the list ends early')
    after = { atMs: last.createdAtMs, id: last.id }
    left -= limit
  }
  if (!after) throw new Error('no page')
  return after
}

/** Microseconds for one page, read as the interface reads it: with one extra item. */
async function timePage(store: Store, after?: Position): Promise<number> {
  const startedAt = performance.now()
  const rows = await store.read.channels.page({ accountId: ACCOUNT, limit: PAGE + 1, ...(after ? { after } : {}) })
  const took = (performance.now() - startedAt) * 1000
  if (rows.length < PAGE) throw new Error(`a page of ${rows.length}`)
  return took
}
