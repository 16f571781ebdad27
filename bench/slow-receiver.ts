/**
 * What one receiver that never answers costs the others: 50 receivers over TLS on loopback get an event every 100 ms,
 * once with all of them healthy and once with one that hangs (each of its deliveries times out after 15 s). Compares
 * the 99th percentile of the time from event to arrival over the other 49. Interleaved, each on a new store.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createEgress } from '../src/net/egress.ts'
import { Authority } from '../test/delivery/support/certificates.ts'
import { addWebhook, emit, Node } from '../test/support/delivery.ts'
import { median, p99, report } from './lib/report.ts'

const RECEIVERS = 50
const EVENTS = 50
const EVERY_MS = 100
const ROUNDS = 3
const HOST = 'receiver.example'
const ACCOUNT = 'k9qd2x'

if (process.argv[2] === '--receivers') await serve()
else await compare()

/**
 * The receivers run in a process of their own. The first one hangs on command; all others measure the delay of each
 * event.
 */
async function serve(): Promise<void> {
  const [identity] = (await once(process, 'message')) as [{ key: string; cert: string }]
  const ports: number[] = []
  let hang = false
  let delays: number[] = []
  for (let n = 0; n < RECEIVERS; n += 1) {
    const server = createServer(identity, (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        if (n === 0 && hang) return
        const { timestamp } = JSON.parse(Buffer.concat(chunks).toString()) as { timestamp: number }
        if (n > 0) delays.push(Date.now() - timestamp)
        response.end('ok')
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    ports.push((server.address() as AddressInfo).port)
  }
  process.on('message', (order: { hang: boolean } | 'delays') => {
    if (order === 'delays') process.send?.(delays)
    else {
      hang = order.hang
      delays = []
    }
  })
  process.on('disconnect', () => process.exit())
  process.send?.(ports)
}

async function compare(): Promise<void> {
  const authority = new Authority()
  const receivers = fork(import.meta.filename, ['--receivers'])
  receivers.send(authority.issue(HOST))
  const [ports] = (await once(receivers, 'message')) as [number[]]
  const phase = (hang: boolean): Promise<number> => p99Of({ receivers, ports, caFile: authority.caFile, hang })
  // The first phase only warms up.
  await phase(false)
  const rounds: { well: number; hanging: number }[] = []
  for (let round = 0; round < ROUNDS; round += 1) rounds.push({ well: await phase(false), hanging: await phase(true) })
  const ratio = median(rounds.map(({ well, hanging }) => hanging / well))
  const of = (key: 'well' | 'hanging') => median(rounds.map((round) => round[key]))
  const detail = `${of('hanging')} ms with one that hangs, ${of('well')} ms without`
  report({ what: 'p99 of the other receivers', ratio, target: '<= 1.5', met: ratio <= 1.5, detail })
  receivers.disconnect()
  authority.remove()
}

interface Phase {
  receivers: ChildProcess
  ports: readonly number[]
  caFile: string
  hang: boolean
}

async function p99Of({ receivers, ports, caFile, hang }: Phase): Promise<number> {
  receivers.send({ hang })
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const egress = createEgress({ allowPrivateTargets: true, caFile, resolver: () => Promise.resolve(['127.0.0.1']) })
  const node = await Node.open(join(folder, 'store.db'), { drainMs: () => 0 }, egress)
  for (const port of ports) await addWebhook(node.store, ACCOUNT, `https://${HOST}:${port}/hook`)
  await node.runner.start()
  for (let n = 0; n < EVENTS; n += 1) {
    await emit(node.store, ACCOUNT, `event-${n}`)
    node.runner.wake()
    await sleep(EVERY_MS)
  }
  const delays = await allArrived(receivers)
  await node.close()
  rmSync(folder, { recursive: true })
  return p99(delays)
}

async function allArrived(receivers: ChildProcess): Promise<number[]> {
  const expected = EVENTS * (RECEIVERS - 1)
  for (let attempt = 0; attempt < 100; attempt += 1) {
    receivers.send('delays')
    const [delays] = (await once(receivers, 'message')) as [number[]]
    if (delays.length >= expected) return delays
    await sleep(100)
  }
  throw new Error('not every event arrived')
}
