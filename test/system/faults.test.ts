import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { authorize } from '../../src/commands/access/authorize.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { endServers, newDirectory, serve } from './cliProcess.ts'
import { findBinaries, startPostgres, type TestServer } from '../support/postgres.setup.ts'
import { tcpProxy } from '../support/tcpProxy.ts'

const STALE_SECONDS = 30

let sluice: RunningApp | undefined
let server: TestServer | undefined
afterEach(async () => {
  endServers()
  await server?.start().catch(() => undefined)
  await sluice?.close()
  await server?.remove()
  sluice = undefined
  server = undefined
})

const question = { action: 'publish', protocol: 'whip', streamName: 'show', ip: '192.0.2.1' }

async function startOnPostgres(clock: ManualClock): Promise<{ app: RunningApp; database: TestServer }> {
  const binaries = findBinaries()
  if (!binaries) throw new Error('there is no PostgreSQL server in this run')
  const database = (server = await startPostgres(binaries))
  const flags = { storage: { url: database.url }, access: { staleSeconds: STALE_SECONDS } }
  const app = (sluice = await runApp({ flags, clock }))
  return { app, database }
}

describe('a database outage', () => {
  it('stops writes with 503; decisions continue from memory for a stated time, then admit no one', async () => {
    const clock = new ManualClock()
    const { app, database } = await startOnPostgres(clock)
    const body = { label: 'a', streams: [{ streamName: 'show' }] }
    const { token } = (await app.call('POST', '/api/publish_token', body)).json.data
    const ask = () => app.call('POST', '/api/access/check', { ...question, token })
    expect((await ask()).json.data.allowed).toBe(true)

    await database.stop('immediate')
    const write = await app.call('POST', '/api/publish_token', body)
    expect(write.status).toBe(503)
    expect(write.headers.get('retry-after')).toBe('1')
    expect(write.json).toMatchObject({ status: 'error', code: 503 })
    expect((await app.call('GET', '/readyz')).status).toBe(503)
    expect((await app.call('GET', '/healthz')).status).toBe(200)

    clock.advance((STALE_SECONDS - 1) * 1000)
    expect((await ask()).json.data.allowed).toBe(true)
    clock.advance(2000)
    expect((await ask()).status).toBe(503)

    await database.start()
    await vi.waitFor(async () => expect((await ask()).status).toBe(200), { timeout: 30_000, interval: 100 })
    expect((await ask()).json.data.allowed).toBe(true)
    const list = await app.call('GET', '/api/publish_token/list')
    expect(list.headers.get('x-total-count')).toBe('1')
    expect((await app.call('POST', '/api/publish_token', body)).status).toBe(200)
  })

  it('prevents new bindings, because they cannot be written', async () => {
    const { app, database } = await startOnPostgres(new ManualClock())
    const body = { label: 'a', streams: [{ streamName: 'show' }], bindIpsOnUsage: 1 }
    const { token } = (await app.call('POST', '/api/publish_token', body)).json.data
    const publish = () =>
      authorize(app.app.ctx, {
        action: 'publish',
        protocol: 'whip',
        accountId: null,
        streamName: 'show',
        presented: token,
        address: { family: 4, value: 1, text: '0.0.0.1' },
        origin: null,
      })
    await app.call('POST', '/api/access/check', { ...question, token })
    await database.stop('immediate')
    await expect(publish()).rejects.toMatchObject({ name: 'StoreUnavailable' })
    await database.start()
    await vi.waitFor(async () => expect((await publish()).decision.allowed).toBe(true), { timeout: 30_000 })
  })

  it.each(['ready', 'no API secret yet'])(
    'keeps no server from ending that is told to stop meanwhile, after "%s"',
    async (line) => {
      const binaries = findBinaries()
      if (!binaries) throw new Error('there is no PostgreSQL server in this run')
      const database = (server = await startPostgres(binaries))
      const node = await serve(['--data', newDirectory()], { SLUICE_STORAGE_URL: database.url })
      await expect.poll(() => node.log()).toContain(line)
      await database.stop('immediate')
      node.signal('SIGTERM')
      expect(await node.ended).toBe(1)
      // A connection that is opened as the server stops is told so.
      expect(node.errors()).toMatch(/^sluice: the database (server cannot be reached|system is shutting down)/m)
    },
  )

  it('that says nothing keeps no server from ending: it gives the database up, and waits for it in no part again', async () => {
    const binaries = findBinaries()
    if (!binaries) throw new Error('there is no PostgreSQL server in this run')
    const database = (server = await startPostgres(binaries))
    const url = new URL(database.url)
    const proxy = await tcpProxy(Number(url.port))
    onTestFinished(() => proxy.close())
    url.port = `${proxy.port}`
    const node = await serve(['--data', newDirectory()], { SLUICE_STORAGE_URL: url.href })
    proxy.cut('silent')
    node.signal('SIGTERM')
    expect(await node.ended).toBe(1)
    expect(node.errors()).toMatch(/^sluice: the database server/m)
    const lines = node.log().trim().split('\n')
    expect(lines.filter((line) => line.includes('the database server gives no answer'))).toHaveLength(1)
  })
})
