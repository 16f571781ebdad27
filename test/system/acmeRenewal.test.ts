import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createServer as createTls } from 'node:tls'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import type { Repetition } from '../../src/base/repeat.ts'
import { checkAcme } from '../../src/cli/doctorTls.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { Said } from '../../src/core/notices.ts'
import { explainFailure } from '../../src/tls/acme/failures.ts'
import { orderCertificate } from '../../src/tls/acme/order.ts'
import { AcmeCertificate } from '../../src/tls/acme/renewal.ts'
import { acmeId, sealValue } from '../../src/tls/acme/values.ts'
import { temporaryCertificate } from '../../src/tls/selfSigned.ts'
import { ServedCertificate } from '../../src/tls/served.ts'
import type { PemPair } from '../../src/tls/certificate.ts'
import { leafOf, trustedAuthority } from '../support/certificates.ts'
import { startTestNode, type TestNode } from '../support/testNode.ts'
import { until } from '../support/until.ts'

const HOUR_MS = 3_600_000
const DOMAINS = ['live.example.com']

interface Answer {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: object
}

/** An authority that answers what the test says, and checks nothing. */
let authority: Server
let base: string
let issuer: PemPair
let answers: Record<string, Answer>
const asked: string[] = []

const dir = mkdtempSync(join(tmpdir(), 'sluice-renewal-'))
const caFile = join(dir, 'ca.pem')
let node: TestNode
let id: string
let following: Repetition | undefined

