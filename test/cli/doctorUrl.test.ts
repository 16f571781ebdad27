import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createEncrypted } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { askHealth } from '../../src/app/health.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { Finding } from '../../src/core/examination.ts'
import { checkPublicUrl } from '../../src/cli/doctorUrl.ts'
import { loadConfig } from '../../src/config/load.ts'
import { authorityFile } from '../../src/config/paths.ts'
import type { Config } from '../../src/config/schema.ts'
import { issueAuthority, issueLeaf } from '../../src/tls/issue.ts'
import { lasting, leafOf } from '../support/certificates.ts'
import { ownPort } from '../support/ownPort.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-doctor-'))
afterAll(() => rmSync(dir, { recursive: true }))

function configOf(publicUrl: string, selfSigned = false): Config {
  const config = loadConfig({ env: {}, flags: { data: { dir }, server: { publicUrl }, tls: { selfSigned } } })
  if (!config.ok) throw new Error(JSON.stringify(config.error))
  return config.value
}

async function check(publicUrl: string, { isServing = true, selfSigned = false } = {}): Promise<Finding[]> {
  const config = configOf(publicUrl, selfSigned)
  return (await checkPublicUrl(config, isServing, (url) => askHealth(config, url))).findings
}

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const healthy: RequestListener = ({ url }, response) =>
  url === '/live/healthz' ? response.end('ok\n') : response.writeHead(404).end()

const answering = (status: number, headers: Record<string, string> = {}) =>
  portOf(createServer((_request, response) => response.writeHead(status, headers).end('<html>')))

test('a server that answers through its public URL, below a path, is fine', async () => {
  const port = await portOf(createServer(healthy))
  const [finding] = await check(`http://127.0.0.1:${port}/live/`)
  expect(finding).toMatchObject({ outcome: 'ok', detail: expect.stringContaining(`http://127.0.0.1:${port}/live`) })
})

test('without a public URL nothing is asked, and without a server neither', async () => {
  expect(await check('')).toEqual([])
  const [finding] = await check('http://127.0.0.1:1', { isServing: false })
  expect(finding).toMatchObject({ outcome: 'ok', detail: expect.stringContaining('not asked') as string })
})

test.each([
  [502, 'FAIL', /the proxy there does not reach Sluice/],
  [200, 'FAIL', /something other than Sluice answers there/],
  [404, 'FAIL', /something other than Sluice answers there/],
  [301, 'warn', /redirects its clients: set server\.publicUrl/],
])('an answer with status %i says what to do', async (status, outcome, detail) => {
  const port = await answering(status, { location: 'https://elsewhere.example/?secret' })
  const [finding] = await check(`http://127.0.0.1:${port}`)
  expect(finding).toMatchObject({ outcome, detail: expect.stringMatching(detail) as string })
  expect(finding?.detail).not.toContain('secret')
})

test('an address that nothing answers at may be right for others, and a name that does not exist is not', async () => {
  const [refused] = await check(`http://127.0.0.1:${await ownPort()}`)
  expect(refused).toMatchObject({
    outcome: 'warn',
    detail: expect.stringMatching(/refuses.*another network/) as string,
  })
  const [unknown] = await check('http://sluice.invalid')
  expect(unknown?.outcome).toBe('FAIL')
  expect(unknown?.detail).toMatch(/^http:\/\/sluice\.invalid: .*host name.*correct DNS/)
})

test('a certificate has to be valid, unless it is of our own authority', async () => {
  const authority = await issueAuthority('Test', lasting(10), systemRandom)
  const port = await portOf(createEncrypted(await leafOf(authority), healthy))
  const publicUrl = `https://127.0.0.1:${port}/live`
  const [untrusted] = await check(publicUrl)
  expect(untrusted).toMatchObject({ outcome: 'FAIL', detail: expect.stringContaining('not trusted') as string })

  const file = authorityFile(configOf(publicUrl, true))
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, authority.cert + authority.key)
  expect(await check(publicUrl, { selfSigned: true })).toMatchObject([{ outcome: 'ok' }])

  const other = await issueLeaf(authority, ['live.example.com'], lasting(5), systemRandom)
  const wrong = await portOf(createEncrypted(other, healthy))
  const [finding] = await check(`https://127.0.0.1:${wrong}/live`, { selfSigned: true })
  expect(finding).toMatchObject({ outcome: 'FAIL', detail: expect.stringContaining('another host name') as string })

  const expired = await portOf(createEncrypted(await leafOf(authority, -0.5), healthy))
  const [late] = await check(`https://127.0.0.1:${expired}/live`, { selfSigned: true })
  expect(late).toMatchObject({ outcome: 'FAIL', detail: expect.stringContaining('has expired') as string })
})
