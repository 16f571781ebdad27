import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { encoded } from '../media/ffmpeg/frames.ts'
import { type RunningApp, runApp } from '../support/app.ts'
import { broadcast } from '../support/broadcast.ts'
import { closingNode } from '../support/closingNode.ts'
import { ownPort } from '../support/ownPort.ts'
import { newPlace, type Place } from '../support/place.ts'
import { LOOPBACK, TestPublisher, TestViewer } from '../support/rtcPeer.ts'
import { SEALING_KEY } from '../support/sealingKey.ts'
import { makeToken } from '../support/testNode.ts'
import { until } from '../support/until.ts'
import { findProgram, type Program } from './programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-cluster-proxies-'))
/** Names of this machine, in place of those of the nodes. */
const NAMES = ['localhost', '127.0.0.1'] as const

/** The published file with the addresses and names of the test, without TLS. */
function adapted(name: string, port: number, backs: readonly number[]): string {
  const published = readFileSync(fileURLToPath(new URL(`../../packaging/proxies/${name}`, import.meta.url)), 'utf8')
  const replaced = [0, 1].reduce(
    (before, at) =>
      before
        .replaceAll(`10.0.0.${at + 1}:8080`, `127.0.0.1:${backs[at]}`)
        .replaceAll(`node${at + 1}.example.com`, NAMES[at] ?? ''),
    published,
  )
  const path = join(folder, name)
  writeFileSync(
    path,
    replaced
      .replace(/bind :443.*/, `bind 127.0.0.1:${port}`)
      .replace('maxconn 20000', 'maxconn 500')
      .replace('listen 443 ssl', `listen 127.0.0.1:${port}`)
      .replaceAll(/^ *ssl_.*$/gm, ''),
  )
  return path
}