beforeAll(async () => {
  issuer = await trustedAuthority()
  writeFileSync(caFile, issuer.cert)
  authority = createServer(await leafOf(issuer), (request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const { status = 200, headers = {}, body = {} } = answers[path] ?? { status: 404 }
    response.writeHead(status, { 'replay-nonce': 'bm9uY2U', 'content-type': 'application/json', ...headers })
    response.end(request.method === 'HEAD' ? undefined : JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(authority, 'listening')
  base = `https://127.0.0.1:${(authority.address() as AddressInfo).port}`
  node = await startTestNode({ clock: new ManualClock(Date.now()) })
  id = acmeId('certificate', `${base}/dir`, ...DOMAINS)
})
afterAll(async () => {
  await node.close()
  authority.closeAllConnections()
  authority.close()
  rmSync(dir, { recursive: true })
})

const acme = () => ({ domains: DOMAINS, email: '', directoryUrl: `${base}/dir`, caFile })
const renewal = () => node.ctx.store.read.acme.renewal(id)

afterEach(async () => {
  await following?.stop()
  await node.ctx.store.transaction((tx) => tx.acme.settle(id, 0))
})

async function follow(): Promise<void> {
  const served = new ServedCertificate(await temporaryCertificate(DOMAINS, node.ctx), node.ctx.log, true)
  following = new AcmeCertificate({ ...node.ctx, ...acme() }).follow(served)
}

test('a busy authority is asked again when it said, at most after half a day, and the problem names it', async () => {
  const detail = 'the service is closed for an hour'
  for (const { status, after, ms, problem } of [
    {
      status: 429,
      after: '7200',
      ms: 2 * HOUR_MS,
      problem: /^No certificate: 127.* has a rate limit\. It says: the service is closed/,
    },
    { status: 503, after: '9999999', ms: 12 * HOUR_MS, problem: /^No certificate: 127.* answers with status 503/ },
    { status: 503, after: 'soon', ms: 0, problem: /answers with status 503\. It says: the service is closed/ },
  ]) {
    answers = { '/dir': { status, headers: { 'retry-after': after }, body: { detail } } }
    const failures = (await renewal())?.failures ?? 0
    await follow()
    await until(async () => ((await renewal())?.failures ?? 0) > failures)
    await following?.stop()
    const { dueAtMs = 0, problem: said } = (await renewal()) ?? {}
    const pauseMs = dueAtMs - node.ctx.clock.now()
    expect(pauseMs).toBeGreaterThanOrEqual(ms)
    expect(pauseMs).toBeLessThanOrEqual(Math.max(1.5 * ms, HOUR_MS))
    expect(said?.message).toMatch(problem)
    await node.ctx.store.transaction((tx) => tx.acme.fail(id, { failures: failures + 1, problem: null, dueAtMs: 0 }))
  }
})

test('a file of authorities that is not there is named with its key', async () => {
  const lost = join(dir, 'lost.pem')
  const order = orderCertificate({
    ...acme(),
    caFile: lost,
    accountKey: '',
    publish: () => expect.fail(),
    signal: new AbortController().signal,
  })
  const problem = await order.catch((error: unknown) => explainFailure(error, base))
  expect((problem as Said).message).toBe(`No certificate: tls.acme.caFile: ${lost} does not exist`)
})

test.each([
  ['interim answers without an end', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(100)],
  ['empty lines without an end', '\r\n'.repeat(200_000)],
  ['chunks of a byte', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(200_000)}`],
  ['a redirect', 'HTTP/1.1 307 There\r\nlocation: https://127.0.0.1/\r\ncontent-length: 0\r\n\r\n'],
])('an authority that sends %s keeps the server from its work no longer than any other one', async (_what, bytes) => {
  const hostile = createTls(await leafOf(issuer), (socket) => {
    socket.on('error', () => undefined).once('data', () => socket.write(bytes))
    onTestFinished(() => void socket.destroy())
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void hostile.close())
  await once(hostile, 'listening')
  const directoryUrl = `https://127.0.0.1:${(hostile.address() as AddressInfo).port}/dir`
  const { signal } = new AbortController()
  const order = orderCertificate({
    ...acme(),
    directoryUrl,
    accountKey: issuer.key,
    publish: () => expect.fail(),
    signal,
  })
  const problem = await order.catch((error: unknown) => explainFailure(error, directoryUrl))
  expect((problem as Said).message).toMatch(/^No certificate: .*\(HPE_INVALID\)/)
})

test('an authority leads to no address without https, behind which there may be anything', async () => {
  const heard: unknown[] = []
  const inside = createHttp((request, response) => {
    heard.push(request.url)
    response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void inside.close())
  await once(inside, 'listening')
  const url = `http://127.0.0.1:${(inside.address() as AddressInfo).port}/`
  answers = { '/dir': { body: { newNonce: url, newAccount: url, newOrder: url } } }
  const { signal } = new AbortController()
  const order = orderCertificate({ ...acme(), accountKey: issuer.key, publish: () => expect.fail(), signal })
  const problem = await order.catch((error: unknown) => explainFailure(error, base))
  expect((problem as Said).message).toMatch(/^No certificate: .*\(HPE_INVALID\)/)
  expect(heard).toEqual([])
})

test('an order that stays pending holds up no stop', async () => {
  const url = (path: string) => `${base}${path}`
  const challenge = { type: 'http-01', url: url('/challenge'), token: 'x'.repeat(43), status: 'pending' }
  answers = {
    '/dir': { body: { newNonce: url('/nonce'), newAccount: url('/account'), newOrder: url('/orders') } },
    '/nonce': {},
    '/account': { status: 201, headers: { location: url('/account/1') } },
    '/orders': {
      status: 201,
      headers: { location: url('/order') },
      body: { status: 'pending', authorizations: [url('/authorization')], finalize: url('/finalize') },
    },
    '/authorization': {
      body: { status: 'pending', identifier: { type: 'dns', value: DOMAINS[0] }, challenges: [challenge] },
    },
    '/challenge': { body: challenge },
  }
  await follow()
  // The first is the request to look; then the library asks again and again.
  await until(() => asked.filter((path) => path === '/challenge').length > 2)
  const timer = globalThis.setTimeout
  const pauses = vi
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation((work: () => void, ms?: number) =>
      timer(/acme-client/.test(new Error().stack ?? '') ? () => undefined : work, ms),
    )
  // No pause of the library ends from now on.
  await following?.stop()
  pauses.mockRestore()
  expect(await renewal()).toMatchObject({ failures: 0, problem: null })
})

test('the doctor says that the certificate has expired, and why it was not renewed', async () => {
  const { ctx } = node
  const pair = await leafOf(issuer, 5)
  await ctx.store.transaction(async (tx) => {
    await tx.acme.put(id, sealValue(ctx.sealer, JSON.stringify(pair)), 0)
    await tx.acme.claim(id, 0, ctx.clock.now())
    await tx.acme.fail(id, { failures: 9, problem: { message: 'No certificate: it cannot be reached' }, dueAtMs: 0 })
  })
  const flags = { tls: { redirectPort: 80, acme: { ...acme(), agreeToTerms: true } } }
  const config = loadConfig({ env: {}, flags })
  if (!config.ok) throw new Error(JSON.stringify(config.error))
  const read = async () => (await checkAcme(ctx, config.value)).map(({ outcome, detail }) => `${outcome} ${detail}`)
  expect(await read()).toEqual([
    expect.stringMatching(/^ok the certificate expires in/),
    'warn No certificate: it cannot be reached',
  ])
  ;(ctx.clock as ManualClock).advance(6 * 24 * HOUR_MS)
  expect(await read()).toEqual([
    expect.stringMatching(/^FAIL the certificate has expired/),
    'warn No certificate: it cannot be reached',
  ])
})
