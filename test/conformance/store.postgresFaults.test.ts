import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { StoreClient } from '../../src/store/postgres/client.ts'
import { NotOpened } from '../../src/store/postgres/errors.ts'
import { Hosts } from '../../src/store/postgres/hosts.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { renewLease } from '../support/leases.ts'
import { NODE_FACTS } from '../support/nodeFacts.ts'
import { freshDatabase, postgresUrl, type TestDatabase } from '../support/postgres.ts'
import { findBinaries, startPostgres } from '../support/postgres.setup.ts'
import { auditRow, insert, newAccount, quiet } from './store.samples.ts'

describe.skipIf(!postgresUrl())('a PostgreSQL database', () => {
  let database: TestDatabase
  beforeEach(async () => {
    database = await freshDatabase()
  })
  afterEach(() => database.drop())

  test('the load that a node reports holds up no renewal of its lease', async () => {
    const store = await openStore({ url: database.url, log: quiet })
    await store.transaction(async (tx) => {
      await tx.nodes.insert({ id: 'n', hostKey: 'h', pid: 1, url: null }, 60_000)
      await tx.nodes.insertFacts('n', NODE_FACTS)
    })
    await store.transaction(async (tx) => {
      await tx.nodes.setLoad('n', { ...NODE_FACTS, cpuPercent: 50 })
      expect(await renewLease(database.url, { kind: 'node', id: 'n', leaseMs: 60_000 })).toBe(true)
    })
    await store.close()
  })

  test('a pool whose connections are all in use reports it, and changes are still read', async () => {
    const store = await openStore({ url: database.url, log: quiet, poolSize: 1 })
    const listener = vi.fn()
    store.watch(listener)
    await expect.poll(() => listener).toHaveBeenCalledWith('changed')
    const { cursor } = await store.changesSince(null)
    let release: () => void = () => undefined
    const held = store.transaction(async (tx) => {
      await tx.changes.append({ kind: 'token', accountId: 'a', id: 1, atMs: 1 })
      await new Promise<void>((resolve) => (release = resolve))
    })
    const waiting = store.read.accounts.list()
    expect(await store.changesSince(cursor)).toMatchObject({ reset: false })
    await expect(waiting).rejects.toThrow('all 1 connections of this process to the database are in use')
    release()
    await held
    await store.close()
  })

  test('a ping goes before a burst that waits for connections', async () => {
    const store = await openStore({ url: database.url, log: quiet, poolSize: 1 })
    const ended: string[] = []
    const { promise, resolve: release } = Promise.withResolvers<void>()
    const held = store.transaction(() => promise)
    const reads = [1, 2].map(() => store.read.accounts.list().then(() => ended.push('read')))
    const ping = store.ping().then(() => ended.push('ping'))
    release()
    await Promise.all([held, ping, ...reads])
    expect(ended).toEqual(['ping', 'read', 'read'])
    await store.close()
  })

  test('a pause of the process was taken from the time in which the server has to open a connection', async () => {
    const openingMs = 5000
    const client = new StoreClient({ hosts: new Hosts(database.url), openingMs })
    const opened = client.connect()
    // Nothing of this thread runs, as while the machine is suspended.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, openingMs + 100)
    await opened
    expect(client.serverPid).toBeGreaterThan(0)
    await client.end()
  })

  test('a pause of the process is taken from no time in which the server has to answer; one that does not is given up', async () => {
    const answerMs = 300
    const client = new StoreClient({ hosts: new Hosts(database.url), openingMs: 5000, answerMs })
    await client.connect()
    const answered = client.query('select 1 as one')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, answerMs + 100)
    expect((await answered).rows).toEqual([{ one: 1 }])
    const ended = new Promise((resolve) => client.once('end', resolve))
    await expect(client.query('select pg_sleep(60)')).rejects.toThrow('timeout: the server gave no answer in time')
    await ended
  })

  test('a server that does not open a connection is given up', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    onTestFinished(() => void silent.close())
    const { port } = silent.address() as AddressInfo
    const client = new StoreClient({ hosts: new Hosts(`postgres://127.0.0.1:${port}/x`), openingMs: 100 })
    await expect(client.connect()).rejects.toBeInstanceOf(NotOpened)
  })

  test('a connection that breaks in a transaction fails it as unavailable, and nothing is written', async () => {
    const store = await openStore({ url: database.url, log: quiet })
    const accountId = newAccount()
    const cut = store.transaction(async (tx) => {
      await tx.audit.append(auditRow(accountId, 'lost'))
      await database.execute(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`)
      await tx.audit.append(auditRow(accountId, 'lost'))
    })
    await expect(cut).rejects.toBeInstanceOf(StoreUnavailable)
    await store.ping()
    expect(await store.read.audit.recent(accountId, 10)).toEqual([])
    await store.close()
  })
})

describe.skipIf(!findBinaries())('a PostgreSQL server that stops', () => {
  test('makes everything unavailable; after its restart everything works again, including notifications', async () => {
    const server = await startPostgres(findBinaries()!)
    onTestFinished(() => server.remove())
    const [store, other] = await Promise.all([1, 2].map(() => openStore({ url: server.url, log: quiet })))
    const listener = vi.fn()
    store!.watch(listener)
    const accountId = newAccount()
    await insert(store!, { accountId })

    await server.stop('immediate')
    await expect(store!.ping()).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(insert(store!, { accountId })).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(store!.read.accounts.list()).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(store!.changesSince(null)).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(openStore({ url: server.url, log: quiet })).rejects.toBeInstanceOf(StoreUnavailable)

    await server.start()
    await expect.poll(() => store!.ping()).toBeUndefined()
    expect(await other!.read.tokens.count({ accountId, kind: 'publish' })).toBe(1)
    listener.mockClear()
    await other!.transaction((tx) => tx.changes.append({ kind: 'token', accountId, id: 1, atMs: 1 }))
    await expect.poll(() => listener).toHaveBeenCalledWith('changed')
    await Promise.all([store!.close(), other!.close()])
  })
})
