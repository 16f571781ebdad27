/**
 * Segments of a distribution, from memory, against nginx with the same bytes in files: bytes per second of server CPU time, in interleaved
 * slices of one run. Measured for an open distribution and for one with tickets. nginx runs with Debian's settings
 * (`sendfile`, `tcp_nopush`) and no access log. The client is a process of its own.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createHmac } from 'node:crypto'
import { runChannels } from '../test/support/channelsClient.ts'
import { StagedEngine } from '../test/support/stagedEngine.ts'
import { fetchBytes, type Fetch } from './lib/fetch.ts'
import { median, report } from './lib/report.ts'
import { ownPort } from '../test/support/ownPort.ts'

const CONNECTIONS = 16
const SLICE_MS = 1500
const SLICES = 9
const TARGET = 1
/** Two seconds of the default ladder, audio included: 2.9 Mbit/s and 0.9 Mbit/s, at their average. */
const SEGMENT_BYTES = 475_000
const FRAMES = 50
const LISTED = 3
/** `--copy`: without the addon. */
const COPIES = process.argv.includes('--copy')

const NGINX = '/usr/sbin/nginx'
const KEY = 'a secret of the bench and of nobody else'

/** The same files, with Sluice's URLs and with nginx's. */
interface Ready {
  readonly port: number
  readonly pid: number
  readonly folder: string
  readonly open: string[]
  readonly ticketed: string[]
}

if (process.argv[2] === 'sluice') await serve()
else if (process.argv[2] === 'client') answerFetches()
else await compare()

async function serve(): Promise<void> {
  // The client uses the ticket of one viewer many times.
  const live = await runChannels({ flags: { hls: { refuseSharedTickets: false }, server: { splice: !COPIES } } })
  const made = await live.made('POST', '/channels', {
    name: 'bench',
    ingests: [{ name: 'i', type: 'rtmp-push', engines: [{ name: 'e' }] }],
    distributions: [{ name: 'open' }, { name: 'ticketed', security: { keys: [{ key: KEY }] } }],
  })
  const [{ id: engineId }] = made.engines
  const staged = new StagedEngine(live.running.app.channelStreams, engineId, { frameBytes: SEGMENT_BYTES / FRAMES })
  const folder = writeFiles(staged.begin().play(LISTED))
  await live.running.app.ctx.store.transaction((tx) => tx.engines.setStatus(engineId, 'playing', null))
  const masterOf = ({ id }: { id: string }): string => `${live.running.base}/v2/distributions/${id}/hls/main.m3u8`
  const [open, secured] = made.distributions.map(masterOf)
  const paths = { open: await pathsIn(`${open}`), ticketed: await pathsIn(`${secured}?token=${viewerToken()}`) }
  process.on('disconnect', () => {
    rmSync(folder, { recursive: true })
    void live.close().then(() => process.exit())
  })
  process.send?.({
    port: Number(new URL(live.running.base).port),
    pid: process.pid,
    folder,
    ...paths,
  } satisfies Ready)
}

/** The same segments as files, for nginx. */
function writeFiles({ stream }: StagedEngine): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-hls-'))
  const facts = stream.facts('0')?.segments.filter(({ closed }) => closed) ?? []
  const segments = facts.flatMap(({ n }) => ['0', '1'].map((rendition) => `${rendition}/s${n}.m4s`))
  for (const path of segments) {
    const [rendition = '', name = ''] = path.split('/')
    mkdirSync(join(folder, rendition), { recursive: true })
    writeFileSync(join(folder, path), stream.piece({ rendition, kind: 'segment', name }) ?? '')
  }
  writeFileSync(join(folder, 'main.m3u8'), '#EXTM3U\n')
  return folder
}

