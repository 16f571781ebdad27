import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, request as requestFrom } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { askHealth } from '../../src/app/health.ts'
import type { Finding } from '../../src/core/examination.ts'
import { checkProxy } from '../../src/cli/doctorProxy.ts'
import { checkPublicUrl } from '../../src/cli/doctorUrl.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { Config } from '../../src/config/schema.ts'
import { DOCTOR_HEADER } from '../../src/core/health.ts'
import { runApp, type RunningApp } from '../support/app.ts'

/** A proxy that the server trusts connects from here, any other one from the next address. */
const TRUSTED = '127.0.0.2'
const UNKNOWN = '127.0.0.3'

let sluice: RunningApp
beforeAll(async () => {
  sluice = await runApp({ flags: { server: { trustedProxies: [TRUSTED] } } })
})
afterAll(() => sluice.close())

/** What a proxy does with the header of its client, whose address is 127.0.0.1. */
const PROXIES = {
  replaces: () => '127.0.0.1',
  appends: (claimed = '') => `${claimed}, 127.0.0.1`,
  'passes on': (claimed?: string) => claimed,
  removes: () => undefined,
}

/** Starts a proxy in front of the server, and returns its URL. */
async function proxy(habit: keyof typeof PROXIES, localAddress: string): Promise<string> {
  const { hostname, port } = new URL(sluice.base)
  const server = createServer(({ url: path, headers }, response) => {
    const forwarded = PROXIES[habit](String(headers['x-forwarded-for']))
    const passed: IncomingHttpHeaders = { ...headers, 'x-forwarded-for': forwarded }
    if (forwarded === undefined) delete passed['x-forwarded-for']
    requestFrom({ hostname, port, path, localAddress, headers: passed, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(response)
    }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The outcomes of the checks, with what they say. */
async function examine(
  publicUrl: string,
  change: (config: Config) => Config = (config) => config,
): Promise<Pick<Finding, 'check' | 'outcome' | 'detail'>[]> {
  const { config } = sluice.app
  const seen = change({ ...config, server: { ...config.server, publicUrl } })
  const { findings, report } = await checkPublicUrl(seen, true, (url) => askHealth(seen, url))
  const all = [...findings, ...(report ? checkProxy(seen, report) : [])]
  return all.map(({ check, outcome, detail }) => ({ check, outcome, detail }))
}

const ANSWERS = { outcome: 'ok', check: 'public URL', detail: expect.stringContaining('this installation answers') }

describe('a request through the public URL', () => {
  test.each([
    ['replaces', TRUSTED, 'ok', /127\.0\.0\.2 is trusted.*this machine is 127\.0\.0\.1/],
    ['appends', TRUSTED, 'ok', /127\.0\.0\.2 is trusted.*this machine is 127\.0\.0\.1/],
    ['passes on', TRUSTED, 'FAIL', /passes on what clients claim.*set the header/],
    ['removes', TRUSTED, 'FAIL', /127\.0\.0\.2 sends no X-Forwarded-For.*let it send the header$/],
    ['replaces', UNKNOWN, 'FAIL', /127\.0\.0\.3 sends X-Forwarded-For, but server\.trustedProxies does not list it/],
    ['appends', UNKNOWN, 'FAIL', /127\.0\.0\.3 sends X-Forwarded-For, but server\.trustedProxies does not list it/],
    ['removes', UNKNOWN, 'FAIL', /127\.0\.0\.3 sends no X-Forwarded-For.*list it in server\.trustedProxies/],
  ] as const)('shows that a proxy %s the header, from %s: %s', async (habit, from, outcome, detail) => {
    expect(await examine(await proxy(habit, from))).toEqual([
      ANSWERS,
      { outcome, check: 'proxy', detail: expect.stringMatching(detail) },
    ])
  })

  test('shows that there is no proxy', async () => {
    expect(await examine(sluice.base)).toEqual([ANSWERS])
  })

  test('is taken for one of another installation if its key differs, and says nothing to others', async () => {
    const sealingKey = randomBytes(32).toString('base64')
    const other = (config: Config): Config => ({ ...config, secrets: { ...config.secrets, sealingKey } })
    expect(await examine(sluice.base, other)).toMatchObject([
      { outcome: 'FAIL', detail: expect.stringContaining('another sealing key') as string },
    ])
    const ask = async (value: string) =>
      (await fetch(`${sluice.base}/healthz`, { headers: { [DOCTOR_HEADER]: value } })).text()
    for (const value of ['', 'x', '1.2', `${Date.now()}`, `${Date.now()}.${'A'.repeat(43)}`, 'NaN.', '.'.repeat(9000)])
      expect([value, await ask(value)]).toEqual([value, 'ok\n'])
  })
})

describe('without a request, a proxy', () => {
  const configOf = (server: object): Config => {
    const config = loadConfig({ env: {}, flags: { server } })
    if (!config.ok) throw new Error(JSON.stringify(config.error))
    return config.value
  }

  test('is expected in front of an https URL, and should be trusted', () => {
    const server = { publicUrl: 'https://live.example.com' }
    expect(checkProxy(configOf(server), null)).toMatchObject([{ outcome: 'warn' }])
    expect(checkProxy(configOf({ ...server, trustedProxies: ['10.0.0.1'] }), null)).toMatchObject([{ outcome: 'ok' }])
    expect(checkProxy(configOf({}), null)).toEqual([])
  })

  test('that adds nothing is no proxy, unless the URL has https', () => {
    const report = { from: '10.0.0.1', isTrustedProxy: false, forwardedFor: '192.0.2.1', client: '10.0.0.1' }
    expect(checkProxy(configOf({ publicUrl: 'http://live.example.com' }), report)).toEqual([])
    expect(checkProxy(configOf({ publicUrl: 'https://live.example.com' }), report)).toMatchObject([{ outcome: 'FAIL' }])
  })

  test('is not suspected where the doctor connects to Sluice itself, from an address that is trusted', () => {
    const report = { from: '127.0.0.1', isTrustedProxy: true, forwardedFor: '192.0.2.1', client: '192.0.2.1' }
    const server = { port: 8080, trustedProxies: ['127.0.0.1'] }
    expect(checkProxy(configOf({ ...server, publicUrl: 'http://localhost:8080' }), report)).toEqual([])
    for (const publicUrl of ['http://localhost', 'https://localhost', 'http://localhost:8081'])
      expect(checkProxy(configOf({ ...server, publicUrl }), report)).toMatchObject([{ outcome: 'FAIL' }])
  })

  test('on this machine, through which the doctor asks, is fine', () => {
    const report = {
      from: '127.0.0.1',
      isTrustedProxy: true,
      forwardedFor: '192.0.2.1, 127.0.0.1',
      client: '192.0.2.1',
    }
    expect(checkProxy(configOf({ publicUrl: 'https://live.example.com' }), report)).toMatchObject([{ outcome: 'ok' }])
  })
})
