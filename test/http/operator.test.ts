import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LocalBackups } from '../../src/app/backupDesk.ts'
import { VERSION } from '../../src/base/version.ts'
import { createAccount } from '../../src/commands/accounts/accounts.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { PartialConfig } from '../../src/config/schema.ts'
import { withBackupFile } from '../../src/store/backup/backupFile.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { countryFile } from '../support/countryFile.ts'
import { browserOf } from '../support/dashboard.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'

const SCRAPE = 'scrape-me-if-you-can'
const CREDENTIAL = 'relay-credential'
const flags = {
  metrics: { secret: SCRAPE },
  // Nothing is started, so that a check takes milliseconds.
  ffmpeg: { path: '/nowhere/ffmpeg' },
  webrtc: { iceServers: [`turn:turn.example.com:3478 relay ${CREDENTIAL}`] },
  rtmp: { enabled: false },
}

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp({ flags, engine: new ScriptedEngine() })
})
afterAll(() => sluice.close())

const PATHS = [
  '/server/configuration',
  '/server/doctor',
  '/server/backup',
  '/server/backup/file',
  '/server/storage',
  '/server/upkeep',
] as const

interface Key {
  readonly key: string
}

const configuration = async () => (await sluice.call('GET', '/api/server/configuration')).json.data
const keyOf = async (name: string) => ((await configuration()).keys as Key[]).find(({ key }) => key === name)

describe('a node reads its configuration again at a request of an operator', () => {
  const reload = (id: string) => sluice.call('POST', `/api/nodes/${id}/reload`)

  it('and says what is wrong with it, or that nothing changed; the audit log has who asked', async () => {
    const { node } = sluice.app.ctx.sessions
    await sluice.reload({ ...flags, server: { bodyLimitBytes: -1 } })
    const refused = await reload(node)
    expect([refused.status, refused.json.data.ok, refused.json.data.problems]).toEqual([
      200,
      false,
      [expect.stringContaining('server.bodyLimitBytes: -1')],
    ])
    await sluice.reload(flags)
    expect((await reload(node)).json.data).toEqual({ ok: true, applied: [], needRestart: [], problems: [] })
    const audited = await sluice.app.ctx.store.read.audit.page({
      accountId: sluice.accountId,
      action: 'node.reload',
      limit: 10,
    })
    expect(audited).toMatchObject([
      { actor: { kind: 'secret' }, subject: node },
      { actor: { kind: 'secret' }, subject: node },
    ])
  })

  it('and no other node, and not for a viewer of the dashboard', async () => {
    expect((await reload('no-node')).status).toBe(404)
    const viewer = await browserOf(sluice, 'viewer')
    expect((await viewer.call('POST', `/nodes/${sluice.app.ctx.sessions.node}/reload`)).status).toBe(403)
  })
})

describe('the configuration', () => {
  it('is told with the source of each value and what a change needs, and without secrets', async () => {
    expect(await keyOf('server.host')).toMatchObject({
      value: '127.0.0.1',
      source: 'flag',
      sourceName: 'command line',
      needsRestart: true,
      variable: 'SLUICE_SERVER_HOST',
    })
    expect(await keyOf('log.level')).toMatchObject({ value: 'info', source: 'default', needsRestart: false })
    const secret = await keyOf('metrics.secret')
    expect(secret).toMatchObject({ isSecret: true, source: 'flag' })
    expect(secret).not.toHaveProperty('value')
    expect(await keyOf('webrtc.iceServers')).toMatchObject({ value: ['turn:turn.example.com:3478 (secret)'] })
    const { text } = await sluice.call('GET', '/api/server/configuration')
    for (const hidden of [SCRAPE, CREDENTIAL]) expect(text).not.toContain(hidden)
  })

  it('says which keys have other values in their sources now, until they apply', async () => {
    expect((await configuration()).waiting).toEqual({ reload: [], restart: [] })
    await sluice.reload({ ...flags, log: { level: 'error' }, server: { bodyLimitBytes: 4096 } })
    expect((await configuration()).waiting).toEqual({ reload: [], restart: ['server.bodyLimitBytes'] })
    expect(await keyOf('log.level')).toMatchObject({ value: 'error', source: 'flag' })
    expect(await keyOf('server.bodyLimitBytes')).toMatchObject({ source: 'default' })
    await sluice.reload({ ...flags, server: { bodyLimitBytes: -1 } })
    expect((await configuration()).problems).toEqual([
      expect.stringContaining('command line: server.bodyLimitBytes: -1'),
    ])
    await sluice.reload(flags)
  })
})

