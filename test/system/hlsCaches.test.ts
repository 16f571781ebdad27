import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get as request } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encoded } from '../media/ffmpeg/frames.ts'
import { readPlaylist } from '../media/hls/readPlaylist.ts'
import { runApp, type RunningApp } from '../support/app.ts'
import { broadcast } from '../support/broadcast.ts'
import { makeToken, until } from '../support/testNode.ts'

// The configurations in `packaging/`, in the real programs. Viewers have addresses of their own on loopback.

let sluice: RunningApp
const running: ChildProcess[] = []
const dirs: string[] = []

beforeAll(async () => {
  sluice = await runApp({ flags: { server: { trustedProxies: ['127.0.0.1'] } } })
  const recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '320x180' })
  await broadcast(sluice, recorded, { speed: 1, token: { subscribeRequiresAuth: true } })
})
afterAll(async () => {
  for (const child of running) {
    const closed = child.exitCode === null ? once(child, 'close') : null
    child.kill('SIGTERM')
    await closed
  }
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true })
  await sluice.close()
})

const isInstalled = (program: string): boolean => spawnSync(program, ['-V']).error === undefined

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** A file of `packaging/` for this test: other ports, and files in a directory of its own. */
function packaged(name: string, replaced: readonly (readonly [string, string])[]): string {
  let text = readFileSync(new URL(`../../packaging/${name}`, import.meta.url), 'utf8')
  for (const [from, to] of replaced) {
    expect(text).toContain(from)
    text = text.replaceAll(from, to)
  }
  return text
}

function directory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-hls-cache-'))
  dirs.push(dir)
  return dir
}

const sluicePort = (): string => new URL(sluice.base).port

async function startNginx(): Promise<number> {
  const [dir, port] = [directory(), await freePort()]
  const conf = packaged('nginx-hls.conf', [
    ['127.0.0.1:8080', `127.0.0.1:${sluicePort()}`],
    ['listen 80;', `listen 127.0.0.1:${port};`],
    ['/var/cache/nginx', dir],
    ['/var/log/nginx', dir],
  ])
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((each) => `${each}_temp_path ${dir}/${each};`)
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const head = `${user} daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/error.log;`
  writeFileSync(join(dir, 'nginx.conf'), `${head} events {}\nhttp { ${temp.join(' ')}\n${conf}\n}\n`)
  running.push(
    spawn('nginx', ['-p', dir, '-e', join(dir, 'error.log'), '-c', join(dir, 'nginx.conf')], { stdio: 'inherit' }),
  )
  return port
}

async function startVarnish(): Promise<number> {
  const [dir, port] = [directory(), await freePort()]
  const vcl = packaged('varnish.vcl', [['.port = "8080";', `.port = "${sluicePort()}";`]])
  writeFileSync(join(dir, 'hls.vcl'), vcl)
  // Without its jail, because the directory is the test's.
  const args = ['-F', '-j', 'none', '-n', join(dir, 'work'), '-a', `127.0.0.1:${port}`, '-f', join(dir, 'hls.vcl')]
  running.push(spawn('varnishd', [...args, '-s', 'malloc,64m', '-p', 'thread_pool_min=50'], { stdio: 'ignore' }))
  return port
}

interface Got {
  readonly status: number
  readonly bytes: Buffer
  readonly text: string
}

/** @param address of the viewer, on loopback */
async function getFrom(address: string, port: number, path: string): Promise<Got> {
  const asked = request({ host: '127.0.0.1', port, path, localAddress: address })
  const [response] = await once(asked, 'response')
  const bytes = await buffer(response)
  return { status: response.statusCode, bytes, text: bytes.toString() }
}

