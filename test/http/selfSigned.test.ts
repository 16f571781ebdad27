import { X509Certificate } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { authorityFile } from '../../src/config/paths.ts'
import { followMachine, namesOfMachine, openAuthority, selfSigned } from '../../src/tls/selfSigned.ts'
import { ServedCertificate } from '../../src/tls/served.ts'
import { runApp } from '../support/app.ts'
import { shakeHands } from '../support/certificates.ts'
import { silentLog } from '../support/log.ts'
import { until } from '../support/until.ts'

const dir = mkdtempSync(join(tmpdir(), 'sluice-self-'))
afterAll(() => rmSync(dir, { recursive: true }))

const DAY_MS = 86_400_000
const meansAt = (clock: ManualClock) => ({ clock, random: systemRandom, log: silentLog })

test('a server with its own authority is trusted by clients that trust /ca.pem, by name and by address', async () => {
  const sluice = await runApp({ flags: { tls: { selfSigned: true, selfSignedNames: ['studio.lan'] } } })
  const port = Number(new URL(sluice.base).port)
  const get = async (path: string, ca?: string): Promise<string> => {
    const socket = await shakeHands(port, ca === undefined ? {} : { ca, rejectUnauthorized: true, host: '127.0.0.1' })
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    let text = ''
    for await (const chunk of socket) text += String(chunk)
    return text
  }
  const answer = await get('/ca.pem')
  expect(answer).toContain('application/x-x509-ca-cert')
  expect(answer).not.toContain('PRIVATE KEY')
  const [ca = ''] = /-----BEGIN[^]*-----END CERTIFICATE-----\n/.exec(answer) ?? []
  expect(await get('/trust', ca)).toContain('Certificate Trust Settings')
  const socket = await shakeHands(port, { ca, rejectUnauthorized: true, servername: 'studio.lan' })
  const leaf = socket.getPeerX509Certificate() ?? expect.fail('there is no certificate')
  expect(leaf.checkIP('127.0.0.1')).toBe('127.0.0.1')
  expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1'])
  expect(leaf.verify(new X509Certificate(ca).publicKey)).toBe(true)
  socket.destroy()
  expect(statSync(authorityFile(sluice.app.config)).mode & 0o777).toBe(0o600)
  await sluice.close()
})

test('the authority is made once, lasts ten years, and signs certificates that last 90 days', async () => {
  const path = join(dir, 'tls', 'authority.pem')
  const clock = new ManualClock(Date.now())
  const [one, two] = await Promise.all([openAuthority(path, meansAt(clock)), openAuthority(path, meansAt(clock))])
  expect(one).toEqual(two)
  const authority = one.ok ? one.value : expect.fail(one.error)
  const { ca, validToDate } = new X509Certificate(authority.cert)
  expect(ca).toBe(true)
  expect(Math.round((validToDate.getTime() - clock.now()) / DAY_MS / 365)).toBe(10)
  const { expiresMs } = await selfSigned(authority, ['a.lan'], meansAt(clock))
  expect(Math.round((expiresMs - clock.now()) / DAY_MS)).toBe(90)
})

test('a certificate is replaced after two thirds of its lifetime, and when the machine has another address', async () => {
  const clock = new ManualClock(Date.now())
  const opened = await openAuthority(join(dir, 'renewed.pem'), meansAt(clock))
  const authority = opened.ok ? opened.value : expect.fail(opened.error)
  let names = ['a.lan', '10.0.0.1']
  const served = new ServedCertificate(await selfSigned(authority, names, meansAt(clock)), silentLog)
  const serials = new Set([served.current.serial])
  const following = followMachine(authority, served, { ...meansAt(clock), names: () => names })
  const isNew = async (): Promise<boolean> => {
    clock.advance(60_000)
    return !serials.has(served.current.serial)
  }
  names = ['a.lan', '10.0.0.2']
  await until(isNew)
  expect(served.current.names).toEqual(names)
  serials.add(served.current.serial)
  expect(await isNew()).toBe(false)
  clock.advance(61 * DAY_MS)
  await until(isNew)
  await following.stop()
})

test('an authority that others can read is refused, because they could pose as every site', async () => {
  const path = join(dir, 'open.pem')
  const clock = new ManualClock(Date.now())
  await openAuthority(path, meansAt(clock))
  chmodSync(path, 0o644)
  expect(await openAuthority(path, meansAt(clock))).toMatchObject({
    ok: false,
    error: expect.stringContaining('chmod 600'),
  })
})

test('the names are those of this machine and the configured ones, each once', () => {
  const names = namesOfMachine(['studio.lan', 'localhost'])
  expect(names.slice(0, 2)).toEqual(['studio.lan', 'localhost'])
  expect(names).toContain('127.0.0.1')
  expect(new Set(names).size).toBe(names.length)
})
