/**
 * Low-latency HLS players behind a balancer: nginx passes each request to the next of two nodes on one PostgreSQL, and one
 * of them has the feed. Counts answers that are not 200.
 *   MINUTES=10 PLAYERS=5 node bench/hls-nodes.ts
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { encoded } from '../test/media/ffmpeg/frames.ts'
import { runApp, type RunningApp } from '../test/support/app.ts'
import { broadcast } from '../test/support/broadcast.ts'
import { ownPort } from '../test/support/ownPort.ts'
import { findBinaries, startPostgres } from '../test/support/postgres.setup.ts'
import { SEALING_KEY } from '../test/support/sealingKey.ts'
import { makeToken } from '../test/support/testNode.ts'
import { until } from '../test/support/until.ts'
import { play } from './lib/hlsPlayer.ts'
import { report } from './lib/report.ts'

const MINUTES = Number(process.env['MINUTES'] ?? 10)
const PLAYERS = Number(process.env['PLAYERS'] ?? 5)

const binaries = findBinaries()
if (binaries === undefined) throw new Error('PostgreSQL is not installed')
const postgres = await startPostgres(binaries)
const nodes = [await startNode(), await startNode()] as const
const balancer = await startBalancer(nodes.map(({ base }) => new URL(base).port))
try {
  await measure()
} finally {
  balancer.stop()
  for (const node of nodes) await node.close()
  await postgres.remove()
}
process.exit()

async function startNode(): Promise<RunningApp> {
  const port = await ownPort()
  const secrets = { sealingKey: SEALING_KEY }
  const server = { port, nodeUrl: `http://127.0.0.1:${port}`, trustedProxies: ['127.0.0.1'] }
  return runApp({ flags: { storage: { url: postgres.url }, secrets, server } })
}

async function startBalancer(ports: readonly string[]): Promise<{ port: number; stop(): void }> {
  const [dir, port] = [mkdtempSync(join(tmpdir(), 'sluice-bench-nodes-')), await ownPort()]
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((each) => `${each}_temp_path ${dir}/${each};`)
  const conf = `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; master_process off; pid ${dir}/pid;
events { worker_connections 4096; }
http {
  ${temp.join(' ')}
  access_log off;
  upstream nodes { ${ports.map((each) => `server 127.0.0.1:${each};`).join(' ')} keepalive 32; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://nodes;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_next_upstream off;
    }
  }
}
`
  writeFileSync(join(dir, 'nginx.conf'), conf)
  const args = ['-p', dir, '-e', join(dir, 'error.log'), '-c', join(dir, 'nginx.conf')]
  const child = spawn('nginx', args, { stdio: ['ignore', 'ignore', 'inherit'] })
  await once(child, 'spawn')
  const stop = (): void => {
    child.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  }
  return { port, stop }
}

async function measure(): Promise<void> {
  const [owner, other] = nodes
  const recorded = await encoded({ video: 'h264', audio: 'aac', seconds: 2, gop: 50, size: '320x180' })
  await broadcast(owner, recorded, { speed: 1, token: { subscribeRequiresAuth: true } })
  await until(() => other.app.ctx.streamsOnAir(other.accountId, 'show') !== undefined)
  const { token } = await makeToken(owner, 'subscribe')
  const master = `/hls/${owner.accountId}/show/index.m3u8?auth=${token}`
  await until(async () => (await fetch(`http://127.0.0.1:${balancer.port}${master}`)).ok)
  const stopping = new AbortController()
  const counts = { answers: 0, parts: 0 }
  const failures: string[] = []
  const players = Array.from({ length: PLAYERS }, (_, n) =>
    play({
      port: balancer.port,
      address: `127.0.7.${n + 1}`,
      master,
      stop: stopping.signal,
      onAnswer(kind, name, { status, body }) {
        counts.answers += 1
        if (kind === 'part') counts.parts += 1
        if (status !== 200) failures.push(`${kind} ${name} ${status} ${body.toString().slice(0, 80)}`)
      },
    }).catch((error: unknown) => failures.push(String(error))),
  )
  await sleep(MINUTES * 60_000)
  stopping.abort()
  await Promise.all(players)
  const { length } = failures
  for (const failure of failures.slice(0, 10)) console.error(failure)
  report({
    what: `Errors of ${PLAYERS} low-latency players behind two nodes in turn, ${MINUTES} minutes`,
    ratio: length,
    target: 'none',
    met: length === 0 && counts.parts > PLAYERS * MINUTES * 100,
    detail: `${counts.answers} answers, ${counts.parts} of them parts`,
  })
}
