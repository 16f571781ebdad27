import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { PartialConfig } from '../../src/config/schema.ts'
import { acmeId } from '../../src/tls/acme/values.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { shakeHands, trustedAuthority } from '../support/certificates.ts'
import { ownPort } from '../support/ownPort.ts'
import { hasPebble, openPebble, type Pebble } from '../support/pebble.ts'
import { redirected } from '../support/redirected.ts'
import { until } from '../support/until.ts'

const YEAR_MS = 365 * 86_400_000
const HOUR_MS = 3_600_000
const DOMAINS = ['live.sluice.test', 'www.sluice.test']

let aheadMs = 0
/** Passes as time does, from where the test puts it. */
const clock: Clock = { ...systemClock, now: () => Date.now() + aheadMs }
const dir = mkdtempSync(join(tmpdir(), 'sluice-acme-'))
let pebble: Pebble
let sluice: RunningApp
let flags: PartialConfig
let redirectPort: number

const portOf = ({ base }: RunningApp): number => Number(new URL(base).port)

async function certificateAt(app: RunningApp): Promise<X509Certificate> {
  const socket = await shakeHands(portOf(app), { servername: 'live.sluice.test' })
  const certificate = socket.getPeerX509Certificate()
  socket.destroy()
  return certificate ?? expect.fail('there is no certificate')
}
const serialOf = async (app: RunningApp): Promise<string> => (await certificateAt(app)).serialNumber
const isFromPebble = async (app: RunningApp): Promise<boolean> => /Pebble/.test((await certificateAt(app)).issuer)

const idOfIt = (): string => acmeId('certificate', pebble.directoryUrl, ...DOMAINS.toSorted())

/** Whether a node could lease the renewal then. It leaves a lease that is over. */
const mayRenewIn = (ms: number): Promise<boolean> =>
  sluice.app.ctx.store.transaction((tx) => tx.acme.claim(idOfIt(), 0, clock.now() + ms))

async function ask(socket: TLSSocket): Promise<string> {
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  return String(((await once(socket, 'data')) as [Buffer])[0])
}

/** Each certificate has a key of its own, so the certificates of the others are not trusted by `call`. */
const attention = async (): Promise<string> => {
  const socket = await shakeHands(portOf(sluice))
  const secret = `Authorization: Bearer ${sluice.secret}`
  socket.write(`GET /api/attention HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${secret}\r\n\r\n`)
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return text
}

describe.runIf(hasPebble())('a certificate of an ACME authority', () => {
  beforeAll(async () => {
    redirectPort = await ownPort()
    pebble = await openPebble(dir, await trustedAuthority(), redirectPort)
    await pebble.start()
    const { directoryUrl, caFile } = pebble
    const acme = { domains: DOMAINS, email: 'ops@sluice.test', agreeToTerms: true, directoryUrl, caFile }
    flags = { tls: { redirectPort, acme } }
    sluice = await runApp({ flags, clock, dataDir: join(dir, 'data') })
  })
  afterAll(async () => {
    await sluice.close()
    await pebble.stop()
    rmSync(dir, { recursive: true })
  })

  test('is there within seconds of the first start, for all domains; until then there is one that no client trusts', async () => {
    await until(() => isFromPebble(sluice))
    const { subjectAltName } = await certificateAt(sluice)
    for (const domain of DOMAINS) expect(subjectAltName).toContain(domain)
  })

  test('is served by another node of the same store without asking the authority', async () => {
    await pebble.stop()
    const dataDir = join(dir, 'other')
    mkdirSync(dataDir)
    copyFileSync(join(sluice.dataDir, 'sealing.key'), join(dataDir, 'sealing.key'))
    const other = await runApp({
      flags: {
        ...flags,
        tls: { ...flags.tls, redirectPort: await ownPort() },
        storage: { url: join(sluice.dataDir, 'sluice.db') },
      },
      dataDir,
      clock,
    })
    expect(await serialOf(other)).toBe(await serialOf(sluice))
    await other.close()
  })

  test('stays while the authority is away; Sluice says so, and tries again after longer and longer pauses', async () => {
    const before = await serialOf(sluice)
    aheadMs = 4 * YEAR_MS
    await until(async () => (await attention()).includes('cannot be reached'))
    expect(await serialOf(sluice)).toBe(before)
    const failures = async () => (await sluice.app.ctx.store.read.acme.renewal(idOfIt()))?.failures
    expect(await failures()).toBe(1)
    aheadMs += 2 * 60_000
    await until(async () => (await failures()) === 2)
    expect(await mayRenewIn(2 * 60_000)).toBe(false)
    expect(await mayRenewIn(10 * 60_000)).toBe(true)
  })

  test('is renewed once the authority is back, under open connections', async () => {
    const before = await serialOf(sluice)
    const open = await shakeHands(portOf(sluice))
    await pebble.start()
    aheadMs += HOUR_MS / 2
    await until(async () => (await serialOf(sluice)) !== before)
    expect(await isFromPebble(sluice)).toBe(true)
    expect(await ask(open)).toContain('200 OK')
    open.destroy()
    await until(async () => !(await attention()).includes('cannot be reached'))
  })

  test('is not asked for again and again by a clock that finds each new one too old', async () => {
    expect(await mayRenewIn(0)).toBe(false)
  })

  test('the port of the challenges answers no others, and sends everything else to https', async () => {
    const http = `http://127.0.0.1:${redirectPort}`
    expect((await fetch(`${http}/.well-known/acme-challenge/${'x'.repeat(40)}`)).status).toBe(404)
    const [host = ''] = DOMAINS
    const answer = await redirected(redirectPort, host, { path: '/watch/a/b?token=1', method: 'POST' })
    expect(answer).toEqual({ status: 308, location: `https://${host}:${portOf(sluice)}/watch/a/b?token=1` })
  })
})
