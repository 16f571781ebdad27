import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { command, endServers, newDirectory, serve, type Served } from '../system/cliProcess.ts'
import { workingIn } from '../support/channels.ts'
import { ownPort } from '../support/ownPort.ts'
import { closePages, openBrowser } from './browser.ts'
import { servePages } from './pages.ts'
import { Peer } from './peer.ts'

export interface Token {
  id: number
  token: string
  srtPassphrase?: string
}

/** A server as `npm start` runs it, a browser, and pages on hosts of their own. */
export interface Stage {
  server: Served
  accountId: string
  /** An API secret. */
  secret: string
  browser: Browser
  /** The URL of a page of `host`. */
  origin(host: string): string
  /** A page of `host`; every name that ends in `.test` is this machine. */
  peer(host?: string): Promise<Peer>
  whip(stream: string): string
  whep(stream: string): string
  hls(stream: string): string
  rtmp(stream: string, token: string): string
  srt(stream: string, token: Token): string
  /** The same of an ingest, whose record has this URL. */
  srtPush(url: string): string
  api(method: string, path: string, body?: unknown): Promise<{ status: number; data: ReturnType<typeof JSON.parse> }>
  /** A link that makes a user, an admin. */
  userLink(): Promise<string>
  token(kind: 'publish' | 'subscribe', body: object): Promise<Token>
  /** The channels interface; returns `data`, and throws on a refusal. */
  v2(method: string, path: string, body?: unknown): Promise<ReturnType<typeof JSON.parse>>
  /** The same with a file. */
  put(path: string, file: Buffer, type: string): Promise<ReturnType<typeof JSON.parse>>
  /** The URL that the publisher of a stream key pushes to. */
  ingest(streamKey: string): string
  /** The current processes of an engine. */
  engine(id: string): Promise<number[]>
  /** The relay processes. */
  relays(): number[]
  /** Stops the server. What it returns starts it again, with the same data at the same port. */
  stopServer(): Promise<() => Promise<void>>
  /** The same, with SIGKILL. */
  killServer(): Promise<() => Promise<void>>
  close(): Promise<void>
}

export async function setStage(settings: Record<string, string> = {}): Promise<Stage> {
  const dir = newDirectory()
  // It may be started again, and takes the same ports then.
  const ports = {
    SLUICE_SERVER_PORT: String(await ownPort()),
    SLUICE_RTMP_PORT: String(await ownPort()),
    SLUICE_SRT_PORT: '0',
  }
  const env = { SLUICE_SERVER_TRUSTED_PROXIES: '127.0.0.1', SLUICE_WEBRTC_PORT: '0', ...ports, ...settings }
  const [server, browser, pages] = await Promise.all([serve(['--data', dir], env), openBrowser(), servePages()])
  /** What a command prints. */
  const printed = async (...argv: string[]): Promise<string> => {
    const { status, stdout, stderr } = await command(['--data', dir, ...argv], { env: settings })
    if (status !== 0) throw new Error(`sluice ${argv.join(' ')}: ${stderr}`)
    return stdout.trim()
  }
  // Two servers of one database have one each.
  const name = `e2e at ${env.SLUICE_SERVER_PORT}`
  const secret = await printed('secret', 'create', '--name', name)
  const { accountId, pid } = readyLine(server)
  const api: Stage['api'] = async (method, path, body) => {
    const response = await fetch(server.url + path, {
      method,
      headers: { authorization: `Bearer ${secret}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    return { status: response.status, data: ((await response.json()) as { data: unknown }).data }
  }
  // Most stages need none, and starting it takes half a second.
  let credential: Promise<string> | null = null
  const send = async (
    method: string,
    path: string,
    body?: string | Uint8Array<ArrayBuffer>,
    type = 'application/json',
  ) => {
    credential ??= printed('credential', 'create', '--name', name)
    const authorization = `Basic ${Buffer.from(await credential).toString('base64')}`
    const response = await fetch(`${server.url}/v2${path}`, {
      method,
      headers: { authorization, ...(body ? { 'content-type': type } : {}) },
      ...(body ? { body } : {}),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text === '' ? undefined : (JSON.parse(text) as { data: unknown }).data
  }
  const left: Page[] = []
  let running = server
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<() => Promise<void>> => {
    running.signal(signal)
    await running.ended
    return async () => void (running = await serve(['--data', dir], env))
  }
  return {
    v2: (method, path, body) => send(method, path, body ? JSON.stringify(body) : undefined),
    put: (path, file, type) => send('PUT', path, new Uint8Array(file), type),
    ingest: (streamKey) => `rtmp://127.0.0.1:${portOf(server, 'RTMP')}/live/${streamKey}`,
    server,
    accountId,
    secret,
    browser,
    origin: (host) => pages.origin(host),
    peer: (host = 'page.test') => Peer.open(browser, pages.origin(host), left),
    whip: (stream) => `${server.url}/api/whip/${encodeURIComponent(stream)}`,
    whep: (stream) => `${server.url}/api/whep/${accountId}/${encodeURIComponent(stream)}`,
    hls: (stream) => `${server.url}/hls/${accountId}/${encodeURIComponent(stream)}/index.m3u8`,
    rtmp: (stream, token) => `rtmp://127.0.0.1:${portOf(server, 'RTMP')}/v2/pub/${stream}?token=${token}`,
    srt: (stream, { token, srtPassphrase }) =>
      `srt://127.0.0.1:${portOf(server, 'SRT')}?streamid=${stream}%3Ft%3D${token}` +
      (srtPassphrase === undefined ? '' : `&passphrase=${srtPassphrase}&pbkeylen=32`),
    srtPush: (url) => `srt://127.0.0.1:${portOf(server, 'SRT')}${new URL(url).search}`,
    api,
    async userLink() {
      return `${server.url}/dashboard/${new URL(await printed('user', 'link')).hash}`
    },
    async token(kind, body) {
      const made = await api('POST', `/api/${kind}_token`, { label: 'e2e', ...body })
      if (made.status !== 200) throw new Error(JSON.stringify(made))
      return made.data as Token
    },
    engine: (id) => workingIn(join(dir, 'channels', id)),
    relays: () => childrenOf(pid).filter((pid) => commandOf(pid).includes('relay')),
    stopServer: () => stop(),
    killServer: () => stop('SIGKILL'),
    async close() {
      await closePages(browser)
      await pages.close()
      await stop()
      endServers()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

function portOf(server: Served, protocol: 'RTMP' | 'SRT'): number {
  const line = server
    .log()
    .split('\n')
    .find((text) => text.includes(`"taking ${protocol}"`))
  return (JSON.parse(line ?? '{}') as { port: number }).port
}

function readyLine(server: Served): { accountId: string; pid: number } {
  const line = server
    .log()
    .split('\n')
    .find((text) => text.includes('"message":"ready"'))
  return JSON.parse(line ?? '{}') as { accountId: string; pid: number }
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'utf8')
