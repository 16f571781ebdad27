import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { parseAddress } from '../../src/core/access/address.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { countryFile } from '../support/countryFile.ts'

const levels: string[] = []
let app: RunningApp

beforeAll(async () => {
  app = await runApp({
    setLogLevel: (level) => void levels.push(level),
    flags: { metrics: { secret: 'scrape-me-if-you-can' } },
  })
})
afterAll(() => app.close())

const forwarded = { 'x-forwarded-for': '203.0.113.9' }
const bearer = (secret: string) => ({ ...forwarded, authorization: `Bearer ${secret}` })
const metrics = (secret: string) => fetch(`${app.base}/metrics`, { headers: bearer(secret) })
const guess = () => fetch(`${app.base}/api/server`, { headers: { authorization: 'Bearer wrong' } })

test('a reload changes limits, proxies, secrets and addresses of a running server, and names what needs a restart', async () => {
  const answer = await app.reload({
    log: { level: 'debug' },
    metrics: { secret: 'another-secret-of-mine' },
    server: { trustedProxies: ['127.0.0.1'], publicUrl: 'https://live.example.com', bodyLimitBytes: 2048 },
    rtmp: { ipFilters: 'enforce' },
    management: { failedAttemptsPerMinute: 1 },
    webrtc: { iceServers: ['stun:stun.example.com:3478'], port: 9999 },
    sessions: { tokenShare: 0.5, retentionDays: 3 },
    hls: { listSegments: 9, idleSeconds: 7 },
    webhooks: { inFlight: 5 },
    audit: { retentionDays: 5 },
    channels: { rtmpUrl: 'rtmp://live.example.com/live' },
  })
  expect(answer.ok).toBe(true)
  expect(answer.needRestart.map(({ key }) => key)).toEqual(['server.bodyLimitBytes', 'webrtc.port'])
  expect(answer.applied).toContainEqual({ key: 'sessions.tokenShare', from: 0.9, to: 0.5 })
  expect(levels).toEqual(['debug'])
  expect((await metrics('scrape-me-if-you-can')).status).toBe(401)
  expect((await metrics('another-secret-of-mine')).status).toBe(200)
  const server = await app.call('GET', '/api/server', undefined, forwarded)
  expect(server.json.data.addresses.base).toBe('https://live.example.com')
  expect([(await guess()).status, (await guess()).status]).toEqual([401, 429])
  const { ctx } = app.app
  const loopback = parseAddress('127.0.0.1') ?? expect.fail()
  expect(ctx.policy.rtmpIpFilters).toBe('enforce')
  expect(ctx.channelSettings.rtmpUrl).toBe('rtmp://live.example.com/live')
  expect(ctx.isProxy(loopback)).toBe(true)
})

test('a drain takes as long as the configuration says when it begins', async () => {
  const draining = await runApp({ flags: { server: { drainSeconds: 60 } } })
  onTestFinished(() => draining.close())
  const { ctx, due } = draining.app
  expect(await draining.reload({ server: { drainSeconds: 7 } })).toMatchObject({ ok: true, needRestart: [] })
  await ctx.store.transaction((tx) => tx.nodes.drain(ctx.sessions.node))
  await due.look()
  await draining.drained
  expect(ctx.sessions.drain).toMatchObject({ drainMs: 7000 })
})

test('a reload is in the audit log without secrets, and in the metrics', async () => {
  const [row] = await app.app.ctx.store.read.audit.recent(app.accountId, 1)
  expect(row).toMatchObject({ action: 'config.reload', actor: { kind: 'cli' } })
  expect(JSON.parse(row?.after ?? '')).toMatchObject({ 'metrics.secret': '(secret)', 'log.level': 'debug' })
  expect(await (await metrics('another-secret-of-mine')).text()).toContain(
    'sluice_config_reloads_total{outcome="applied"} 1',
  )
})

test('a configuration with one wrong key changes nothing', async () => {
  const before = app.app.config
  const answer = await app.reload({ log: { level: 'error' }, server: { maxConnections: -1 } })
  expect(answer).toMatchObject({ ok: false, applied: [], needRestart: [] })
  expect(answer.problems).toEqual([expect.stringContaining('server.maxConnections: -1 is out of range')])
  expect(app.app.config).toBe(before)
  expect(app.app.ctx.reloads.get('refused')).toBe(1)
})

test('a reload opens another country database, and changes nothing when it cannot be read', async () => {
  const { ctx } = app.app
  const address = parseAddress('198.51.100.7') ?? expect.fail()
  const fileOf = (code: string): string => {
    const path = join(app.dataDir, `${code}.mmdb`)
    writeFileSync(path, countryFile(code))
    return path
  }
  expect([ctx.hasCountries(), ctx.countryOf(address)]).toEqual([false, null])
  const [german, french] = [fileOf('DE'), fileOf('FR')]
  expect((await app.reload({ geoip: { database: german } })).needRestart).toEqual([])
  expect([ctx.hasCountries(), ctx.countryOf(address)]).toEqual([true, 'DE'])

  writeFileSync(french, 'no database')
  const refused = await app.reload({ geoip: { database: french }, audit: { retentionDays: 6 } })
  expect([refused.ok, refused.problems]).toEqual([
    false,
    [expect.stringMatching(/^geoip\.database: .*FR\.mmdb cannot/)],
  ])
  expect([ctx.countryOf(address), app.app.config.geoip.database]).toEqual(['DE', german])

  fileOf('FR')
  expect((await app.reload({ geoip: { database: french } })).ok).toBe(true)
  expect(ctx.countryOf(address)).toBe('FR')
  expect((await app.reload({})).ok).toBe(true)
  expect([ctx.hasCountries(), ctx.countryOf(address)]).toEqual([false, null])
})

test('files that a server reads only when it starts are looked at, since a restart would fail without them', async () => {
  const missing = (name: string): string => join(app.dataDir, `missing-${name}.pem`)
  const [certFile, keyFile, caFile] = [missing('cert'), missing('key'), missing('ca')]
  const answer = await app.reload({ log: { level: 'warn' }, tls: { certFile, keyFile }, webhooks: { caFile } })
  expect(answer).toMatchObject({ ok: false, applied: [], needRestart: [] })
  expect(answer.problems).toEqual([
    `tls.certFile: ${certFile} does not exist`,
    `webhooks.caFile: ${caFile} cannot be read as certificates: does not exist`,
  ])
  const acme = { domains: ['example.com'], agreeToTerms: true, caFile }
  const ordering = await app.reload({ tls: { acme, redirectPort: 80 } })
  expect(ordering.problems).toEqual([`tls.acme.caFile: ${caFile} does not exist`])
  const alone = await app.reload({ tls: { certFile } })
  expect(alone.problems).toEqual(['tls.certFile and tls.keyFile belong together: set both or neither'])
})

test('without TLS its keys need a restart', async () => {
  const answer = await app.reload({ tls: { hstsSeconds: 60, selfSigned: true } })
  expect([answer.applied, answer.needRestart.map(({ key }) => key)]).toEqual([
    [],
    ['tls.selfSigned', 'tls.hstsSeconds'],
  ])
})

test('a reload that failed by a fault of ours failed every later one too', async () => {
  const faulty = {
    get log(): never {
      throw new Error('an unexpected fault')
    },
  }
  expect(await app.reload(faulty)).toMatchObject({ ok: false, problems: ['the reload failed: an unexpected fault'] })
  expect((await app.reload({})).ok).toBe(true)
})