describe('the doctor', () => {
  it('examines the serving node once for all who ask at the same time, and keeps what it found', async () => {
    expect((await sluice.call('GET', '/api/server/doctor')).json.data).toBeNull()
    const ask = () => sluice.call('POST', '/api/server/doctor')
    const [one, other] = await Promise.all([ask(), ask()])
    expect(one.status).toBe(200)
    // A durable write takes another time in each examination.
    expect(one.json).toEqual(other.json)
    expect((await sluice.call('GET', '/api/server/doctor')).json).toEqual(one.json)
    const { checks, node } = one.json.data
    expect(node).toBe(sluice.app.ctx.sessions.node)
    const outcomes = Object.fromEntries(
      checks.map((found: { check: string; outcome: string }) => [found.check, found.outcome]),
    )
    expect(outcomes).toMatchObject({
      configuration: 'ok',
      store: 'ok',
      'sealing key': 'ok',
      port: 'ok',
      ffmpeg: 'warn',
    })
    expect(JSON.stringify(checks)).not.toContain(CREDENTIAL)
  })
})

describe('the backup', () => {
  const read = async () => (await sluice.call('GET', '/api/server/backup')).json.data
  const file = (cookie: string, headers?: Record<string, string>) =>
    fetch(`${sluice.base}/dashboard/api/server/backup/file`, {
      headers: { cookie, 'x-sluice-dashboard': '1', 'sec-fetch-site': 'same-origin', ...headers },
    })

  it('is made beside the server, one at a time, fetched as it is, and both are on record', async () => {
    expect(await read()).toEqual({ node: sluice.app.ctx.sessions.node, engine: 'sqlite', isRunning: false })
    const { cookie } = await browserOf(sluice)
    expect((await file(cookie)).status).toBe(404)
    await makeToken(sluice, 'publish', { label: 'Saved' })
    const begin = () => sluice.call('POST', '/api/server/backup')
    const statuses = (await Promise.all([begin(), begin()])).map(({ status }) => status)
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 409])
    await until(async () => !(await read()).isRunning)
    const { latest, problem } = await read()
    expect(problem).toBeUndefined()
    expect(latest).toMatchObject({ accounts: 1, tokens: 1, version: VERSION })
    expect(latest.sealedBy).toHaveLength(1)

    const fetched = await file(cookie)
    const content = Buffer.from(await fetched.arrayBuffer())
    expect(content.length).toBe(latest.bytes)
    expect(fetched.headers.get('content-disposition')).toMatch(/^attachment; filename="sluice-[\dTZ-]+\.tar"$/)
    expect(await (await file(cookie, { range: 'bytes=0-9' })).text()).toBe('sluice.db\0')
    const saved = join(sluice.dataDir, 'fetched.tar')
    writeFileSync(saved, content)
    const checked = await withBackupFile(saved, async (backup) => backup.check())
    expect(checked).toEqual({ ok: true, value: undefined })
    // Neither the key nor an authority may leave by a browser.
    expect(await withBackupFile(saved, (backup) => backup.secrets())).toMatchObject({
      value: { keys: [], authority: null },
    })
    const rows = await sluice.app.ctx.store.read.audit.recent(sluice.accountId, 3)
    expect(rows.map(({ action }) => action)).toEqual(['backup.download', 'backup.download', expect.anything()])
    expect(rows.map(({ actor }) => actor.kind)).toContain('user')
  })

  it('is not fetched with an API secret, which gives no access to users', async () => {
    const { status, text } = await sluice.call('GET', '/api/server/backup/file')
    expect([status, text]).toEqual([403, expect.stringContaining('password hashes')])
  })

  const deskWith = (over: PartialConfig): LocalBackups => {
    const config = loadConfig({ env: {}, flags: { data: { dir: sluice.dataDir }, ...over } })
    if (!config.ok) throw new Error(JSON.stringify(config.error))
    return new LocalBackups({ ...sluice.app, config: config.value })
  }
  const recorded = () => Promise.resolve()

  it('that cannot be made says why, and one that is not on record is not made', async () => {
    const desk = deskWith({ storage: { url: join(sluice.dataDir, 'absent', 'sluice.db') } })
    await expect(desk.begin(() => Promise.reject(new Error('no record')))).rejects.toThrow('no record')
    await until(async () => !(await desk.read()).isRunning)
    expect((await desk.read()).problem).toBeNull()
    expect((await desk.begin(recorded)).ok).toBe(true)
    await until(async () => !(await desk.read()).isRunning)
    expect((await desk.read()).problem?.message).toContain('absent')
  })

  it('that begins as the server stops is broken off', async () => {
    const desk = deskWith({})
    const { latest } = await desk.read()
    const begun = desk.begin(recorded)
    await Promise.all([begun, desk.close()])
    expect(await desk.read()).toMatchObject({ isRunning: false, problem: null, latest })
  })

  it('is fetched by one request at a time', () => {
    const desk = deskWith({})
    const release = desk.reserve() ?? expect.fail()
    expect(desk.reserve()).toBeNull()
    release()
    expect(desk.reserve()).not.toBeNull()
  })

  it('of PostgreSQL is for the command line, which the refusal names', async () => {
    const desk = deskWith({ storage: { url: 'postgres://sluice:hidden@127.0.0.1/sluice' } })
    expect(await desk.read()).toEqual({ engine: 'postgres', isRunning: false, problem: null, latest: null })
    const refused = await desk.begin(recorded)
    expect(refused).toMatchObject({ error: { code: 'conflict' } })
    expect(JSON.stringify(refused)).toContain('`sluice backup FILE`')
  })
})

