import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, expect, type Mock, onTestFinished, test, vi } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { quiet } from '../conformance/store.samples.ts'
import { type Answer, type RunningApp, runApp } from '../support/app.ts'
import { findBinaries, type TestServer } from '../support/postgres.setup.ts'
import { ask, pair, urlOf } from '../support/postgresPair.ts'
import { until } from '../support/until.ts'
import { command } from './cliProcess.ts'

const READ_ONLY = 'the database is read-only (a standby?)'

describe.skipIf(!findBinaries())('a primary and a standby that change places under load', () => {
  test('lose no acknowledged write, and no connection stays at the old primary', async () => {
    const [a, b] = await pair()
    const address = await forwarder(a)
    const { app, accepted, stop } = await underLoad(address.url)

    const before = await connectionsAt(a)
    await makeReadOnly(a)
    await until(async () => (await write(app)).json.message === `Nothing was changed: ${READ_ONLY}`)
    // All but the one that listens, however busy readers keep them.
    await until(async () => (await connectionsAt(a)).filter((pid) => before.includes(pid)).length <= 1)

    await changePlaces(a, b)
    const ready = await app.call('GET', '/readyz')
    expect([ready.status, ready.text]).toEqual([503, `not ready: ${READ_ONLY}\n`])
    const doctor = await command(['--data', app.dataDir, 'doctor'], { env: { SLUICE_STORAGE_URL: address.url } })
    expect(doctor.stdout).toMatch(/^FAIL +store +the database is read-only \(a standby\?\)$/m)

    address.leadTo(b)
    await until(async () => (await write(app)).status === 200)
    await until(async () => (await connectionsAt(a)).length === 0)
    await until(async () => (await app.call('GET', '/readyz')).status === 200)
    await stop()
    expect(await lost(accepted, b)).toEqual([])
  })

  test('are both in storage.url: the one that takes writes is used, also for leases and notifications', async () => {
    const [a, b] = await pair()
    const url = urlOf([b, a])
    const { app, accepted, stop } = await underLoad(url)
    const heard = await listenTo(url)
    await changePlaces(a, b)
    await until(async () => (await write(app)).status === 200)
    await until(async () => (await connectionsAt(a)).length === 0)
    const renewedAt = async () => (await ask(b, 'select max(seen_at_ms) from serving_nodes'))[0] ?? 0
    const since = await renewedAt()
    await until(async () => (await renewedAt()) > since)
    heard.mockClear()
    await until(async () => {
      await app.app.ctx.store.transaction((tx) => tx.changes.append({ kind: 'token', accountId: 'a', id: 1, atMs: 1 }))
      return heard.mock.calls.length > 0
    })
    await stop()
    expect(await lost(accepted, b)).toEqual([])
  })
})

/** As Patroni and managed databases do: the old primary is a standby before the address of the database moves. */
async function changePlaces(primary: TestServer, standby: TestServer): Promise<void> {
  await primary.stop('fast')
  await ask(standby, 'select pg_promote()::int')
  primary.follow(standby)
  await primary.start()
}

/** A server whose callers read and write all the time. `accepted`: the ids of the tokens that it acknowledged. */
async function underLoad(url: string): Promise<{ app: RunningApp; accepted: number[]; stop: () => Promise<void> }> {
  const app = await runApp({ flags: { storage: { url } } })
  onTestFinished(() => app.close())
  const accepted: number[] = []
  const over = new AbortController()
  const repeat = async (request: () => Promise<void>) => {
    while (!over.signal.aborted) await request()
  }
  const read = async () => void (await app.call('GET', '/api/subscribe_token/list?page=1&itemsOnPage=1'))
  const make = async () => {
    const { status, json } = await write(app)
    if (status === 200) accepted.push(json.data.id as number)
  }
  const callers = [read, make].map(repeat)
  const stop = async () => {
    over.abort()
    await Promise.all(callers)
  }
  onTestFinished(stop)
  await until(() => accepted.length > 5)
  return { app, accepted, stop }
}

/** Called for notifications of the database alone, and not each second. */
async function listenTo(url: string): Promise<Mock> {
  const store = await openStore({ url, log: quiet })
  onTestFinished(() => store.close())
  const heard = vi.fn()
  store.watch((what) => {
    if (what === 'changed') heard()
  })
  await until(() => heard.mock.calls.length > 0)
  return heard
}

const write = (app: RunningApp): Promise<Answer> =>
  app.call('POST', '/api/subscribe_token', { label: 'x', streams: [{ streamName: 'x' }] })

async function lost(accepted: number[], server: TestServer): Promise<number[]> {
  const stored = new Set(await ask(server, 'select id from tokens'))
  return accepted.filter((id) => !stored.has(id))
}

/** The server processes of Sluice's connections. The standby has one of its own at its primary. */
const connectionsAt = (server: TestServer): Promise<number[]> =>
  ask(server, `select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`)

/** As managed databases do before a failover, or when their disk gets full. */
async function makeReadOnly(server: TestServer): Promise<void> {
  await ask(server, 'alter system set default_transaction_read_only = on')
  await ask(server, 'select pg_reload_conf()')
}

/** An address that leads to another server later; connections stay where they are. */
async function forwarder(first: TestServer): Promise<{ url: string; leadTo(server: TestServer): void }> {
  let target = new URL(first.url)
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    near.pipe(far).pipe(near)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on('error', () => undefined).on('close', () => other.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return {
    url: `postgres://sluice@127.0.0.1:${(server.address() as AddressInfo).port}/postgres`,
    leadTo: ({ url }) => (target = new URL(url)),
  }
}

test('a node misses no change after a standby was promoted that lacked the last transactions: it reads all again', async () => {
  const [primary, standby] = await pair()
  const store = await openStore({ url: urlOf([primary, standby]), log: quiet })
  onTestFinished(() => store.close())
  const change = (id: number) =>
    store.transaction((tx) => tx.changes.append({ kind: 'token', accountId: 'a', id, atMs: Date.now() }))
  await change(1)
  // The standby may not have the table yet.
  await until(async () => (await ask(standby, 'select count(*) from changes').catch(() => []))[0] === 1)
  const [receiver = 0] = await ask(standby, 'select pid from pg_stat_wal_receiver')
  process.kill(receiver, 'SIGSTOP')
  for (let id = 2; id < 10; id += 1) await change(id)
  const { cursor } = await store.changesSince(null)
  await primary.stop('immediate')
  process.kill(receiver, 'SIGKILL')
  await until(() => ask(standby, 'select pg_promote(false)::int').catch(() => null))
  await until(() =>
    change(100).then(
      () => true,
      () => false,
    ),
  )
  // The numbers of transactions that were lost are given again.
  for (let id = 101; id < 120; id += 1) await change(id)
  expect(await store.changesSince(cursor)).toMatchObject({ reset: true })
})