function nginx(port: number, backs: readonly number[]): string[] {
  const path = adapted('cluster-nginx.conf', port, backs)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`)
  const whole = `daemon off; pid ${folder}/pid; error_log stderr; events {}\nhttp {\n${temporary.join('\n')}\ninclude ${path};\n}`
  writeFileSync(join(folder, 'whole.conf'), whole)
  return ['-p', folder, '-c', join(folder, 'whole.conf')]
}

const PROXIES = [
  { name: 'nginx', packages: ['nginx'], command: nginx },
  {
    name: 'haproxy',
    packages: ['haproxy', 'liblua5.3-0', 'libopentracing-c-wrapper0', 'libopentracing1'],
    command: (port: number, backs: readonly number[]) => ['-db', '-f', adapted('cluster-haproxy.cfg', port, backs)],
  },
]

afterAll(() => rmSync(folder, { recursive: true }))

describe.each(PROXIES)('two nodes behind $name', ({ name, packages, command }) => {
  const program = findProgram(name, packages)
  if (program === null) console.warn(`${name} is left out: it is not installed, and its Debian package cannot be had`)
  describe.skipIf(program === null)('with the published file', () => proxied(program as Program, command))

  test.skipIf(program === null)('which close an idle connection in the moment of a request get it again', async () => {
    const node = await closingNode(1)
    const port = await ownPort()
    const { path = '', env } = program ?? {}
    const child = spawn(path, command(port, [node.port, node.port]), { env, stdio: ['ignore', 'ignore', 'inherit'] })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(async () => {
      agent.destroy()
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
    })
    /** Null: the connection ended without an answer. */
    const get = async (): Promise<number | null> => {
      const sent = request({ host: '127.0.0.1', port, path: '/', agent }).end()
      const [response] = await once(sent, 'response').catch(() => [null])
      if (response !== null) await text(response)
      return response === null ? null : Number(response.statusCode)
    }
    await until(async () => (await get()) === 200)
    expect([await get(), await get(), await get()]).toEqual([200, 200, 200])
  })
})

function proxied(program: Program, command: (port: number, backs: readonly number[]) => string[]): void {
  let place: Place
  let child: ChildProcess
  let port: number
  let nodes: RunningApp[]
  const open: { close(): Promise<void> }[] = []

  beforeAll(async () => {
    place = await newPlace('SQLite')
    port = await ownPort()
    const backs = await Promise.all(NAMES.map(() => ownPort()))
    child = spawn(program.path, command(port, backs), { env: program.env, stdio: ['ignore', 'ignore', 'inherit'] })
    nodes = []
    for (const [at, back] of backs.entries())
      nodes.push(
        await runApp({
          flags: {
            storage: { url: place.url },
            secrets: { sealingKey: SEALING_KEY },
            webrtc: { host: '127.0.0.1', port: 0, processes: 1 },
            server: { port: back, nodeUrl: `http://${NAMES[at]}:${port}`, trustedProxies: ['127.0.0.1'] },
          },
        }),
      )
    await until(async () => (await send('stream.example.com', 'GET', '/readyz')).status === 200)
  })
  afterAll(async () => {
    for (const one of open) await one.close()
    for (const node of nodes) await node.close()
    await place.remove()
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'exit')
  })

  /** A request to the proxy by one of its names; 502 as long as it does not listen. */
  async function send(host: string, method: string, path: string, body?: string, token = '') {
    const headers = { host: `${host}:${port}`, 'content-type': 'application/sdp', authorization: `Bearer ${token}` }
    const sent = request({ host: '127.0.0.1', port, method, path, headers, setHost: false })
    sent.end(body)
    const answered = await once(sent, 'response').catch(() => null)
    if (answered === null) return { status: 502, text: '', location: '' }
    const [response] = answered
    return {
      status: Number(response.statusCode),
      text: await text(response),
      location: response.headers.location ?? '',
    }
  }

  test('a publisher comes to any node, and each node has a viewer of it: the other one by a link that it asked for through the proxy', async () => {
    const [first] = nodes
    if (first === undefined) throw new Error('no node')
    const { token } = await makeToken(first, 'publish', { streams: [{ streamName: '.*', isRegex: true }] })
    const publish = async (host: string, streamName: string) => {
      const publisher = new TestPublisher('vp8', LOOPBACK)
      open.push(publisher)
      const published = await send(host, 'POST', `/api/whip/${streamName}`, await publisher.offer(), token)
      expect(published.status, published.text).toBe(201)
      await publisher.accept(published.text)
      publisher.play()
      return new URL(published.location)
    }
    // A node's process for media starts with its first client, and a link waits for that no longer than a viewer does.
    for (const [at, host] of NAMES.entries()) await publish(host, `own${at}`)
    const { origin } = await publish('stream.example.com', 'show')
    expect(NAMES.map((name) => `http://${name}:${port}`)).toContain(origin)
    await until(() => nodes.every(({ app, accountId }) => app.ctx.streamsOnAir(accountId, 'show')))

    const path = `/api/whep/${first.accountId}/show`
    for (const host of NAMES) {
      const viewer = new TestViewer('vp8', LOOPBACK)
      open.push(viewer)
      const watched = await send(host, 'POST', path, await viewer.offer())
      expect(watched.status, watched.text).toBe(201)
      expect(new URL(watched.location).hostname).toBe(host)
      await viewer.accept(watched.text)
      await viewer.gets()
    }
    const counts = nodes.map(({ app }) => app.ctx.lentRooms.links?.counts)
    expect(counts).toContainEqual({ lent: 1, borrowed: 0 })
    expect(counts).toContainEqual({ lent: 0, borrowed: 1 })
  })

  test('a player of a node that is down goes on at the address of that node, because the other one serves it there', async () => {
    const [gone, home] = nodes
    if (gone === undefined || home === undefined) throw new Error('no node')
    const recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 25, size: '320x180' })
    const live = await broadcast(home, recorded, { streamName: 'watched', speed: 1 })
    await until(() => gone.app.ctx.streamsOnAir(gone.accountId, 'watched'))
    const first = await send(NAMES[0], 'GET', `/hls/${gone.accountId}/watched/index.m3u8`)
    expect(first.status, first.text).toBe(200)
    const [uri = ''] = /^[^#\s]+$/m.exec(first.text) ?? []
    const { pathname } = new URL(uri, `http://node/hls/${gone.accountId}/watched/index.m3u8`)
    expect((await send(NAMES[0], 'GET', pathname)).status).toBe(200)
    nodes.shift()
    await gone.close()
    const answers = [await send(NAMES[0], 'GET', pathname), await send(NAMES[0], 'GET', pathname)]
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(answers[1]?.text).toContain('#EXTINF')
    await live.end()
  })
}
