import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Agent, fetch as fetchWith } from 'undici'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { parse } from 'yaml'
import { type RunningApp, runApp } from '../support/app.ts'
import { browserOf } from '../support/dashboard.ts'
import { TestPublisher, TestViewer } from '../support/rtcPeer.ts'
import { findProgram, type Program } from './programs.ts'
import { blocksOf, readPages } from '../support/markdown.ts'
import { ownPort } from '../support/ownPort.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-proxies-'))
const file = (name: string) => fileURLToPath(new URL(`../../packaging/proxies/${name}`, import.meta.url))
/** Clients come from another address than the proxy, which is trusted. */
const CLIENT = '127.0.0.2'
const agent = new Agent({ localAddress: CLIENT, connect: { rejectUnauthorized: false } })

let app: RunningApp
beforeAll(async () => {
  const key = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const paths = ['-subj', '/CN=localhost', '-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')]
  spawnSync('openssl', [...key, ...paths])
  const both = ['cert.pem', 'key.pem'].map((name) => readFileSync(join(folder, name), 'utf8')).join('')
  writeFileSync(join(folder, 'both.pem'), both)
  app = await runApp({ flags: { server: { trustedProxies: ['127.0.0.1'] }, webrtc: { host: '127.0.0.1', port: 0 } } })
})
afterAll(async () => {
  await agent.close()
  await app.close()
  rmSync(folder, { recursive: true })
})

interface Proxy {
  readonly name: string
  readonly packages: readonly string[]
  /** The published file with the ports and certificates of the test, and how to run it. */
  readonly command: (port: number) => string[]
}

/** The arguments of nginx for a configuration of its module for HTTP. */
function nginxWith(site: string, port: number): string[] {
  const path = adaptedText('site.conf', site, port, ['listen 443 ssl', 'listen 127.0.0.1:PORT ssl'])
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`)
  const whole = `daemon off; pid ${folder}/pid; error_log stderr; events {}\nhttp {\n${temporary.join('\n')}\ninclude ${path};\n}`
  writeFileSync(join(folder, 'whole.conf'), whole)
  return ['-p', folder, '-c', join(folder, 'whole.conf')]
}

type Replacements = readonly (readonly [RegExp | string, string])[]

/** The published file with other ports, and with the certificate of the test. */
const adapted = (name: string, port: number, ...replace: Replacements): string =>
  adaptedText(name, readFileSync(file(name), 'utf8'), port, ...replace)

function adaptedText(name: string, published: string, port: number, ...replace: Replacements): string {
  const all = [
    [/127\.0\.0\.1:8080/g, new URL(app.base).host],
    [/\/etc\/ssl\/sluice\//g, `${folder}/`],
    ...replace,
  ] as const
  const text = all.reduce((before, [from, to]) => before.replace(from, to.replace('PORT', String(port))), published)
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const PROXIES: readonly Proxy[] = [
  {
    name: 'nginx',
    packages: ['nginx'],
    command: (port) => nginxWith(readFileSync(file('nginx.conf'), 'utf8'), port),
  },
  {
    name: 'caddy',
    packages: ['caddy'],
    command: (port) => {
      const tls = `https://localhost:PORT {\n\ttls ${folder}/cert.pem ${folder}/key.pem\n`
      const own = `{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system ${folder}/caddy\n}\n`
      return [
        'run',
        '--adapter',
        'caddyfile',
        '--config',
        adapted('Caddyfile', port, ['stream.example.com {', `${own}${tls}`]),
      ]
    },
  },
  {
    name: 'haproxy',
    packages: ['haproxy', 'liblua5.3-0', 'libopentracing-c-wrapper0', 'libopentracing1'],
    command: (port) => [
      '-db',
      '-f',
      adapted('haproxy.cfg', port, ['bind :443', 'bind 127.0.0.1:PORT'], [/maxconn 20000/g, 'maxconn 500']),
    ],
  },
]

describe.each(PROXIES)('behind $name', ({ name, packages, command }) => {
  const program = findProgram(name, packages)
  if (program === null) console.warn(`${name} is left out: it is not installed, and its Debian package cannot be had`)
  describe.skipIf(program === null)('with the published file', () => proxied(program as Program, command))
})

