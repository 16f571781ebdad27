import { sql } from 'kysely'
import { type Client, DatabaseError } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { ensureAccount } from '../../src/commands/accounts/accounts.ts'
import { postgresDialect } from '../../src/store/dialects.ts'
import { everyStatement } from '../../src/store/executor.ts'
import { MIGRATIONS } from '../../src/store/migrations/migrate.ts'
import { openStore } from '../../src/store/open.ts'
import { namesOf } from '../../src/store/schema.ts'
import type { Store } from '../../src/store/store.ts'
import { Watchers } from '../../src/store/watchers.ts'
import { freshDatabase, type TestDatabase } from '../support/postgres.ts'
import { findBinaries, startPostgres, type TestServer } from '../support/postgres.setup.ts'
import { until } from '../support/until.ts'
import { expectConcurrentOpens, expectEarlierRefused, expectNewerRefused, expectOrderlyClose } from './store.opening.ts'
import { expectDue } from './store.due.ts'
import { auditRow, newSession, quiet } from './store.samples.ts'
import { storeConformance } from './store.ts'

describe.skipIf(!findBinaries())('with a server', () => {
  // A server of its own: transactions of other tests on a shared one would delay the pruning of changes.
  let server: TestServer
  beforeAll(async () => {
    server = await startPostgres(findBinaries()!)
  })
  afterAll(() => server.remove())

  storeConformance('the store on PostgreSQL', async () => {
    const database = await freshDatabase(server.url)
    const opened: Store[] = []
    return {
      url: database.url,
      open: async () => {
        const store = await openStore({ url: database.url, log: quiet })
        opened.push(store)
        return store
      },
      remove: async () => {
        for (const store of opened) await store.close()
        await database.drop()
      },
    }
  })

  describe('a PostgreSQL database', () => {
    let database: TestDatabase
    beforeEach(async () => {
      database = await freshDatabase(server.url)
    })
    afterEach(() => database.drop())

    test('is migrated once when several nodes start together', () => expectConcurrentOpens(database.url))
    test('that is up to date is opened without the lock of migrations, which another node may hold', async () => {
      await openStore({ url: database.url, log: quiet }).then((store) => store.close())
      const client = await database.connect()
      // That of Kysely.
      await client.query('select pg_advisory_lock(3853314791062309107)')
      const store = await openStore({ url: database.url, log: quiet })
      await store.ping()
      await store.close()
      await client.end()
    })
    test('has one account when several nodes begin with it together', async () => {
      const [store, other] = await Promise.all([1, 2].map(() => openStore({ url: database.url, log: quiet })))
      if (!store || !other) throw new Error('not opened')
      const client = await database.connect()
      const waits = async (): Promise<boolean> =>
        (
          await client.query(
            `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          )
        ).rowCount === 1
      const second = await store.transaction(async (tx) => {
        await tx.accounts.lockAll()
        const making = ensureAccount({ store: other, clock: systemClock, random: systemRandom })
        await Promise.race([making, until(waits)])
        await tx.accounts.insert({ id: 'first', name: 'default', createdAtMs: 1 })
        return { making }
      })
      await second.making
      expect(await store.read.accounts.list()).toEqual([{ id: 'first', name: 'default', createdAtMs: 1 }])
      await client.end()
      await Promise.all([store.close(), other.close()])
    })
    test('notifies of changes, of which those of feeds can wait', async () => {
      const changed = vi.spyOn(Watchers.prototype, 'changed')
      const store = await openStore({ url: database.url, log: quiet })
      const stop = store.watch(() => undefined)
      for (const [n, kind] of (['feed', 'token', 'feed', 'kick'] as const).entries()) {
        // The first call says that it listens.
        await until(() => changed.mock.calls.length === 1 + n)
        await store.transaction((tx) => tx.changes.append({ kind, accountId: 'one', id: 1, atMs: 1 }))
      }
      await until(() => changed.mock.calls.length === 5)
      expect(changed.mock.calls).toEqual([[false], [true], [false], [true], [false]])
      changed.mockRestore()
      stop()
      await store.close()
    })
    test('of a newer version is refused by name', () => expectNewerRefused(database.url, database.execute))
    test('from before the first release is refused, with the way over', () =>
      expectEarlierRefused(database.url, database.execute))
    test('is closed in order', () => expectOrderlyClose(database.url))
    test('says in one read what is due', () => expectDue(database.url))

    test('has room for totals in the pages of sessions, so that writing them touches no index', async () => {
      const store = await openStore({ url: database.url, log: quiet })
      const sessions = Array.from({ length: 100 }, () => newSession())
      await store.transaction(async (tx) => {
        for (const session of sessions) await tx.sessions.insert(session, 'n')
      })
      const client = await database.connect()
      await client.query('begin')
      await client.query('update sessions set bytes_out = 1 where id = any($1)', [
        sessions.slice(0, 3).map(({ id }) => id),
      ])
      const stays = `select n_tup_upd - n_tup_hot_upd as moved from pg_stat_xact_user_tables where relname = 'sessions'`
      expect((await client.query<{ moved: string }>(stays)).rows).toEqual([{ moved: '0' }])
      await client.end()
      await store.close()
    })

    test('a change is returned although its transaction began early and committed late', async () => {
      const store = await openStore({ url: database.url, log: quiet })
      const slow = await database.connect()
      const { cursor } = await store.changesSince(null)
      await slow.query('begin')
      await slow.query(`insert into changes (kind, account_id, ref_id, at_ms) values ('token', 'slow', 1, 1)`)
      await store.transaction((tx) => tx.changes.append({ kind: 'token', accountId: 'fast', id: 2, atMs: 1 }))
      const before = await store.changesSince(cursor)
      expect(before.changes.map((change) => change.accountId)).toEqual(['fast'])
      await slow.query('commit')
      await slow.end()
      const after = await store.changesSince(before.cursor)
      expect(after.changes.map((change) => change.accountId)).toEqual(['slow'])
      expect((await store.changesSince(after.cursor)).changes).toEqual([])
      await store.close()
    })

    test('changes are returned once, and none is lost to pruning, while another program has a transaction open', async () => {
      const store = await openStore({ url: database.url, log: quiet })
      const append = () =>
        store.transaction((tx) => tx.changes.append({ kind: 'token', accountId: 'a', id: 2, atMs: 1 }))
      const prune = () => store.transaction((tx) => tx.changes.prune(2))
      const slow = await database.connect()
      await slow.query('begin')
      await slow.query('select pg_current_xact_id()')
      const { cursor } = await store.changesSince(null)
      await append()
      const first = await store.changesSince(cursor)
      expect(first.changes).toHaveLength(1)
      expect(await store.changesSince(first.cursor)).toMatchObject({ changes: [], reset: false })
      expect(await store.due({ nowMs: 1, node: 'n', cursor: first.cursor })).toMatchObject({ changes: false })
      await prune()
      expect(await store.changesSince(first.cursor)).toMatchObject({ changes: [], reset: false })
      await slow.query('commit')
      await slow.end()
      // A position of a time when it was open is read again before pruning overtakes it.
      expect(await store.due({ nowMs: 1, node: 'n', cursor: first.cursor })).toMatchObject({ changes: true })
      const { cursor: last } = await store.changesSince(first.cursor)
      expect(await prune()).toBe(1)
      expect(await store.changesSince(last)).toMatchObject({ changes: [], reset: false })
      expect(await store.changesSince(cursor)).toMatchObject({ changes: [], reset: true })
      await store.close()
    })

    test('a notification calls listeners after a commit, without the look of a second', async () => {
      const [store, other] = await Promise.all([1, 2].map(() => openStore({ url: database.url, log: quiet })))
      const listener = vi.fn()
      other!.watch(listener)
      await vi.waitFor(() => expect(listener).toHaveBeenCalledWith('changed'), { timeout: 30_000 })
      listener.mockClear()
      await store!.transaction((tx) => tx.changes.append({ kind: 'token', accountId: 'a', id: 1, atMs: 1 }))
      await vi.waitFor(() => expect(listener).toHaveBeenCalledWith('changed'), { timeout: 30_000 })
      await Promise.all([store!.close(), other!.close()])
    })

    describe('of which a newer node changes the tables', () => {
      const tables = async (client: Client): Promise<string[]> => {
        const { rows } = await client.query<{ name: string }>(`select table_name as name from information_schema.tables
          where table_schema = current_schema() and table_type = 'BASE TABLE' and table_name not like 'kysely%'`)
        const names = rows.map(({ name }) => name)
        expect(names).toContain('tokens')
        return names
      }

      test('has the columns that statements name', async () => {
        await (await openStore({ url: database.url, log: quiet })).close()
        const client = await database.connect()
        for (const table of await tables(client)) {
          const { rows } = await client.query<{ name: string }>(
            `select column_name as name from information_schema.columns where table_name = '${table}'`,
          )
          expect(new Set<string>(namesOf(table as 'tokens')), table).toEqual(new Set(rows.map(({ name }) => name)))
        }
        await client.end()
      })

      test('a column more in every table disturbs no statement that was prepared before', async () => {
        await (await openStore({ url: database.url, log: quiet })).close()
        const [earlier, newer] = [await database.connect(), await database.connect()]
        /** Runs each statement without values; returns the codes of their failures. */
        const runAll = async (): Promise<Set<string | undefined>> => {
          const codes = new Set<string | undefined>()
          for (const { name, sql, parameters } of everyStatement(postgresDialect)) {
            await earlier.query('begin')
            const failed: unknown = await earlier
              .query({ name: `${name}`, text: sql, values: parameters.map(() => null) })
              .catch((error: unknown) => error)
            if (failed instanceof DatabaseError) codes.add(failed.code)
            await earlier.query('rollback')
          }
          return codes
        }
        const NOT_NULL = '23502'
        expect([...(await runAll())]).toEqual([NOT_NULL])
        for (const table of await tables(newer)) await newer.query(`alter table ${table} add column newer integer`)
        expect([...(await runAll())]).toEqual([NOT_NULL])
        await Promise.all([earlier.end(), newer.end()])
      })

      test('a migration does not wait long for a table that a dump has locked, as others would wait behind it', async () => {
        await (await openStore({ url: database.url, log: quiet })).close()
        onTestFinished(() => void MIGRATIONS.delete('9999_test'))
        MIGRATIONS.set('9999_test', async (db) => {
          await sql`alter table tokens add column newer integer`.execute(db)
        })
        const dump = await database.connect()
        await dump.query('begin')
        await dump.query('lock table tokens in access share mode')
        await expect(openStore({ url: database.url, log: quiet })).rejects.toThrow(/lock timeout; start it again when/)
        await dump.end()
        await (await openStore({ url: database.url, log: quiet })).close()
      })

      test('a column of another type makes statements be prepared again, once, also in a transaction', async () => {
        const store = await openStore({ url: database.url, log: quiet, poolSize: 1 })
        const readAll = () => Promise.all([store.read.accounts.list(), store.transaction((tx) => tx.accounts.list())])
        const before = await readAll()
        await database.execute('alter table accounts alter column name type varchar(1000)')
        expect(await readAll()).toEqual(before)
        await database.execute('alter table accounts alter column name type text')
        let attempts = 0
        const inTransaction = store.transaction(async (tx) => {
          attempts += 1
          await tx.audit.append(auditRow('a', 'once'))
          return tx.accounts.list()
        })
        expect([await inTransaction, attempts]).toEqual([before[1], 2])
        expect(await store.read.audit.recent('a', 10)).toHaveLength(1)
        await store.close()
      })
    })
  })
})
