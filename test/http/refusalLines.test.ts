import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type App, openApp } from '../../src/app/app.ts'
import { ManualClock } from '../../src/base/clock.ts'
import type { Fields, Logger } from '../../src/base/log.ts'
import { createSecret } from '../../src/commands/accounts/secrets.ts'
import { cliActor } from '../../src/commands/context.ts'
import { loadConfig } from '../../src/config/load.ts'
import { buildHttp } from '../../src/app/server.ts'
import { ScriptedEngine } from '../support/scriptedEngine.ts'

let dir: string
let app: App
let http: Awaited<ReturnType<typeof buildHttp>>
let lines: { level: string; fields: Fields; message: string }[]

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-lines-'))
  const config = loadConfig({ env: {}, flags: { data: { dir }, server: { requestTimeoutSeconds: 1 } } })
  if (!config.ok) throw new Error('no configuration')
  lines = []
  const write = (level: string) => (fields: Fields, message: string) => void lines.push({ level, fields, message })
  const log: Logger = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: () => log,
  }
  app = await openApp({ config: config.value, log, clock: new ManualClock() })
  http = await buildHttp(app, { engine: new ScriptedEngine() })
})
afterEach(async () => {
  await http.close()
  await app.close()
  await rm(dir, { recursive: true, force: true })
})

const answers = (level = 'info') =>
  lines.filter((line) => line.message === 'answered' && line.level === level).map(({ fields }) => fields)

async function newSecret(): Promise<{ authorization: string; accountId: string }> {
  const [account] = await app.ctx.store.read.accounts.list()
  const actor = cliActor(account?.id ?? '')
  const secret = await createSecret(app.ctx, actor, 'test')
  if (!secret.ok) throw new Error('no secret')
  return { authorization: `Bearer ${secret.value.value}`, accountId: actor.accountId }
}

test('log lines of refusals are bounded, and never hide admissions or authenticated requests', async () => {
  const { authorization, accountId } = await newSecret()
  for (let at = 0; at < 1500; at += 1) {
    expect((await http.inject({ url: `/api/sessions?limit=${at}` })).statusCode).toBe(401)
  }
  expect(answers()).toHaveLength(600)
  await http.inject({ url: '/api/openapi.json' })
  await http.inject({ url: '/api/sessions', headers: { authorization } })
  await http.inject({ url: '/api/nothing', headers: { authorization } })
  expect(answers().slice(600)).toMatchObject([{ status: 200 }, { status: 200, accountId }])
  expect((await http.inject({ url: '/metrics' })).body).toMatch(
    /sluice_log_lines_left_out_total\{of="refusals"\} 901\n/,
  )
})

test('a request that never ends is not logged as our error', async () => {
  await http.listen({ host: '127.0.0.1', port: 0 })
  const { port } = http.server.address() as AddressInfo
  const { authorization } = await newSecret()
  const parts = [
    ['/api/whip/show', 'application/sdp'],
    ['/api/publish_token', 'application/json'],
  ]
  const ends = parts.map(async ([path, type]) => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nContent-Type: ${type}`
    socket.write(`${head}\r\nContent-Length: 100\r\n\r\n{`)
    await once(socket.resume(), 'close')
  })
  await Promise.all(ends)
  expect(answers()).toMatchObject([{ status: 408 }, { status: 408 }])
  // By now the client has also given up waiting for the body.
  await http.close()
  expect(lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
})

test('probes and scrapes are logged at debug while they are well, and at info when they are not', async () => {
  for (const url of ['/healthz', '/readyz', '/metrics']) expect((await http.inject({ url })).statusCode).toBe(200)
  expect(answers('debug').map(({ route }) => route)).toEqual(['/healthz', '/readyz', '/metrics'])
  expect(answers()).toEqual([])
  const forwarded = { 'x-forwarded-for': '203.0.113.9' }
  expect((await http.inject({ url: '/metrics', headers: forwarded })).statusCode).toBe(401)
  expect(answers()).toMatchObject([{ route: '/metrics', status: 401 }])
})
