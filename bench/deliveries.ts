/**
 * Deliveries per second with every step on disk (SQLite at synchronous=full), 1 KB payloads, and 50 receivers over TLS
 * on loopback. Compared with a bare undici loop that posts the same bytes, also with one connection per request and the
 * same concurrency. Prints the ratio of the medians of interleaved slices.
 *
 *   node bench/deliveries.ts            the ratio
 *   node bench/deliveries.ts --queue    the memory of 100,000 waiting events
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import { type AddressInfo, createServer as createTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { Client } from 'undici'
import { createEgress } from '../src/net/egress.ts'
import { Authority } from '../test/delivery/support/certificates.ts'
import { addWebhook, emit, Node } from '../test/support/delivery.ts'
import { until } from '../test/support/until.ts'
import { median, report } from './lib/report.ts'

const RECEIVERS = 50
const AT_ONCE = 64
const EVENTS = 40
const SLICES = 7
const HOST = 'receiver.example'
const ACCOUNT = 'k9qd2x'
const QUEUED = 100_000

if (process.argv[2] === '--receivers') await serve()
else await (process.argv[2] === '--queue' ? measureQueue() : measureRatio())

/** The receivers run in a process of their own, because their work is not measured. */
async function serve(): Promise<void> {
  const [identity] = (await once(process, 'message')) as [{ key: string; cert: string }]
  const ports: number[] = []
  for (let n = 0; n < RECEIVERS; n += 1) {
    const server = createServer(identity, (request, response) => request.resume().on('end', () => response.end('ok')))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    ports.push((server.address() as AddressInfo).port)
  }
  process.send?.(ports)
  process.on('disconnect', () => process.exit())
}

async function measureRatio(): Promise<void> {
  const authority = new Authority()
  const receivers = fork(import.meta.filename, ['--receivers'])
  receivers.send(authority.issue(HOST))
  const [ports] = (await once(receivers, 'message')) as [number[]]
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const egress = createEgress({
    allowPrivateTargets: true,
    caFile: authority.caFile,
    resolver: () => Promise.resolve(['127.0.0.1']),
  })
  const node = await Node.open(join(folder, 'store.db'), {}, egress)
  const ids: number[] = []
  for (const port of ports) ids.push((await addWebhook(node.store, ACCOUNT, `https://${HOST}:${port}/hook`)).id)
  const bare = bareLoop(ports, authority.caFile)
  await node.runner.start()

  const rates: { ours: number; bare: number }[] = []
  for (let slice = 0; slice <= SLICES; slice += 1) {
    const ours = await perSecond(() => throughRunner(node, ids, slice))
    rates.push({ ours, bare: await perSecond(bare) })
  }
  // The first slice only warms up.
  const measured = rates.slice(1)
  const ratio = median(measured.map((rate) => rate.ours / rate.bare))
  const of = (key: 'ours' | 'bare') => Math.round(median(measured.map((rate) => rate[key])))
  const detail = `${of('ours')} deliveries/s on record, ${of('bare')} posts/s bare`
  report({ what: 'deliveries', ratio, target: '>= 0.50', met: ratio >= 0.5, detail })

  await node.close()
  receivers.disconnect()
  rmSync(folder, { recursive: true })
  authority.remove()
}

async function perSecond(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return (EVENTS * RECEIVERS * 1000) / (performance.now() - startedAt)
}

/** Each event goes to all receivers; done when the store has recorded all of them as delivered. */
async function throughRunner({ store, runner }: Node, ids: readonly number[], slice: number): Promise<void> {
  await emit(store, ACCOUNT, ...Array.from({ length: EVENTS }, (_, n) => nameOf(slice, n)))
  runner.wake()
  await until(async () => (await store.read.outbox.pending(1)).length === 0)
  for (const id of ids) {
    const isDone = async () => {
      const log = await store.read.deliveries.page({ webhookId: id, limit: EVENTS })
      return (
        log.length === EVENTS && log.every((one) => one.state === 'delivered' && one.subject?.startsWith(`${slice}-`))
      )
    }
    await until(isDone)
  }
}

/** Long enough for a payload of about 1 KB. */
function nameOf(slice: number, n: number): string {
  return `${slice}-${n}-`.padEnd(430, 'x')
}

/** The same bytes and headers, but no store, claim or signature. */
function bareLoop(ports: readonly number[], caFile: string): () => Promise<void> {
  const secureContext = createSecureContext({ ca: readFileSync(caFile) })
  const name = nameOf(0, 0)
  const data = { name, accountId: ACCOUNT, streamId: `${ACCOUNT}/${name}` }
  const event = { type: 'viewerConnection', event: 'ViewerAttempt', timestamp: Date.now(), data }
  const body = Buffer.from(JSON.stringify(event))
  const headers = { 'content-type': 'application/json', 'x-service-signature': `sha1=${'0'.repeat(40)}` }
  const post = async (port: number) => {
    const connect = { secureContext, servername: HOST, ALPNProtocols: ['http/1.1'] }
    const client = new Client(`https://127.0.0.1:${port}`, { connect })
    const response = await client.request({ method: 'POST', path: '/hook', headers, body })
    await response.body.text()
    await client.destroy()
  }
  return async () => {
    let sent = 0
    const worker = async () => {
      while (sent < EVENTS * RECEIVERS) await post(ports[(sent += 1) % ports.length] ?? 0)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  }
}

/** Fills the outbox, then lets the runner turn it into deliveries to a receiver that never answers. */
async function measureQueue(): Promise<void> {
  const hanging = createTcp(() => undefined).listen(0, '127.0.0.1')
  await once(hanging, 'listening')
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const node = await Node.open(join(folder, 'store.db'), { drainMs: () => 0 })
  await addWebhook(node.store, ACCOUNT, `http://127.0.0.1:${(hanging.address() as AddressInfo).port}/`)
  const before = process.memoryUsage().rss
  let most = before
  const look = () => (most = Math.max(most, process.memoryUsage().rss))
  for (let n = 0; n < QUEUED; n += 500) {
    await emit(node.store, ACCOUNT, ...Array.from({ length: 500 }, (_, k) => nameOf(n, k)))
    look()
  }
  await node.runner.start()
  await until(async () => {
    look()
    return (await node.store.read.outbox.pending(1)).length === 0
  })
  const mib = (most - before) / 2 ** 20
  report({ what: 'MiB for 100,000 waiting events', ratio: mib, target: '< 150', met: mib < 150, detail: 'peak RSS' })
  await node.close()
  hanging.close()
  rmSync(folder, { recursive: true })
}
