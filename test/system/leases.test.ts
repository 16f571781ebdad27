import { connected } from '../support/postgres.ts'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import type { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { postgresDialect } from '../../src/store/dialects.ts'
import { postgresConnector } from '../../src/store/leases/connection.ts'
import { type RunningLeases, startLeases } from '../../src/store/leases/leases.ts'
import type { FromRenewer } from '../../src/store/leases/messages.ts'
import { renewalOf } from '../../src/store/leases/renewal.ts'
import { Renewer } from '../../src/store/leases/renewer.ts'
import { openStore } from '../../src/store/open.ts'
import { type Lease, type Node, type Store, StoreUnavailable } from '../../src/store/store.ts'
import { quiet } from '../conformance/store.samples.ts'
import { expireLease } from '../support/leases.ts'
import { newPlace, type Place, testedStores } from '../support/place.ts'
import { tcpProxy } from '../support/tcpProxy.ts'
import { until } from '../support/until.ts'

const LEASE_MS = 600

describe.each(testedStores())('leases on %s', (engine) => {
  let place: Place
  let store: Store
  let leases: RunningLeases
  beforeEach(async () => {
    place = await newPlace(engine)
    store = await openStore({ url: place.url, log: quiet })
    leases = startLeases(place.url, quiet)
    await leases.ready
  })
  afterEach(async () => {
    await leases.close()
    await store.close()
    await place.remove()
  })

  async function take(leaseMs = LEASE_MS): Promise<Lease> {
    const id = randomBytes(8).toString('hex')
    await store.transaction((tx) => tx.nodes.insert({ id, hostKey: 'here', pid: 1, url: null }, leaseMs))
    return { kind: 'node', id, leaseMs }
  }
  const find = async (id: string): Promise<Node | undefined> =>
    (await store.read.nodes.list()).find((node) => node.id === id)
  const seenAtMs = async (id: string): Promise<number> => (await find(id))?.seenAtMs ?? 0

  it('of all kinds are renewed, and no longer once they are released', async () => {
    const sender = randomBytes(8).toString('hex')
    const engineId = randomBytes(8).toString('hex')
    const state = { engineId, accountId: 'a', channelId: 'c', wanted: true, node: null, runId: null }
    await store.transaction(async (tx) => {
      await tx.engineStates.put({ ...state, idleSinceMs: null, failures: 0, retryAtMs: null })
      await tx.engineStates.take(engineId, `${sender} engines`, -1)
    })
    const lease = await take(60_000)
    leases.keep(lease)
    leases.keep({ kind: 'deliveries', id: sender, leaseMs: LEASE_MS })
    leases.keep({ kind: 'engines', id: `${sender} engines`, leaseMs: 60_000 })
    await until(async () => (await store.read.engineStates.get(engineId))?.isExpired === false)
    expect(await senders(place.url, sender)).toBe(1)

    await Promise.all([leases.release(lease.id), leases.release(sender), leases.release('nobody')])
    await store.transaction((tx) => tx.deliveries.leave(sender))
    const last = await seenAtMs(lease.id)
    // The lease of the engines continues, and shows when another round is complete.
    const expire = () => expireLease(place.url, `${sender} engines`, 'engines')
    await expire()
    await until(async () => (await store.read.engineStates.get(engineId))?.isExpired === false)
    expect([await seenAtMs(lease.id), await senders(place.url, sender)]).toEqual([last, 0])
  })

  it('of a holder that was given up are not renewed, and the holder is notified', async () => {
    const lease = await take()
    const lost = new Promise<void>((resolve) => leases.keep(lease, resolve))
    // As a sweep does, it skips a node whose row is locked, here by a renewal, and asks again.
    await until(() => store.transaction((tx) => tx.nodes.giveUp(lease.id, true)))
    await lost
    await store.transaction((tx) => tx.nodes.delete(lease.id))
    expect(await find(lease.id)).toBeUndefined()
  })
})

/** The number of rows in `delivery_nodes` with this id. */
async function senders(url: string, id: string): Promise<number> {
  const sql = (hole: string) => `select id from delivery_nodes where id = ${hole}`
  if (url.startsWith('postgres:')) {
    return connected(url, async (client) => (await client.query(sql('$1'), [id])).rows.length)
  }
  const file = new DatabaseSync(url, { readOnly: true })
  const found = file.prepare(sql('?')).all(id).length
  file.close()
  return found
}

describe.each(testedStores('PostgreSQL'))('leases on %s that other machines judge', (engine) => {
  let place: Place
  let store: Store
  beforeEach(async () => {
    place = await newPlace(engine)
    store = await openStore({ url: place.url, log: quiet })
    await store.transaction((tx) => tx.nodes.insert({ id: lease.id, hostKey: 'here', pid: 1, url: null }, LEASE_MS))
  })
  afterEach(async () => {
    await store.close()
    await place.remove()
  })
  const lease = { kind: 'node', id: 'n', leaseMs: LEASE_MS } as const
  const find = async (): Promise<Node | undefined> => (await store.read.nodes.list().catch(() => []))[0]
  const seenAtMs = async (): Promise<number> => (await find())?.seenAtMs ?? 0

  async function started(): Promise<RunningLeases> {
    const leases = startLeases(place.url, quiet)
    leases.keep(lease)
    const before = await seenAtMs()
    await until(async () => (await seenAtMs()) > before)
    return leases
  }

  it('are renewed while the process is busy for longer than they last', async () => {
    const leases = await started()
    const lastMs = (await seenAtMs()) + LEASE_MS
    // Like a long computation this blocks the thread, until another process has seen that the lease outlasts its time.
    const code = watcherOf(place.url, `select 1 from serving_nodes where id = '${lease.id}' and seen_at_ms > ${lastMs}`)
    execFileSync(process.execPath, ['--input-type=module', '--eval', code])
    await leases.close()
  })

  it('expire when their process hangs', async () => {
    let isAlive = true
    const messages: FromRenewer[] = []
    const renewer = new Renewer({
      open: await postgresConnector(place.url),
      say: (message) => messages.push(message),
      isHolderAlive: () => isAlive,
    })
    const running = renewer.run()
    renewer.hear({ do: 'keep', renewal: renewalOf(postgresDialect, lease) })
    const before = await seenAtMs()
    await until(async () => (await seenAtMs()) > before)
    isAlive = false
    await until(async () => (await find())?.isExpired === true)
    isAlive = true
    await until(async () => (await find())?.isExpired === false)
    renewer.hear({ do: 'close' })
    await running
    const others = messages.filter(({ say }) => say !== 'renewed')
    expect([others, messages.at(-1)]).toEqual([[{ say: 'ready' }], { say: 'renewed', ids: [lease.id] }])
  })

  it.each(['connection', 'thread'] as const)('are renewed again after their %s was ended', async (what) => {
    const threads: Worker[] = []
    const note = (thread: Worker): unknown => threads.push(thread)
    process.on('worker', note)
    const leases = await started()
    process.off('worker', note)
    if (what === 'thread') await threads[0]?.terminate()
    else await cutConnections(place.url)
    const atMs = await connected(place.url, async (client) => {
      const { rows } = await client.query<{ now: string }>('select extract(epoch from clock_timestamp()) * 1000 as now')
      return Number(rows[0]?.now)
    })
    await until(async () => (await seenAtMs()) > atMs)
    await leases.release(lease.id)
    await leases.close()
  })

  it('that are released while their thread dies are released', async () => {
    const threads: Worker[] = []
    const note = (thread: Worker): unknown => threads.push(thread)
    process.on('worker', note)
    const leases = await started()
    process.off('worker', note)
    void threads[0]?.terminate()
    await leases.release(lease.id)
    await leases.close()
  })

  it('begin when the server opens a connection, after a first one that it did not open in time', async () => {
    const url = new URL(place.url)
    const proxy = await tcpProxy(Number(url.port))
    proxy.cut('closed')
    url.port = String(proxy.port)
    const leases = startLeases(url.href, { ...quiet, warn: () => proxy.open() })
    await leases.ready
    await leases.close()
    await proxy.close()
  })

  it('are not renewed without a server', async () => {
    const leases = startLeases('postgres://sluice@127.0.0.1:1/none', quiet)
    leases.keep(lease)
    await expect(leases.ready).rejects.toBeInstanceOf(StoreUnavailable)
    await leases.close()
  })
})

/** The code of a process that ends with 0 when the query finds a row, and fails after at least a minute. */
const watcherOf = (url: string, query: string): string => `
  import { setTimeout } from 'node:timers/promises'
  import pg from ${JSON.stringify(import.meta.resolve('pg'))}
  const client = new pg.Client({ connectionString: ${JSON.stringify(url)} })
  await client.connect()
  for (let turns = 6000; (await client.query(${JSON.stringify(query)})).rows.length === 0; turns -= 1) {
    if (turns === 0) throw new Error('no row')
    await setTimeout(10)
  }
  await client.end()`

const cutConnections = (url: string): Promise<unknown> =>
  connected(url, (client) =>
    client.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`),
  )
