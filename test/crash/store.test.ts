import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { quiet } from '../conformance/store.samples.ts'
import { testedStores } from '../support/place.ts'
import { freshDatabase } from '../support/postgres.ts'
import { bundle, ROUNDS, ROUNDS_TIMEOUT_MS } from './bundle.ts'
import { type Acknowledged, expectWhole, killWriters, type Target, type Written } from './store.rounds.ts'

/** One statement, and so one snapshot, over the three tables. */
const EVERYTHING = `
  select 'tokens' as part, label as key from tokens where account_id = $1
  union all select 'audit', subject from audit where account_id = $1
  union all select 'outbox', subject from outbox where account_id = $1`

type Row = { part: keyof Written; key: string }

function collect(rows: Row[]): Written {
  const keys = (part: Row['part']) => rows.filter((row) => row.part === part).map((row) => row.key)
  return { tokens: keys('tokens'), audit: keys('audit'), outbox: keys('outbox') }
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-crash-'))
const file = join(folder, 'sluice.db')
const database = testedStores('PostgreSQL').length > 0 ? await freshDatabase() : undefined

/** A new connection for each read: the first one after a kill has to recover the log. */
function onSqlite(accountId: string): Promise<Written> {
  const db = new DatabaseSync(file)
  const rows = db.prepare(EVERYTHING.replaceAll('$1', '?1')).all(accountId) as Row[]
  db.close()
  return Promise.resolve(collect(rows))
}

const client = database && new Client({ connectionString: database.url })
await client?.connect()

async function onPostgres(accountId: string): Promise<Written> {
  return collect((await client!.query<Row>(EVERYTHING, [accountId])).rows)
}

const targets: Target[] = [
  { name: 'SQLite', url: file, written: onSqlite },
  ...(database ? [{ name: 'PostgreSQL', url: database.url, written: onPostgres }] : []),
]

afterAll(async () => {
  await client?.end()
  await database?.drop()
  rmSync(folder, { recursive: true })
})

// One process writes to both, so that one kill serves both.
test(
  `${targets.map((target) => target.name).join(' and ')} lose and tear nothing acknowledged in ${ROUNDS} kills`,
  async () => {
    for (const { url } of targets) await openStore({ url, log: quiet }).then((store) => store.close())
    const acknowledged = await killWriters(await bundle('store.writer.ts', join(folder, 'bundle')), targets, ROUNDS)
    for (const [at, target] of targets.entries()) await expectAllThere(target, acknowledged[at]!)
    expectValid()
  },
  ROUNDS_TIMEOUT_MS,
)

/** Reads again at the end, and fails a run with few acknowledged transactions, which would prove nothing. */
async function expectAllThere(target: Target, acknowledged: Acknowledged): Promise<void> {
  for (const [accountId, keys] of acknowledged) expectWhole(await target.written(accountId), keys)
  const total = [...acknowledged.values()].reduce((sum, keys) => sum + keys.length, 0)
  console.log(`${target.name}: ${acknowledged.size} kills, ${total} acknowledged transactions, all there`)
  expect(total).toBeGreaterThan(acknowledged.size)
}

function expectValid(): void {
  const db = new DatabaseSync(file)
  expect(db.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  const counted = db.prepare('select (select sum(n) from token_counts) as counted, count(*) as there from tokens').get()
  expect(counted?.['counted']).toBe(counted?.['there'])
  db.close()
}
