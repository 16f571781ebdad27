import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from 'node:zlib'
import fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dashboardFiles } from '../../src/edge/http/dashboard/files.ts'
import { answerUnknownRoutes } from '../../src/edge/http/methods.ts'
import { runApp } from '../support/app.ts'

const INDEX = '<!doctype html><script src="./assets/main-Ab12.js"></script><link href="./assets/main-Cd34.css">'
const SCRIPT = 'console.log("the dashboard")'

let dir: string
let folder: string
let app: FastifyInstance
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  folder = join(dir, 'dashboard')
  await mkdir(join(folder, 'assets'), { recursive: true })
  const put = (path: string, content: string | Buffer) => writeFile(join(folder, path), content)
  await put('index.html', INDEX)
  await put('theme.js', '1')
  // As the build stores it: in Brotli alone.
  await put('assets/main-Ab12.js.br', brotliCompressSync(SCRIPT))
  await put('assets/main-Ab12.js.map', 'not served')
  await writeFile(join(dir, 'secret.txt'), 'beside the build')
  app = served(folder)
})
afterAll(() => rm(dir, { recursive: true }))

function served(from: string): FastifyInstance {
  const made = fastify({ routerOptions: { ignoreTrailingSlash: true } })
  answerUnknownRoutes(made)
  dashboardFiles(made, { hasNodes: false, folder: from })
  return made
}

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })

test('/ and /dashboard lead to /dashboard/ with relative addresses, so that a proxy may put a prefix in front', async () => {
  for (const url of ['/', '/dashboard', '/dashboard?from=mail']) {
    const answer = await get(url)
    expect([url, answer.statusCode, answer.headers.location]).toEqual([url, 302, 'dashboard/'])
  }
  expect(new URL('dashboard/', 'https://tv.example.com/live/dashboard').pathname).toBe('/live/dashboard/')
})

test('the page is asked for each time, and may run no inline code, no code from text, and in no frame', async () => {
  const page = await get('/dashboard/')
  expect([page.statusCode, page.body]).toEqual([200, INDEX])
  expect(page.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
      "media-src 'self' blob:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; " +
      "trusted-types 'none'; frame-ancestors 'none'",
  })
  const again = await get('/dashboard/', { 'if-none-match': String(page.headers.etag) })
  expect([again.statusCode, again.body]).toEqual([304, ''])
})

test('assets stay in the browser for a year, compressed as it asks', async () => {
  const url = '/dashboard/assets/main-Ab12.js'
  const plain = await get(url)
  expect(plain.body).toBe(SCRIPT)
  expect(plain.headers).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': 'text/javascript; charset=utf-8',
    vary: 'Accept-Encoding',
  })
  expect(plain.headers).not.toHaveProperty('content-encoding')
  const asItIs = (content: Buffer): Buffer => content
  for (const [accepted, encoding, decode] of [
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0, gzip;q=0.5', 'gzip', gunzipSync],
    ['br;q=0', undefined, asItIs],
    ['zstd', undefined, asItIs],
  ] as const) {
    const { headers, rawPayload } = await get(url, { 'accept-encoding': accepted })
    expect([accepted, headers['content-encoding']]).toEqual([accepted, encoding])
    expect(decode(rawPayload).toString()).toBe(SCRIPT)
    expect(headers.etag === plain.headers.etag).toBe(encoding === undefined)
    const again = await get(url, { 'accept-encoding': accepted, 'if-none-match': String(headers.etag) })
    expect([accepted, again.statusCode]).toEqual([accepted, 304])
  }
  expect((await get('/dashboard/theme.js')).headers['cache-control']).toBe('no-cache')
})

test('no path leads out of the build or to what is not of the dashboard', async () => {
  for (const url of [
    '/dashboard/../secret.txt',
    '/dashboard/..%2fsecret.txt',
    '/dashboard/%2e%2e/secret.txt',
    '/dashboard/assets/..%2f..%2f..%2fsecret.txt',
    '/dashboard/..%5csecret.txt',
    '/dashboard//etc/passwd',
    '/dashboard/assets/main-Ab12.js.map',
    '/dashboard/assets/main-Ab12.js.br',
    '/dashboard/assets/',
    '/dashboard/constructor',
    '/dashboard/api/nothing',
    '/dashboard/api',
  ]) {
    const answer = await get(url)
    expect([url, answer.statusCode]).toEqual([url, 404])
    expect(answer.body).not.toContain('beside the build')
  }
  expect((await get('/dashboard/api/nothing', { accept: 'text/html' })).statusCode).toBe(404)
})

test('a page below /dashboard/ is the same page, and its relative addresses still lead to the assets', async () => {
  const html = { accept: 'text/html,*/*' }
  expect((await get('/dashboard/tokens', html)).body).toBe(INDEX)
  const deep = await get('/dashboard/tokens/publish/7', html)
  expect(deep.headers['cache-control']).toBe('no-cache')
  const [, source = ''] = /src="([^"]+)"/.exec(deep.body) ?? []
  expect(new URL(source, 'https://tv.example.com/live/dashboard/tokens/publish/7').pathname).toBe(
    '/live/dashboard/assets/main-Ab12.js',
  )
  expect((await get(`/dashboard/${'a/'.repeat(9)}b`, html)).statusCode).toBe(404)
})

test('without a build the page says how to make one, and is there as soon as it is made', async () => {
  const later = join(dir, 'later')
  const empty = served(later)
  const missing = await empty.inject('/dashboard/')
  expect([missing.statusCode, missing.body]).toEqual([503, expect.stringContaining('npm run build:dashboard')])
  await mkdir(later)
  await writeFile(join(later, 'index.html'), INDEX)
  expect((await empty.inject('/dashboard/')).body).toBe(INDEX)
})

test('Sluice itself serves the pages unless server.dashboard is off', async () => {
  const statusesOf = async (dashboard: boolean) => {
    const running = await runApp({ flags: { server: { dashboard } } })
    const statuses = ['/', '/dashboard/', '/dashboard/api/session'].map(async (path) => {
      const { status } = await fetch(running.base + path, { redirect: 'manual' })
      return status
    })
    const answered = await Promise.all(statuses)
    await running.close()
    return answered
  }
  // 503 in a clone that has not built the pages.
  expect(await statusesOf(true)).toEqual([302, expect.toSatisfy((status) => [200, 503].includes(status)), 401])
  expect(await statusesOf(false)).toEqual([404, 404, 404])
})
