import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect as connectPlain } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PemPair } from '../../src/tls/certificate.ts'
import { cliActor } from '../../src/commands/context.ts'
import { firstSetupCode } from '../../src/commands/users/setup.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { certificateFiles, leafOf, serialAt, shakeHands, trustedAuthority, writePair } from '../support/certificates.ts'
import { ownPort } from '../support/ownPort.ts'
import { redirected } from '../support/redirected.ts'
import { until } from '../support/until.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-tls-'))
let authority: PemPair
let sluice: RunningApp
let port: number

beforeAll(async () => {
  authority = await trustedAuthority()
  const tls = { ...writePair(dir, await leafOf(authority)), hstsSeconds: 3600 }
  sluice = await runApp({ flags: { tls, rtmp: { tlsPort: await ownPort(), handshakeSeconds: 1 } } })
  port = Number(new URL(sluice.base).port)
})
afterAll(async () => {
  await sluice.close()
  rmSync(dir, { recursive: true })
})

const serialOf = ({ cert }: PemPair): string => new X509Certificate(cert).serialNumber
const metric = async (name: string): Promise<number> => {
  const text = await (await fetch(`${sluice.base}/metrics`, { headers: { connection: 'close' } })).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

async function ask(socket: TLSSocket, path = '/healthz'): Promise<string> {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  const [data] = (await once(socket, 'data')) as [Buffer]
  return data.toString()
}

describe('a server with certificate files', () => {
  test('speaks HTTPS with HSTS, and shows addresses with https', async () => {
    const answer = await sluice.call('GET', '/api/server')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('strict-transport-security')).toBe('max-age=3600')
    expect(answer.json.data.addresses.base).toBe(sluice.base)
    expect(answer.json.data.addresses.whip).toMatch(/^https:/)
  })

  test('tells admins how long the certificate lasts', async () => {
    const { certificate } = (await sluice.call('GET', '/api/server/upkeep')).json.data
    const leaf = new X509Certificate(readFileSync(join(dir, 'cert.pem')))
    const expiresOn = leaf.validToDate.toISOString()
    expect(certificate).toMatchObject({ expiresOn, daysLeft: 4, isLate: false })
    expect(certificate.names).toContain('localhost')
  })

  test('exposes each metric that the published alerts and the reference name', async () => {
    const text = await (await fetch(`${sluice.base}/metrics`, { headers: { connection: 'close' } })).text()
    const exposed = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
    for (const path of ['packaging/prometheus/sluice.rules.yaml', 'docs/reference/metrics.md']) {
      const page = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
      const named = page.match(/\b(sluice|process|nodejs)_[a-z_]+/g) ?? []
      expect(named.length).toBeGreaterThan(10)
      expect(named.filter((name) => !exposed.has(name))).toEqual([])
    }
  })

  test('gives new handshakes the new certificate, and keeps open connections', async () => {
    const done = 'sluice_tls_handshakes_total{result="done"}'
    const before = await metric(done)
    const open = await shakeHands(port)
    expect(await ask(open)).toContain('200 OK')
    expect(await metric(done)).toBeGreaterThan(before)
    const next = await leafOf(authority)
    writePair(dir, next)
    await until(async () => (await serialAt(port)) === serialOf(next))
    expect(await serialAt(sluice.rtmpsPort ?? 0)).toBe(serialOf(next))
    expect(await ask(open)).toContain('200 OK')
    open.destroy()
  })

  test('keeps the old one in place of a pair that does not belong together', async () => {
    const before = await serialAt(port)
    const other = await leafOf(authority)
    writeFileSync(certificateFiles(dir).certFile, other.cert)
    const attention = async () => (await sluice.call('GET', '/api/attention')).text
    await until(async () => (await attention()).includes('do not belong together'))
    expect(await serialAt(port)).toBe(before)
    expect(await metric('sluice_certificate_expires_seconds')).toBeGreaterThan(4 * 86_400)
    expect(await metric('sluice_certificate_lifetime_seconds')).toBeGreaterThan(5 * 86_400)
    writePair(dir, other)
    await until(async () => (await serialAt(port)) === serialOf(other))
    expect(await attention()).not.toContain('do not belong together')
  })

  test('does not resume a session of an earlier certificate', async () => {
    const first = await shakeHands(port, { maxVersion: 'TLSv1.2' })
    const session = first.getSession()
    first.destroy()
    const again = await shakeHands(port, { maxVersion: 'TLSv1.2', session: session! })
    expect(again.isSessionReused()).toBe(true)
    again.destroy()
    const next = await leafOf(authority)
    writePair(dir, next)
    await until(async () => (await serialAt(port)) === serialOf(next))
    const resumed = await shakeHands(port, { maxVersion: 'TLSv1.2', session: session! })
    expect(resumed.isSessionReused()).toBe(false)
    expect(resumed.getPeerCertificate().serialNumber).toBe(serialOf(next))
    resumed.destroy()
  })

  test('refuses TLS 1.1 and HTTP/2, and closes connections without TLS', async () => {
    await expect(
      shakeHands(port, { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' }),
    ).rejects.toThrow(/version|protocol/i)
    await expect(shakeHands(port, { ALPNProtocols: ['h2'] })).rejects.toThrow(/application protocol|alert/i)
    const both = await shakeHands(port, { ALPNProtocols: ['h2', 'http/1.1'] })
    expect(both.alpnProtocol).toBe('http/1.1')
    both.destroy()
    const plain = connectPlain(port, '127.0.0.1')
    plain.on('error', () => undefined)
    plain.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(plain, 'close')
  })

  test('RTMPS closes connections without TLS, and those that never publish', async () => {
    for (const bytes of [Buffer.from('GET / HTTP/1.1\r\n\r\n'), Buffer.alloc(0)]) {
      const socket = connectPlain(sluice.rtmpsPort ?? 0, '127.0.0.1')
      socket.on('error', () => undefined)
      socket.write(bytes)
      await once(socket, 'close')
    }
  })

  test('counts connections during and after their handshake, and forgets those that end in it', async () => {
    const isBack = async (): Promise<boolean> => (await metric('sluice_http_connections')) === before
    await metric('sluice_http_connections')
    const before = await metric('sluice_http_connections')
    const silent = connectPlain(port, '127.0.0.1')
    await once(silent, 'connect')
    await until(async () => (await metric('sluice_http_connections')) === before + 1)
    const open = await shakeHands(port)
    await until(async () => (await metric('sluice_http_connections')) === before + 2)
    silent.destroy()
    open.destroy()
    await until(isBack)
  })

  test('sets the cookie of the dashboard as Secure, whatever the page says of itself', async () => {
    const { app, accountId, base } = sluice
    const code = await firstSetupCode(app.ctx, cliActor(accountId))
    const body = JSON.stringify({ code, email: 'a@example.com', password: 'correct horse battery' })
    const headers = { 'content-type': 'application/json', 'x-sluice-dashboard': '1' }
    const answer = await fetch(`${base}/dashboard/api/setup`, { method: 'POST', headers, body })
    expect([answer.status, await answer.text()]).toEqual([200, expect.anything()])
    expect(answer.headers.get('set-cookie')).toMatch(/; Secure$/)
  })

  test('takes other files, HSTS and another port for redirects at a reload, and none of them when one is wrong', async () => {
    const { tls } = sluice.app.config
    const other = await leafOf(authority)
    const files = writePair(mkdtempSync(join(dir, 'other-')), other)
    const before = await serialAt(port)
    const [first, second] = [await ownPort(), await ownPort()]
    const redirect = async (from: number) => {
      const answer = await fetch(`http://127.0.0.1:${from}/demo`, { redirect: 'manual' }).catch(() => null)
      return answer?.headers.get('location') ?? null
    }
    const hsts = async () => (await sluice.call('GET', '/api/server')).headers.get('strict-transport-security')
    const asBefore = { rtmp: { tlsPort: sluice.app.config.rtmp.tlsPort, handshakeSeconds: 1 } }
    const reload = (changed: object) => sluice.reload({ ...asBefore, tls: { ...tls, ...changed } })

    const added = await reload({ redirectPort: first, hstsSeconds: 60 })
    expect([added.applied.map(({ key }) => key), added.needRestart]).toEqual([
      ['tls.redirectPort', 'tls.hstsSeconds'],
      [],
    ])
    expect([await redirect(first), await hsts()]).toEqual([`https://127.0.0.1:${port}/demo`, 'max-age=60'])
    expect(await redirected(first, 'localhost')).toEqual({ status: 308, location: `https://localhost:${port}/` })
    expect((await redirected(first, 'evil.example')).status).toBe(421)

    const noKey = { certFile: files.certFile, keyFile: join(dir, 'none.pem') }
    const refused = await reload({ ...noKey, redirectPort: second, hstsSeconds: 0 })
    expect([refused.ok, refused.problems]).toEqual([false, [expect.stringContaining('none.pem does not exist')]])
    expect([await redirect(first), await redirect(second), await hsts()]).toEqual([
      `https://127.0.0.1:${port}/demo`,
      null,
      'max-age=60',
    ])
    expect(await serialAt(port)).toBe(before)

    expect((await reload({ ...files, redirectPort: port, hstsSeconds: 0 })).problems).toEqual([
      `127.0.0.1 port ${port} is in use by another process; stop it, or choose another with tls.redirectPort`,
    ])
    expect(await serialAt(port)).toBe(before)

    expect((await reload({ ...files, redirectPort: second, hstsSeconds: 0 })).needRestart).toEqual([])
    expect([await redirect(first), await redirect(second), await hsts()]).toEqual([
      null,
      `https://127.0.0.1:${port}/demo`,
      null,
    ])
    expect([await serialAt(port), await serialAt(sluice.rtmpsPort ?? 0)]).toEqual([serialOf(other), serialOf(other)])
    const next = await leafOf(authority)
    writePair(dirname(files.certFile), next)
    await until(async () => (await serialAt(port)) === serialOf(next))
  })
})
