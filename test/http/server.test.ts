import { expect, it } from 'vitest'
import { VERSION } from '../../src/base/version.ts'
import type { PartialConfig } from '../../src/config/schema.ts'
import { runApp } from '../support/app.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'

async function read(flags: PartialConfig, headers: Record<string, string> = {}) {
  const sluice = await runApp({ flags, engine: new ScriptedEngine() })
  const { json, status } = await sluice.call('GET', '/api/server', undefined, headers)
  const { base, accountId } = sluice
  const { node } = sluice.app.ctx.sessions
  await sluice.close()
  expect(status).toBe(200)
  return { base, accountId, node, data: json.data }
}

it('GET /api/server answers the addresses for encoders and viewers, ports, limits and the version', async () => {
  const { base, accountId, node, data } = await read({})
  expect(data).toMatchObject({ version: VERSION, node, hasCountryDatabase: false })
  expect(data.addresses).toMatchObject({
    base,
    baseSource: 'request',
    whep: `${base}/api/whep/${accountId}/{streamName}`,
  })
  expect(data.addresses.rtmp).toMatch(/^rtmp:\/\/127\.0\.0\.1.*\/v2\/pub\/\{streamName\}$/)
  expect(data.limits.sessions).toBeGreaterThan(0)
  expect(Math.abs(Date.parse(data.time) - Date.now())).toBeLessThan(600_000)
})

it('believes the headers of a trusted proxy only, and leaves out RTMP when it is off', async () => {
  const proxy = { 'x-forwarded-host': 'live.example.com', 'x-forwarded-proto': 'https' }
  const rtmp = { enabled: false }
  const trusted = await read({ rtmp, server: { trustedProxies: ['127.0.0.1'] } }, proxy)
  expect(trusted.data.addresses.base).toBe('https://live.example.com')
  expect(trusted.data.addresses).not.toHaveProperty('rtmp')
  expect(trusted.data.ports).not.toHaveProperty('rtmp')
  const other = await read({ rtmp }, proxy)
  expect(other.data.addresses.base).toBe(other.base)
  const configured = await read({ rtmp, server: { publicUrl: 'https://tv.example.com/x/' } }, proxy)
  expect(configured.data.addresses).toMatchObject({ base: 'https://tv.example.com/x', baseSource: 'publicUrl' })
})
