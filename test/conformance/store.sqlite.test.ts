import { execFileSync } from 'node:child_process'
import fs, {
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { MIGRATIONS } from '../../src/store/migrations/migrate.ts'
import { openStore } from '../../src/store/open.ts'
import { SqliteConnection } from '../../src/store/sqlite/connection.ts'
import { openingError, translateSqliteError } from '../../src/store/sqlite/errors.ts'
import { type Store, StoreUnavailable } from '../../src/store/store.ts'
import { until } from '../support/until.ts'
import { expectConcurrentOpens, expectEarlierRefused, expectNewerRefused, expectOrderlyClose } from './store.opening.ts'
import { expectDue } from './store.due.ts'
import { LATER, removeLaterMigration } from './store.later.ts'
import { auditRow, insert, newAccount, newWebhook, quiet } from './store.samples.ts'
import { storeConformance } from './store.ts'

storeConformance('the store on SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-store-'))
  const url = join(folder, 'data', 'sluice.db')
  const opened: Store[] = []
  return Promise.resolve({
    url,
    open: async () => {
      const store = await openStore({ url, log: quiet })
      opened.push(store)
      return store
    },
    remove: async () => {
      for (const store of opened) await store.close()
      rmSync(folder, { recursive: true })
    },
  })
})

describe('a SQLite file', () => {
  let file: string
  beforeEach(() => {
    file = join(mkdtempSync(join(tmpdir(), 'sluice-store-')), 'new', 'sluice.db')
  })
  afterEach(() => rmSync(dirname(dirname(file)), { recursive: true }))

  const execute = (sql: string) => {
    const db = new DatabaseSync(file)
    db.exec(sql)
    db.close()
    return Promise.resolve()
  }

  test('is accessible only to its owner', async () => {
    const store = await openStore({ url: file, log: quiet })
    await store.ping()
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700)
    for (const end of ['', '-wal', '-shm']) expect(statSync(file + end).mode & 0o777).toBe(0o600)
    await store.close()
    expect(readdirSync(dirname(file))).toEqual(['sluice.db'])
  })

  test('is migrated once when several processes start together', () => expectConcurrentOpens(file))
  test('that is up to date is opened without a look at the columns of its tables', async () => {
    await openStore({ url: file, log: quiet }).then((store) => store.close())
    const prepared = vi.spyOn(SqliteConnection.prototype, 'prepare')
    onTestFinished(() => prepared.mockRestore())
    await openStore({ url: file, log: quiet }).then((store) => store.close())
    const asked = prepared.mock.calls.map(([sql]) => sql)
    expect(asked.filter((sql) => /from "?kysely_migration/.test(sql))).toHaveLength(1)
    expect(asked.filter((sql) => sql.includes('table_info'))).toEqual([])
  })
  test('of a newer version is refused by name', () => expectNewerRefused(file, execute))
  test('from before the first release is refused, with the way over', () => {
    mkdirSync(dirname(file))
    return expectEarlierRefused(file, execute)
  })
  test('that was moved away took writes that were lost with it: it refuses them until it is back, also beside another one', async () => {
    const store = await openStore({ url: file, log: quiet })
    const [folder, away] = [dirname(file), `${dirname(file)}-away`]
    const refused = { publicReason: 'the database file is gone', message: expect.stringContaining(`${file} was moved`) }
    const write = () => store.transaction((tx) => tx.accounts.list())
    renameSync(folder, away)
    await expect(store.ping()).rejects.toMatchObject(refused)
    await expect(write()).rejects.toMatchObject(refused)
    await expect(store.due({ nowMs: 0, cursor: null, node: '' })).rejects.toMatchObject(refused)
    await openStore({ url: file, log: quiet }).then((other) => other.close())
    await expect(write()).rejects.toMatchObject(refused)
    rmSync(folder, { recursive: true })
    renameSync(away, folder)
    expect(await write()).toEqual([])
    await store.close()
  })
  test('that another one replaced in one step took writes that were lost with it: it refuses them until it is back', async () => {
    const store = await openStore({ url: file, log: quiet })
    const refused = { publicReason: 'the database file is gone', message: expect.stringContaining(`${file} was moved`) }
    const write = () => store.transaction((tx) => tx.accounts.list())
    linkSync(file, `${file}.old`)
    copyFileSync(file, `${file}.new`)
    renameSync(`${file}.new`, file)
    await expect(store.ping()).rejects.toMatchObject(refused)
    await expect(write()).rejects.toMatchObject(refused)
    await expect(store.due({ nowMs: 0, cursor: null, node: '' })).rejects.toMatchObject(refused)
    renameSync(`${file}.old`, file)
    expect(await write()).toEqual([])
    await store.close()
  })
  test('is closed in order', () => expectOrderlyClose(file))
  test('says in one read what is due', () => expectDue(file))

  test('contains no removed values of a row', async () => {
    const store = await openStore({ url: file, log: quiet })
    await store.transaction(async (tx) => {
      const url = (n: number) => `https://a.example/key-of-this-test-${n}`
      for (let n = 0; n < 100; n += 1) {
        const made = await tx.webhooks.insert(newWebhook({ url: url(n) }))
        await tx.webhooks.replace({ ...made, url: 'https://a.example/' })
      }
    })
    await store.close()
    expect(readFileSync(file, 'latin1').includes('key-of-this-test')).toBe(false)
  })

  test('reports the free space of its disk, and none while the disk cannot be asked', async () => {
    const store = await openStore({ url: file, log: quiet })
    const { freeBytes = 0, totalBytes = 0 } = (await store.diskSpace()) ?? {}
    expect(freeBytes).toBeGreaterThan(0)
    expect(totalBytes).toBeGreaterThanOrEqual(freeBytes)
    fs.renameSync(dirname(file), `${dirname(file)}-gone`)
    expect(await store.diskSpace()).toBeNull()
    fs.renameSync(`${dirname(file)}-gone`, dirname(file))
    await store.close()
  })

  test('in memory is refused, because reads would not see writes', async () => {
    await expect(openStore({ url: ':memory:', log: quiet })).rejects.toThrow('needs a file')
  })

  test('that is not a database, or that cannot be created, is unavailable', async () => {
    mkdirSync(file, { recursive: true })
    await expect(openStore({ url: file, log: quiet })).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(openStore({ url: '/dev/null/x.db', log: quiet })).rejects.toBeInstanceOf(StoreUnavailable)
  })

  test('that has lost all that was in it is refused, and left as it is', async () => {
    mkdirSync(dirname(file))
    writeFileSync(file, '')
    await expect(openStore({ url: file, log: quiet })).rejects.toThrow(`${file} is empty; if it had an installation`)
    expect(readdirSync(dirname(file)).map((name) => statSync(join(dirname(file), name)).size)).toEqual([0])
  })

  test('that is damaged is refused with its path and what to do', async () => {
    mkdirSync(dirname(file))
    writeFileSync(file, 'no database'.repeat(1000))
    await expect(openStore({ url: file, log: quiet })).rejects.toThrow(
      `${file}: the file is not a database; move it away`,
    )
  })

  test('whose disk has no room for what its connections share is refused for that', async () => {
    mkdirSync(dirname(file))
    const error = new StoreUnavailable('reading or writing the database file failed', {
      cause: Object.assign(new Error('disk I/O error'), { errcode: 5386 }),
    })
    const told = () => (openingError(error, file) as StoreUnavailable).message
    expect(told()).toBe(
      `${file}: reading or writing the database file failed; look at the log of the system, as the disk may fail`,
    )
    const { statfsSync } = fs
    fs.statfsSync = (() => ({ bavail: 1, bsize: 4096 })) as unknown as typeof statfsSync
    syncBuiltinESMExports()
    onTestFinished(() => {
      fs.statfsSync = statfsSync
      syncBuiltinESMExports()
    })
    expect(told()).toBe(`${file}: the disk is full; make room`)
  })

  test.each([
    [8, 'the database is read-only'],
    [11, 'the database file is damaged'],
    [13, 'the disk of the database is full'],
    [26, 'the file is not a database'],
    // Soon over, or in the log of the system.
    [5, null],
    [10, null],
  ])('that fails with %i tells clients what an operator has to mend: %s', (errcode, publicReason) => {
    const error = Object.assign(new Error('of SQLite'), { errcode })
    expect(translateSqliteError(error)).toMatchObject({ name: 'StoreUnavailable', publicReason })
  })

  test('whose disk is full when it is migrated is refused for that', async () => {
    // SQLite ends the transaction by itself then.
    MIGRATIONS.set(LATER, async (db) => {
      await sql`rollback`.execute(db)
      throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
    })
    onTestFinished(() => void removeLaterMigration())
    await expect(openStore({ url: file, log: quiet })).rejects.toThrow(`${file}: the disk is full; make room`)
  })

  test('changedRemotely is true once after another process committed, and never after this store did', async () => {
    const store = await openStore({ url: file, log: quiet })
    const other = await openStore({ url: file, log: quiet })
    await insert(store, { accountId: newAccount() })
    expect(store.changedRemotely()).toBe(false)
    expect(other.changedRemotely()).toBe(true)
    expect(other.changedRemotely()).toBe(false)
    await store.close()
    await other.close()
  })

  test('that another process locks for a while delays writes without failing them, and reads continue', async () => {
    const store = await openStore({ url: file, log: quiet })
    const holder = new DatabaseSync(file)
    holder.exec('begin immediate')
    const begins = vi.spyOn(SqliteConnection.prototype, 'runSync')
    let written = false
    const writing = store.ping().then(() => {
      written = true
    })
    // It has tried to begin three times, with reads in between.
    await until(async () => {
      expect(await store.read.accounts.list()).toEqual([])
      return begins.mock.results.filter(({ type }) => type === 'throw').length >= 3
    })
    expect(written).toBe(false)
    holder.exec('rollback')
    holder.close()
    await writing
    begins.mockRestore()
    await store.close()
  })

  test('takes ten thousand waiting writes and refuses more at once', async () => {
    const store = await openStore({ url: file, log: quiet })
    const writes = Array.from({ length: 10_050 }, () => store.transaction(() => Promise.resolve()))
    const settled = await Promise.allSettled(writes)
    const refused = settled.filter((result) => result.status === 'rejected').map((result) => result.reason as Error)
    expect(refused.length).toBe(50)
    expect(refused[0]).toBeInstanceOf(StoreUnavailable)
    await store.close()
  })
})

describe('a full disk', () => {
  const disk = mountTinyDisk()
  afterAll(() => {
    if (disk) execFileSync('umount', ['--lazy', disk])
    if (disk) rmSync(disk, { recursive: true })
  })

  test.skipIf(!disk)(
    'fails writes as unavailable, keeps acknowledged writes, and recovers when there is space',
    async () => {
      const store = await openStore({ url: join(disk!, 'sluice.db'), log: quiet })
      const accountId = newAccount()
      const filling = 'x'.repeat(20_000)
      const append = (n: number) =>
        store.transaction((tx) => tx.audit.append({ ...auditRow(accountId, String(n)), after: filling }))
      let acknowledged = 0
      const fill = async () => {
        for (; acknowledged < 1_000; acknowledged += 1) await append(acknowledged)
      }
      const publicReason = 'the disk of the database is full'
      const message = `${disk}/sluice.db: the disk is full`
      await expect(fill()).rejects.toMatchObject({ name: 'StoreUnavailable', isDiskFull: true, publicReason, message })
      expect(await store.diskSpace()).toMatchObject({ totalBytes: 1_048_576 })
      const group = await Promise.allSettled(Array.from({ length: 5 }, (_, n) => append(n)))
      expect(group.every((result) => result.status === 'rejected' && result.reason instanceof StoreUnavailable)).toBe(
        true,
      )
      expect(await store.read.audit.recent(accountId, 2_000)).toHaveLength(acknowledged)

      execFileSync('mount', ['-o', 'remount,size=8m', disk!])
      await store.ping()
      await insert(store, { accountId })
      expect(await store.read.tokens.count({ accountId, kind: 'publish' })).toBe(1)
      await store.close()
    },
  )
})

/** A file system of one megabyte, which only root can create. */
function mountTinyDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', folder], { stdio: 'ignore' })
    return folder
  } catch {
    rmSync(folder, { recursive: true })
    console.warn('*** no file system could be mounted: the test of a full disk is SKIPPED ***')
    return undefined
  }
}
