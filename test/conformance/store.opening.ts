import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { DatabaseTooNew, DatabaseTooOld } from '../../src/store/migrations/migrate.ts'
import { openStore } from '../../src/store/open.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { quiet } from './store.samples.ts'

const opener = fileURLToPath(new URL('./store.opener.ts', import.meta.url))

/** Several processes and several instances in this one open a new database at the same moment; all of them succeed. */
export async function expectConcurrentOpens(url: string, ...more: 'later'[]): Promise<void> {
  const processes = Array.from({ length: 3 }, () => promisify(execFile)(process.execPath, [opener, url, ...more]))
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

/** What sources from before the first release record of their migrations, with a table of theirs. */
export const EARLIER_DATABASE = [
  'create table tokens (id integer primary key, label text)',
  'create table kysely_migration (name varchar(255) primary key, timestamp varchar(255) not null)',
  `insert into kysely_migration (name, timestamp) values ('0001_init', '2026-01-01'), ('0034_stream_nodes', '2026-11-01')`,
]

/** Refused with what to do, and left as it is. */
export async function expectEarlierRefused(url: string, execute: (sql: string) => Promise<void>): Promise<void> {
  for (const sql of EARLIER_DATABASE) await execute(sql)
  const opening = openStore({ url, log: quiet })
  await expect(opening).rejects.toBeInstanceOf(DatabaseTooOld)
  await expect(opening).rejects.toThrow('from before the first release of Sluice, 0.1.0')
  await expect(opening).rejects.toThrow('`provision export FILE`')
  await execute(`insert into tokens (id, label) values (1, 'as it was')`)

  // Later ones of these sources had their migrations folded once before the release.
  await execute(`update kysely_migration set name = '0001_schema' where name = '0001_init'`)
  await execute(`update kysely_migration set name = '0002_nodeLoad' where name = '0034_stream_nodes'`)
  await expect(openStore({ url, log: quiet })).rejects.toThrow('0.1.0 (its first migration is 0001_schema)')
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