function viewerToken(): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'HS256' })}.${part({ exp: Math.floor(Date.now() / 1000) + 600, streaming: {} })}`
  return `${signed}.${createHmac('sha256', KEY).update(signed).digest('base64url')}`
}

/** The paths of all segments in the playlists of a master playlist. */
async function pathsIn(master: string): Promise<string[]> {
  const lines = async (url: string): Promise<string[]> =>
    ((await (await fetch(url)).text()).match(/^[^#\s].*$/gm) ?? []).map((uri) => new URL(uri, url).href)
  const listed = await Promise.all((await lines(master)).map(lines))
  const [first = []] = listed
  return first.flatMap((_, at) => listed.map((urls) => new URL(urls[at] ?? '').pathname))
}

function answerFetches(): void {
  process.on('message', (fetch: Fetch) => {
    fetchBytes(fetch).then(
      (bytes) => process.send?.(bytes),
      (error) => process.send?.(String(error)),
    )
  })
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
}

async function compare(): Promise<void> {
  const script = process.argv[1] as string
  const [sluice, client] = [fork(script, ['sluice', ...(COPIES ? ['--copy'] : [])]), fork(script, ['client'])]
  const [[ready]] = (await Promise.all([once(sluice, 'message'), once(client, 'message')])) as [[Ready], unknown]
  const nginx = await startNginx(ready.folder)
  try {
    await compareWith(client, ready, nginx)
  } finally {
    nginx.stop()
    for (const child of [sluice, client]) child.disconnect()
  }
}

interface Served {
  readonly port: number
  readonly pid: number
  readonly paths: readonly string[]
}

async function compareWith(client: ChildProcess, ready: Ready, nginx: Nginx): Promise<void> {
  const theirs = { ...nginx, paths: ready.open.map((path) => path.replace(/^.*-(\d+\/)/, '/$1')) }
  const ours = { open: { ...ready, paths: ready.open }, ticketed: { ...ready, paths: ready.ticketed } }
  const measured = { open: [] as number[], ticketed: [] as number[], nginx: [] as number[] }
  for (const each of [theirs, ours.open, ours.ticketed]) await perCpuSecond(client, each)
  for (let slice = 0; slice < SLICES; slice++) {
    measured.open.push(await perCpuSecond(client, ours.open))
    measured.nginx.push(await perCpuSecond(client, theirs))
    measured.ticketed.push(await perCpuSecond(client, ours.ticketed))
  }
  for (const kind of ['open', 'ticketed'] as const) {
    // Adjacent slices run under the same load of the machine, so the ratio is taken for each pair.
    const ratio = median(measured[kind].map((each, slice) => each / (measured.nginx[slice] ?? Number.NaN)))
    report({
      what: `HLS segments of a distribution (${kind}), bytes per CPU second, of nginx`,
      ratio,
      target: `>= ${TARGET}`,
      met: ratio >= TARGET,
      detail: `${megabytes(measured[kind])} against ${megabytes(measured.nginx)} MB`,
    })
  }
}

function megabytes(values: readonly number[]): number {
  return Math.round(median(values) / 1e6)
}

async function perCpuSecond(client: ChildProcess, { port, pid, paths }: Served): Promise<number> {
  const before = cpuSeconds(pid)
  client.send({ port, paths: [...paths], connections: CONNECTIONS, durationMs: SLICE_MS } satisfies Fetch)
  const [bytes] = (await once(client, 'message')) as [number | string]
  if (typeof bytes === 'string') throw new Error(bytes)
  return bytes / (cpuSeconds(pid) - before)
}

/** User and system time of all threads of a process: fields 14 and 15 of proc(5), in hundredths of a second. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

interface Nginx {
  readonly port: number
  readonly pid: number
  stop(): void
}

/** One worker without a master process: it is our child, so nothing is left when it ends. */
async function startNginx(root: string): Promise<Nginx> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-nginx-'))
  const port = await ownPort()
  writeFileSync(join(dir, 'nginx.conf'), nginxConf(dir, root, port))
  const child = spawn(NGINX, ['-p', dir, '-e', join(dir, 'error.log'), '-c', join(dir, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  for (let tries = 0; tries < 50; tries++) {
    const answer = await fetch(`http://127.0.0.1:${port}/main.m3u8`).catch(() => null)
    if (answer?.ok) break
    await delay(100)
  }
  return {
    port,
    pid: child.pid ?? 0,
    stop() {
      child.kill('SIGKILL')
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

function nginxConf(dir: string, root: string, port: number): string {
  return `
${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
master_process off;
pid ${dir}/pid;
events { worker_connections 256; }
http {
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((each) => `${each}_temp_path ${dir}/${each};`).join(' ')}
  types { video/mp4 m4s; application/vnd.apple.mpegurl m3u8; }
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000;
  server { listen 127.0.0.1:${port}; root ${root}; }
}
`
}