/** Requests for playlists and pieces that Sluice has answered. */
async function answered(): Promise<number> {
  const { text } = await sluice.call('GET', '/metrics')
  const counts = text.matchAll(
    /^sluice_http_requests_total\{.*route="\/hls\/~:ticket\/:stream\/:rendition.*\} (\d+)$/gm,
  )
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
}

describe.each([
  ['nginx', 'nginx', startNginx],
  ['Varnish', 'varnishd', startVarnish],
])('%s in front', (_name, program, start) => {
  const isMissing = !isInstalled(program)
  let port: number

  beforeAll(async () => {
    if (isMissing) return
    port = await start()
    await until(
      () =>
        getFrom('127.0.0.9', port, '/healthz').then(
          ({ status }) => status < 500,
          () => false,
        ),
      30_000,
    )
  })

  const beside = (path: string, name: string): string => path.replace(/media\.m3u8.*/, name)

  /** A viewer at an address of its own, who has a playlist. */
  async function watch(token: string, address: string) {
    const master = `/hls/${sluice.accountId}/show/index.m3u8?auth=${token}`
    const { text } = await getFrom(address, port, master)
    const [uri = ''] = /^[^#\s]+$/m.exec(text) ?? []
    const playlist = new URL(uri, `http://x${master}`).pathname
    return { address, playlist, ...(await getFrom(address, port, playlist)) }
  }

  test.skipIf(isMissing)(
    'twenty players with tickets of their own cost one request for each playlist and piece',
    async () => {
      const { token } = await makeToken(sluice, 'subscribe')
      const crowd = await Promise.all(Array.from({ length: 20 }, (_, n) => watch(token, `127.0.1.${n + 1}`)))
      expect(new Set(crowd.map(({ status }) => status))).toEqual(new Set([200]))
      const { segments, mediaSequence } = readPlaylist(crowd.at(-1)!.text)
      const before = await answered()
      const next = `media.m3u8?_HLS_msn=${mediaSequence + segments.length + 1}`
      const newest = /^s\d+\.m4s$/gm.exec(crowd.at(-1)!.text)?.[0] ?? ''
      for (const name of [next, newest]) {
        const all = await Promise.all(
          crowd.map(({ address, playlist }) => getFrom(address, port, beside(playlist, name))),
        )
        expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]))
        expect(all.every(({ bytes }) => bytes.equals(all[0]!.bytes))).toBe(true)
      }
      expect((await answered()) - before).toBe(2)
    },
  )

  test.skipIf(isMissing)(
    'what it has opens with no forged ticket, and to no address that the token refuses',
    async () => {
      const { token } = await makeToken(sluice, 'subscribe', { allowedIpAddresses: ['127.0.2.1'] })
      const { playlist, text, address } = await watch(token, '127.0.2.1')
      const path = beside(playlist, /^s\d+\.m4s$/m.exec(text)?.[0] ?? '')
      expect((await getFrom(address, port, path)).status).toBe(200)
      expect((await getFrom('127.0.2.2', port, path)).status).toBe(401)
      const forged = path.replace(/~(.{10})./, (_, kept: string) => `~${kept}${path[12] === 'z' ? 'y' : 'z'}`)
      expect((await getFrom(address, port, forged)).status).toBe(401)
      expect((await getFrom(address, port, path)).status).toBe(200)
    },
  )

  test.skipIf(isMissing)(
    'a viewer whose token is deleted, and a third address with one ticket, get nothing more',
    async () => {
      const [one, other] = [await makeToken(sluice, 'subscribe'), await makeToken(sluice, 'subscribe')]
      const [gone, shared] = [await watch(one.token, '127.0.3.1'), await watch(other.token, '127.0.3.2')]
      await sluice.call('DELETE', `/api/subscribe_token/${one.id}`)
      const init = (viewer: typeof gone): string => beside(viewer.playlist, /init-[^"]+/.exec(viewer.text)?.[0] ?? '')
      await until(async () => (await getFrom(gone.address, port, init(gone))).status === 401)
      const statuses = async () => {
        const all = ['127.0.3.2', '127.0.3.3', '127.0.3.4'].map((address) => getFrom(address, port, init(shared)))
        return (await Promise.all(all)).map(({ status }) => status)
      }
      await until(async () => (await statuses()).every((status) => status === 403))
    },
  )
})
