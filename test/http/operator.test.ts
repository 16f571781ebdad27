import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAccount } from '../../src/commands/accounts/accounts.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { browserOf } from '../support/dashboard.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'

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

const PATHS = ['/server/configuration', '/server/doctor'] as const

interface Key {
  readonly key: string
}

const configuration = async () => (await sluice.call('GET', '/api/server/configuration')).json.data
const keyOf = async (name: string) => ((await configuration()).keys as Key[]).find(({ key }) => key === name)

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
