/**
 * Three nodes on one PostgreSQL behind HAProxy, set up as in packaging/proxies/cluster-haproxy.cfg, drained and started again one
 * after another during a show: two publishers over WHIP and one over RTMP, viewers over WHEP of all of them, and viewers over HLS of
 * the one over RTMP.
 *   WHEP=60 HLS=40 DRAIN=20 node bench/rolling-restart.ts
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { findProgram } from '../test/proxies/programs.ts'
import { ownPort } from '../test/support/ownPort.ts'
import { findBinaries, startPostgres } from '../test/support/postgres.setup.ts'
import { SEALING_KEY } from '../test/support/sealingKey.ts'
import { until } from '../test/support/until.ts'
import { command, endServers, newDirectory, serve, type Served } from '../test/system/cliProcess.ts'
import { broadcastFile } from './lib/broadcast.ts'
import { publishing, watching } from './lib/followingPeers.ts'
import { report } from './lib/report.ts'

const WHEP = Number(process.env['WHEP'] ?? 60)
const HLS = Number(process.env['HLS'] ?? 40)
const DRAIN = Number(process.env['DRAIN'] ?? 20)
const BITRATE = 300_000
const BACK_MS = 3000
const STREAMS = ['one', 'two', 'file'] as const

interface Node {
  readonly port: number
  /** Of the proxy, which leads to this node: that of its `server.nodeUrl`. */
  readonly proxyPort: number
  readonly rtmpPort: number
  readonly folder: string
  server: Served
}

const binaries = findBinaries()
const haproxy = findProgram('haproxy', ['haproxy', 'liblua5.3-0', 'libopentracing-c-wrapper0', 'libopentracing1'])
if (binaries === undefined || haproxy === null) throw new Error('PostgreSQL or HAProxy is not installed')
process.on('exit', endServers)
const postgres = await startPostgres(binaries)
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-rolling-'))
const nodes = [await startNode(), await startNode(), await startNode()]
const [httpPort, rtmpPort] = [await ownPort(), await ownPort()]
const balancer = startBalancer()
const children = new Set<ChildProcess>([balancer])
const stopping = new AbortController()
try {
  await measure()
} finally {
  stopping.abort()
  for (const child of children) child.kill('SIGKILL')
  await postgres.remove()
  rmSync(folder, { recursive: true, force: true })
}
process.exit()

async function startNode(): Promise<Node> {
  const [port, proxyPort, rtmp] = [await ownPort(), await ownPort(), await ownPort()]
  const node = { port, proxyPort, rtmpPort: rtmp, folder: newDirectory() }
  return { ...node, server: await run(node) }
}

function run({ port, proxyPort, rtmpPort: rtmp, folder: data }: Omit<Node, 'server'>): Promise<Served> {
  return serve(['--data', data], {
    SLUICE_STORAGE_URL: postgres.url,
    SLUICE_SECRETS_SEALING_KEY: SEALING_KEY,
    SLUICE_SERVER_PORT: String(port),
    SLUICE_SERVER_NODE_URL: `http://127.0.0.1:${proxyPort}`,
    SLUICE_SERVER_TRUSTED_PROXIES: '127.0.0.1',
    SLUICE_SERVER_DRAIN_SECONDS: String(DRAIN),
    SLUICE_RTMP_PORT: String(rtmp),
    SLUICE_WEBRTC_PORT: '0',
    SLUICE_WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true',
  })
}