function proxied(program: Program, command: Proxy['command']): void {
  let child: ChildProcess
  let base: string
  let token: string
  const publisher = new TestPublisher('h264')

  const call = (
    path: string,
    { headers = {}, ...init }: { method?: string; body?: string; headers?: Record<string, string> } = {},
  ) =>
    fetchWith(base + path, {
      ...init,
      dispatcher: agent,
      headers: { authorization: `Bearer ${app.secret}`, ...headers },
    })
  const watch = (path: string) => fetchWith(base + path, { dispatcher: agent })
  const whip = (url: string, offer: string, bearer: string) =>
    call(url, {
      method: 'POST',
      body: offer,
      headers: { 'content-type': 'application/sdp', authorization: `Bearer ${bearer}` },
    })

  beforeAll(async () => {
    const port = await ownPort()
    child = spawn(program.path, command(port), {
      env: { ...program.env, XDG_CONFIG_HOME: folder },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    base = `https://localhost:${port}`
    await vi.waitFor(async () => expect((await call('/healthz')).status).toBe(200), 30_000)
    const made = await call('/api/publish_token', {
      method: 'POST',
      body: JSON.stringify({ label: 'Encoder', streams: [{ streamName: 'show' }] }),
      headers: { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9' },
    })
    token = ((await made.json()) as { data: { token: string } }).data.token
  })
  afterAll(async () => {
    await publisher.pc.close()
    if (child.exitCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })

  test('Sluice sees the address of the client, not one that the client claims, and the scheme and host of the proxy', async () => {
    const [row] = await app.app.ctx.store.read.audit.recent(app.accountId, 1)
    expect(row).toMatchObject({ action: 'publish_token.create', address: CLIENT })
    const { data } = (await (await call('/api/server')).json()) as { data: { addresses: { base: string } } }
    expect(data.addresses.base).toBe(base)
  })

  test('a publisher over WHIP and a viewer over WHEP connect, with their session resources below the same host', async () => {
    const published = await whip('/api/whip/show', await publisher.offer(), token)
    expect(published.status).toBe(201)
    await publisher.accept(await published.text())
    publisher.play()
    const viewer = new TestViewer('h264')
    const watched = await vi.waitFor(async () => {
      const answer = await whip(`/api/whep/${app.accountId}/show`, await viewer.offer(), '')
      expect(answer.status).toBe(201)
      return answer
    }, 30_000)
    await viewer.accept(await watched.text())
    await vi.waitFor(() => expect(viewer.packets.length).toBeGreaterThan(0), 30_000)
    const resource = new URL(watched.headers.get('location') ?? '', base)
    expect(resource.origin).toBe(base)
    const ended = await call(resource.pathname, { method: 'DELETE' })
    expect(ended.status).toBe(200)
    await viewer.pc.close()
  })

  test('a playlist of low-latency HLS that waits for a part comes when the part is there', async () => {
    const master = await vi.waitFor(async () => {
      const answer = await watch(`/hls/${app.accountId}/show/index.m3u8`)
      expect(answer.status).toBe(200)
      return answer
    }, 30_000)
    const media = /^[^#].*media\.m3u8.*$/m.exec(await master.text())?.[0] ?? expect.fail()
    const url = new URL(media, `${base}/hls/${app.accountId}/show/index.m3u8`)
    const playlist = await (await watch(url.pathname + url.search)).text()
    const next =
      Number(/#EXT-X-MEDIA-SEQUENCE:(\d+)/.exec(playlist)?.[1]) + (playlist.match(/#EXTINF/g) ?? []).length + 1
    url.searchParams.set('_HLS_msn', String(next))
    const waited = await watch(url.pathname + url.search)
    expect(waited.status).toBe(200)
    expect(await waited.text()).toMatch(/#EXTINF/)
  })

  test('events of the dashboard arrive while the stream of them is open', async () => {
    const { cookie } = await browserOf(app)
    const { hostname, port } = new URL(base)
    const headers = { cookie, accept: 'text/event-stream' }
    const options = {
      hostname,
      port,
      path: '/dashboard/api/events',
      headers,
      rejectUnauthorized: false,
      localAddress: CLIENT,
    }
    const request = httpsRequest(options)
    request.end()
    const [response] = await once(request, 'response')
    let text = ''
    response.on('data', (chunk: Buffer) => (text += chunk.toString()))
    expect(response.statusCode).toBe(200)
    await vi.waitFor(() => expect(text).not.toBe(''), 30_000)
    expect(response.complete).toBe(false)
    request.destroy()
  })

  test('a body that is too large is refused as such', async () => {
    const body = JSON.stringify({ label: 'x'.repeat(2_000_000) })
    const answer = await call('/api/publish_token', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })
    // By Sluice: a proxy that takes less would refuse slates.
    expect([answer.status, answer.headers.get('x-request-id')]).toEqual([413, expect.any(String)])
  })

  test('a page with a video is served', async () => {
    const page = await call('/dashboard/')
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')])
  })
}

const JSON_BODY = { 'content-type': 'application/json' }
const nginx = findProgram('nginx', ['nginx'])
test.skipIf(nginx === null)(
  'below a path, a session over WHIP ends at the address that its client was given',
  async () => {
    const [guide = ''] = readPages().flatMap(({ path, text }) =>
      path.endsWith('guides/reverse-proxy.md') ? [text] : [],
    )
    const [sample] = blocksOf(guide).filter(({ language }) => language === 'nginx')
    const port = await ownPort()
    const child = spawn(nginx?.path ?? '', nginxWith(sample?.code ?? '', port), {
      env: nginx?.env,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    onTestFinished(async () => {
      child.kill('SIGTERM')
      await once(child, 'exit')
    })
    const call = (path: string, token: string, init: { method?: string; body?: string; headers?: object } = {}) => {
      const headers = {
        authorization: `Bearer ${token}`,
        ...(init.body === undefined ? {} : JSON_BODY),
        ...init.headers,
      }
      return fetchWith(`https://localhost:${port}${path}`, { ...init, dispatcher: agent, headers })
    }
    await vi.waitFor(async () => expect((await call('/live/healthz', '')).status).toBe(200), 30_000)
    const body = JSON.stringify({ label: 'Encoder', streams: [{ streamName: 'path' }] })
    const made = await call('/live/api/publish_token', app.secret, { method: 'POST', body })
    const { token } = ((await made.json()) as { data: { token: string } }).data
    const publisher = new TestPublisher('h264')
    const offer = { method: 'POST', body: await publisher.offer(), headers: { 'content-type': 'application/sdp' } }
    const published = await call('/live/api/whip/path', token, offer)
    const location = published.headers.get('location') ?? ''
    expect([published.status, location]).toEqual([201, expect.stringMatching(/^\/live\/api\/whip\/resource\//)])
    expect((await call(location, token, { method: 'DELETE' })).status).toBe(200)
    await publisher.pc.close()
  },
)

test('the file for Traefik, which Debian has not, is YAML with one router, and its service leads to Sluice', () => {
  const { http } = parse(readFileSync(file('traefik.yaml'), 'utf8'))
  const [router] = Object.values<{ service: string }>(http.routers)
  expect(http.services[router?.service ?? ''].loadBalancer.servers).toEqual([{ url: 'http://127.0.0.1:8080' }])
})