it('what grows old is told with its age, by its own date', async () => {
  const read = async () => (await sluice.call('GET', '/api/server/upkeep')).json.data
  expect(await read()).toEqual({ node: sluice.app.ctx.sessions.node, version: VERSION })
  const database = join(sluice.dataDir, 'countries.mmdb')
  writeFileSync(database, countryFile('DE', 200))
  await sluice.reload({ ...flags, geoip: { database } })
  const { path, builtOn, ageDays } = (await read()).countryDatabase
  expect([path, builtOn]).toEqual([database, '1970-01-01T00:03:20.000Z'])
  expect(ageDays).toBeGreaterThan(20_000)
})

it('the storage is told by what fills it, and costs a walk once a minute', async () => {
  await mkdir(join(sluice.dataDir, 'recordings', 'one'), { recursive: true })
  writeFileSync(join(sluice.dataDir, 'recordings', 'one', 'recording.mp4'), Buffer.alloc(3000))
  writeFileSync(join(sluice.dataDir, 'recordings', 'one', 'thumbnail.jpeg'), Buffer.alloc(200))
  const read = async () => (await sluice.call('GET', '/api/server/storage')).json.data
  const { volumes, parts, tables } = await read()
  expect(volumes).toEqual([
    {
      directories: [sluice.dataDir, join(sluice.dataDir, 'recordings')],
      freeBytes: expect.any(Number),
      totalBytes: expect.any(Number),
    },
  ])
  expect(parts).toContainEqual({ part: 'recordings', files: 1, bytes: 3000, hasMore: false })
  expect(parts).toContainEqual({ part: 'thumbnails', files: 1, bytes: 200, hasMore: false })
  expect(parts[0]).toMatchObject({ part: 'database', hasMore: false })
  expect(parts[0].bytes).toBeGreaterThan(4096)
  expect(tables).toContainEqual({ name: 'accounts', rows: 1, hasMore: false, bytes: expect.any(Number) })
  writeFileSync(join(sluice.dataDir, 'recordings', 'one', 'other.mp4'), Buffer.alloc(3000))
  expect((await read()).parts).toEqual(parts)
})

it('is for admins alone, and for no holder of one account among several', async () => {
  const viewer = await browserOf(sluice, 'viewer')
  const admin = await browserOf(sluice)
  for (const path of PATHS) {
    expect([path, (await viewer.call('GET', path)).status]).toEqual([path, 403])
    expect([path, (await admin.call('GET', path)).status]).toEqual([path, 200])
  }
  expect((await viewer.call('POST', '/server/doctor')).status).toBe(403)
  await createAccount(sluice.app.ctx, 'another')
  for (const path of PATHS) {
    const { status, json } = await sluice.call('GET', `/api${path}`)
    expect([path, status, json.data.message]).toEqual([path, 403, expect.stringContaining('several accounts')])
  }
})