/** Asks each node once a second whether it is ready. */
function startBalancer(): ChildProcess {
  const servers = (portOf: (node: Node) => number) =>
    nodes.map((node, at) => `  server n${at} 127.0.0.1:${portOf(node)} check port ${node.port}`).join('\n')
  const text = `
global
  maxconn 5000
defaults
  timeout connect 2s
  timeout client 75s
  timeout server 75s
  option redispatch
  retries 3
  timeout check 5s
  default-server inter 500ms fall 2 rise 1
  retry-on conn-failure empty-response
frontend http
  mode http
  bind 127.0.0.1:${httpPort}
  option forwardfor
  http-request disable-l7-retry unless METH_GET
  default_backend nodes
backend nodes
  mode http
  option httpchk GET /readyz
${servers((node) => node.port)}
${nodes.map(nodeFrontend).join('')}
frontend rtmp
  mode tcp
  bind 127.0.0.1:${rtmpPort}
  default_backend rtmpnodes
backend rtmpnodes
  mode tcp
  option httpchk GET /readyz
${servers((node) => node.rtmpPort)}
`
  writeFileSync(join(folder, 'haproxy.cfg'), text)
  return spawn(haproxy?.path ?? '', ['-q', '-db', '-f', join(folder, 'haproxy.cfg')], {
    env: haproxy?.env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

/** What `server.nodeUrl` of a node leads to. While the node is down, the others serve its players. */
function nodeFrontend({ port, proxyPort }: Node): string {
  const others = nodes.filter((other) => other.port !== port)
  return `
frontend http${port}
  mode http
  bind 127.0.0.1:${proxyPort}
  option forwardfor
  http-request disable-l7-retry unless METH_GET
  use_backend hls${port} if { path_beg /hls/ }
  default_backend node${port}
backend node${port}
  mode http
  server n 127.0.0.1:${port}
backend hls${port}
  mode http
  option httpchk GET /healthz
  default-server check inter 500ms fall 1 rise 1 observe layer4 error-limit 1 on-error mark-down
  server n 127.0.0.1:${port}
${others.map((other) => `  server n${other.port} 127.0.0.1:${other.port} backup`).join('\n')}
`
}

/** An encoder that connects again when it is cut, as OBS does. */
function pushOverRtmp(token: string): void {
  const file = join(folder, 'show.flv')
  const url = `rtmp://127.0.0.1:${rtmpPort}/v2/pub/file?token=${token}`
  const args = ['-v', 'quiet', '-re', '-stream_loop', '-1', '-i', file, '-c', 'copy', '-f', 'flv', url]
  const child = spawn('ffmpeg', args, { stdio: 'ignore' })
  children.add(child)
  child.on('exit', () => {
    children.delete(child)
    if (!stopping.signal.aborted) setTimeout(() => pushOverRtmp(token), 300)
  })
}

/** What went wrong below HTTP is in the causes of an error. */
function textOf(error: unknown): string {
  return error instanceof Error && error.cause !== undefined
    ? `${error.message}: ${textOf(error.cause)}`
    : String(error)
}

/** A player that asks for its playlist once a second, and for each new segment. Whatever is no success is an error. */
async function play(master: string, counts: { answers: number; errors: string[] }): Promise<void> {
  const got = async (url: string) => {
    const response = await fetch(url, { signal: AbortSignal.timeout(20_000) }).catch(textOf)
    counts.answers += 1
    const text = typeof response === 'string' ? response : await response.text().catch(String)
    if (typeof response === 'string' || !response.ok) {
      const what = `${new URL(url).pathname.split('/').at(-1)} ${typeof response === 'string' ? '' : response.status} ${text}`
      counts.errors.push(what)
      console.error(`after ${(performance.now() / 1000).toFixed(1)} s: ${what}`)
      return null
    }
    return { url: response.url, text }
  }
  const first = await got(master)
  if (first === null) return
  const [uri = ''] = /^[^#\s]+$/m.exec(first.text) ?? []
  const playlist = new URL(uri, first.url).href
  let last = ''
  while (!stopping.signal.aborted) {
    const found = await got(playlist)
    if (found?.text.includes('#EXT-X-ENDLIST')) counts.errors.push('the playlist has ended')
    const segment = found?.text.match(/^s\d+\.m4s$/gm)?.at(-1) ?? ''
    if (found && segment !== '' && segment !== last) await got(new URL(segment, found.url).href)
    last = segment
    await sleep(900 + Math.random() * 200)
  }
}

async function measure(): Promise<void> {
  writeFileSync(join(folder, 'show.flv'), broadcastFile(10, 'flv', ['-b:v', '300k', '-maxrate', '300k', '-bf', '0']))
  const base = `http://127.0.0.1:${httpPort}`
  const data = nodes[0]?.folder ?? ''
  const env = { SLUICE_STORAGE_URL: postgres.url, SLUICE_SECRETS_SEALING_KEY: SEALING_KEY }
  const cli = async (...argv: string[]) => (await command(['--data', data, ...argv], { env })).stdout.trim()
  const secret = await cli('secret', 'create', '--name', 'bench')
  const [{ id: account }] = JSON.parse(await cli('account', 'list', '--json')) as [{ id: string }]
  const api = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
    const answer = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return ((await answer.json()) as { data: { token: string } }).data
  }
  const receiver = createServer((request, response) => void request.resume().on('end', () => response.end()))
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const { port: hookPort } = receiver.address() as { port: number }
  await until(async () => (await fetch(`${base}/readyz`).catch(() => null))?.ok === true)
  await api('/api/webhooks', { url: `http://127.0.0.1:${hookPort}/`, isFeedHooks: true })
  const streams = STREAMS.map((streamName) => ({ streamName }))
  const publisher = await api('/api/publish_token', { label: 'p', streams, subscribeRequiresAuth: true })
  const { token } = await api('/api/subscribe_token', { label: 's', streams })

  const publishers = ['one', 'two'].map((name) =>
    publishing({ url: `${base}/api/whip/${name}`, token: publisher.token }, BITRATE),
  )
  pushOverRtmp(publisher.token)
  const viewers = Array.from({ length: WHEP }, (_, at) =>
    watching({ url: `${base}/api/whep/${account}/${STREAMS[at % 3]}`, token }),
  )
  const counts = { answers: 0, errors: [] as string[] }
  const master = `${base}/hls/${account}/file/index.m3u8?auth=${token}`
  await until(async () => (await fetch(master)).ok)
  const players = Array.from({ length: HLS }, () => play(master, counts))
  await until(() => viewers.every(({ packets }) => packets() > 0))
  console.error(`all ${WHEP + HLS} viewers watch`)

  for (const node of nodes) await restart(node, cli)
  await sleep(5000)

  const gaps = viewers.flatMap(({ gapsMs }) => gapsMs).toSorted((a, b) => a - b)
  const back = gaps.filter((gap) => gap <= BACK_MS).length
  const playing = viewers.map(({ packets }) => packets())
  await sleep(2000)
  const lost = viewers.filter(({ packets }, at) => packets() === playing[at]).length
  stopping.abort()
  await Promise.all([...players, ...publishers.map((one) => one.stop()), ...viewers.map((one) => one.stop())])
  for (const child of children) if (child !== balancer) child.kill('SIGKILL')
  await sleep(3000)
  for (const { server } of nodes) server.signal('SIGTERM')
  await Promise.all(nodes.map(({ server }) => server.ended))
  receiver.close()

  const shown = [...new Set(counts.errors)].slice(0, 5).join('; ')
  report({
    what: `Errors of ${HLS} players over HLS while three nodes restart`,
    ratio: counts.errors.length,
    target: 'none',
    met: counts.errors.length === 0,
    detail: `${counts.answers} answers${shown && `; ${shown}`}`,
  })
  const moved = viewers.reduce((sum, one) => sum + one.moved, 0)
  report({
    what: `Returns of ${WHEP} viewers over WHEP within ${BACK_MS / 1000} s of their last packet / all`,
    ratio: back / gaps.length,
    target: 'at least 0.95',
    met: back / gaps.length >= 0.95 && lost === 0,
    detail:
      `${gaps.length} returns, ${moved} of them told by 410; ` +
      `median ${at(gaps, 0.5)} s, p95 ${at(gaps, 0.95)} s, most ${at(gaps, 1)} s; ${lost} without media at the end`,
  })
  await reportBooks()
}

/** Seconds. */
function at(sorted: readonly number[], share: number): string {
  const found = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
  return (found / 1000).toFixed(2)
}

/** Drains a node, starts another in its place, and waits until the balancer sends clients to it. */
async function restart(node: Node, cli: (...argv: string[]) => Promise<string>): Promise<void> {
  const began = performance.now()
  node.server.signal('SIGUSR2')
  const status = await node.server.ended
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  node.server = await run(node)
  await until(async () => JSON.parse(await cli('cluster', 'status', '--json')).length === nodes.length)
  console.error(
    `after ${(performance.now() / 1000).toFixed(1)} s: the node of port ${node.port} ended with ${status} after ${seconds} s, and serves again`,
  )
  await sleep(3000)
}

/** One `started` and one `ended` for each broadcast, and the same bytes in sessions and hourly sums. */
async function reportBooks(): Promise<void> {
  const client = new Client({ connectionString: postgres.url })
  client.on('error', () => undefined)
  await client.connect()
  const one = async (sql: string) => Object.values((await client.query(sql)).rows[0] as object).map(Number)
  const [feeds = 0, open = 0] = await one(
    'select count(*), count(*) filter (where ended_at_ms is null) as open from feeds',
  )
  const sent = "coalesce(nullif(p.data, ''), convert_from(p.body, 'UTF8'))"
  const events =
    `select substring(${sent} from '"feedId":"([^"]+)"') as feed, d.event ` +
    'from deliveries d join delivery_payloads p on p.id = d.id'
  const [pairs = 0] = await one(
    `select count(*) from (select feed from (${events}) e group by feed
      having count(*) filter (where event = 'started') = 1 and count(*) filter (where event = 'ended') = 1) x`,
  )
  report({
    what: 'Broadcasts with one started and one ended / all',
    ratio: pairs / feeds,
    target: '1',
    met: pairs === feeds && open === 0,
    detail: `${feeds} broadcasts, ${pairs} with both events, ${open} without an end`,
  })
  const sums = 'select coalesce(sum(bytes_in), 0) + coalesce(sum(bytes_out), 0) from'
  const [sessions = 0] = await one(`${sums} sessions`)
  const hours = `select bytes_in, bytes_out from usage where span = 'hour' and stream_name <> ''`
  const both = `${hours} union all select bytes_in, bytes_out from node_usage`
  const [usage = 0] = await one(`${sums} (${both}) u`)
  report({
    what: 'Bytes in hourly sums / bytes of sessions',
    ratio: usage / sessions,
    target: '1',
    met: usage === sessions,
    detail: `${(usage / 1e6).toFixed(1)} MB and ${(sessions / 1e6).toFixed(1)} MB, ${usage - sessions} bytes apart`,
  })
  await client.end()
}
